// Command cleanup makes the database of the clean-up's story, adds it up, and lets customers order.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/semel-dev/semel/examples/internal/program"
	"github.com/semel-dev/semel/examples/invoices/cleanup"
)

func main() { program.Main("cleanup", run) }

// timeout bounds the wait of a customer.
const timeout = time.Minute

// run does one of three things.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("cleanup", flag.ContinueOnError)
	history := flags.String("history", "", "make this `file`: two years with the naive application")
	sums := flags.String("sums", "", "add up what is in this `file`")
	order := flags.String("order", "", "let customers order from the application at this `address` until the command is stopped")
	if goOn, err := program.Parse(flags, args, stderr); !goOn {
		return err
	}
	switch {
	case *history != "":
		if err := cleanup.History(ctx, *history); err != nil {
			return err
		}
		*sums = *history
	case *order != "":
		done, err := cleanup.Order(ctx, &http.Client{Timeout: timeout}, *order)
		_, _ = fmt.Fprint(stdout, done) // nothing to do about it
		return err
	case *sums == "":
		_, _ = fmt.Fprintln(stderr, "cleanup: name one of -history, -sums and -order")
		return program.ErrUsage
	}
	found, err := cleanup.ReadSums(ctx, *sums)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprint(stdout, found) // nothing to do about it
	return nil
}
