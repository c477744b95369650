// Command mathematicians serves the mathematicians example.
package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"log/slog"
	"time"

	"github.com/semel-dev/semel/examples/internal/program"
	"github.com/semel-dev/semel/examples/mathematicians"
)

const timeout = 20 * time.Second

func main() { program.Main("mathematicians", run) }

// run serves until ctx ends, then lets running requests finish.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("mathematicians", flag.ContinueOnError)
	listen := flags.String("listen", "127.0.0.1:9200", "`address` to listen on; anyone who reaches it may use it, so keep to this machine")
	path := flags.String("db", "mathematicians.db", "SQLite `file`")
	clientIDs := flags.Bool("client-ids", true, "accept any UUID of a client; false: only UUIDs that …/new handed out")
	if goOn, err := program.Parse(flags, args, stderr); !goOn {
		return err
	}
	server, err := mathematicians.Open(*path, &mathematicians.Options{ //nolint:contextcheck // Open takes none; it bounds itself
		ClientIDs: *clientIDs,
		Logger:    slog.New(slog.NewTextHandler(stderr, nil)),
	})
	if err != nil {
		return err
	}
	door := program.Server{Listen: *listen, Title: "Mathematicians", Timeout: timeout}
	return errors.Join(door.Serve(ctx, server, stdout), server.Close())
}
