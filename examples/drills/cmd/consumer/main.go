// Command consumer handles deliveries that it reads as lines of JSON, as the
// driver of a broker would hand them over, and prints the verdict on each.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/examples/internal/program"
	"github.com/semel-dev/semel/inbox"
	"github.com/semel-dev/semel/store/sqlitestore"
)

const (
	maxAttempts = 3
	every       = 100 * time.Millisecond // a released message is looked for
	pause       = 10 * time.Millisecond  // of the broker
)

func main() { program.Main("consumer", run) }

// delivery is a line of the input.
type delivery struct {
	ID   string `json:"id"`
	Body string `json:"body"`
}

// run handles the lines of its input, each until it is acknowledged, and then
// what operators release, until it is stopped.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	flags := flag.NewFlagSet("consumer", flag.ContinueOnError)
	file := flags.String("store", "semel.db", "SQLite `file` of the records")
	known := flags.String("customers", "customers", "`file` with the names of customers; a message for another one fails")
	if goOn, err := program.Parse(flags, args, stderr); !goOn {
		return err
	}
	store, err := sqlitestore.Open(ctx, *file, nil)
	if err != nil {
		return err
	}
	guard, err := semel.New(store, nil)
	if err != nil {
		return errors.Join(err, store.Close()) //nolint:contextcheck // closing is not bound to what ended.
	}
	defer func() { err = errors.Join(err, guard.Close(), store.Close()) }() //nolint:contextcheck // likewise.
	in, err := inbox.New(guard, &inbox.Options{
		Consumer: "billing", MaxAttempts: maxAttempts, Pause: time.Millisecond, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	handle := func(ctx context.Context, m inbox.Message) inbox.Verdict {
		v := in.Handle(ctx, m, func(context.Context, inbox.Message) error { return bill(*known, string(m.Body)) })
		_, _ = fmt.Fprintf(stdout, "%s: %v, %v\n", m.ID, v.Act, v.Reason) // the terminal may have gone
		return v
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var d delivery
		if err := json.Unmarshal(lines.Bytes(), &d); err != nil {
			return err
		}
		m := inbox.Message{ID: d.ID, Subject: "orders.paid", Body: []byte(d.Body)}
		for handle(ctx, m).Act == inbox.Retry && ctx.Err() == nil { // the broker delivers it again
			select {
			case <-ctx.Done():
			case <-time.After(pause):
			}
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return in.Released(ctx, every, handle)
}

// bill fails for a customer that is not in the file.
func bill(file, customer string) error {
	text, err := os.ReadFile(file) //nolint:gosec // the file that the flag names.
	if err != nil {
		return err
	}
	if !slices.Contains(strings.Fields(string(text)), customer) {
		return fmt.Errorf("no customer %q", customer)
	}
	return nil
}
