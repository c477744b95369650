// Command services runs a shop of three services twice, unprotected and with
// Semel, breaks an order at every point of both, and prints what was counted.
package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"log/slog"
	"os"

	"github.com/semel-dev/semel/examples/internal/program"
	"github.com/semel-dev/semel/examples/shop/services"
)

func main() {
	services.Child()
	program.Main("services", run)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("services", flag.ContinueOnError)
	dsn := flags.String("orders-dsn", "", "PostgreSQL `DSN` of a database for the protected orders; empty means SQLite")
	verbose := flags.Bool("verbose", false, "print what the processes print")
	if goOn, err := program.Parse(flags, args, stderr); !goOn {
		return err
	}
	log, output := slog.New(slog.DiscardHandler), io.Discard
	if *verbose {
		log, output = slog.New(slog.NewTextHandler(stderr, nil)), stderr
	}
	naive, err := start(ctx, services.Options{Logger: log, Output: output})
	if err != nil {
		return err
	}
	protected, err := start(ctx, services.Options{Logger: log, Output: output, Protected: true, OrdersDSN: *dsn})
	if err != nil {
		return errors.Join(err, naive.Close())
	}
	err = services.Compare(ctx, naive, protected, nil, stdout, stderr)
	return errors.Join(err, naive.Close(), protected.Close())
}

// start starts a fleet whose files are gone when it is closed.
func start(ctx context.Context, o services.Options) (*services.Fleet, error) {
	var err error
	if o.Dir, err = os.MkdirTemp("", "semel-shop-"); err != nil {
		return nil, err
	}
	o.Temporary = true
	return services.Start(ctx, o)
}
