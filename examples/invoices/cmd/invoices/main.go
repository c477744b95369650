// Command invoices serves the invoicing example on its own: the naive one, or
// with -protected the one that is protected from inside.
package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/semel-dev/semel/examples/internal/program"
	"github.com/semel-dev/semel/examples/invoices"
	"github.com/semel-dev/semel/examples/invoices/protected"
)

func main() { program.Main("invoices", run) }

// run serves until ctx ends, then lets running requests finish.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("invoices", flag.ContinueOnError)
	listen := flags.String("listen", "127.0.0.1:9000", "`address` to listen on")
	path := flags.String("db", "", "SQLite `file`; empty means a private one, gone at exit")
	latency := flags.Duration("latency", 300*time.Millisecond, "how long the simulated accounting service takes")
	title := flags.String("title", "", "name shown in the page head")
	banner := flags.String("banner", "", "sentence shown at the top of every page")
	guard := flags.Bool("guard", false, "load Semel's browser client in every page")
	safe := flags.Bool("protected", false, "serve the application that is protected from inside")
	readyFile := flags.String("ready-file", "", "`file` that gets the line page=ADDRESS once the application answers")
	if goOn, err := program.Parse(flags, args, stderr); !goOn {
		return err
	}
	logger := slog.New(slog.NewTextHandler(stderr, nil))
	app, err := open(*safe, *path, *latency, look{Title: *title, Banner: *banner, Guard: *guard, Logger: logger}) //nolint:contextcheck // Open does not take one; it bounds itself
	if err != nil {
		return err
	}
	return errors.Join(program.Server{Listen: *listen, ReadyFile: *readyFile, Title: "Invoices"}.Serve(ctx, app.Handler(), stdout), app.Close())
}

// application is implemented by both copies.
type application interface {
	Handler() http.Handler
	Close() error
}

type look = protected.Options

// open opens one of the two. Answers of the protected one do not wait for the
// accounting service.
func open(safe bool, path string, latency time.Duration, o look) (application, error) {
	if safe {
		return protected.Open(path, &o)
	}
	if latency == 0 {
		latency = -1 // the library's zero means the default
	}
	return invoices.Open(path, &invoices.Options{Latency: latency, Title: o.Title, Banner: o.Banner, Guard: o.Guard, Logger: o.Logger})
}
