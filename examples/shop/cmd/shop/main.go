// Command shop serves the example shop.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/semel-dev/semel/examples/internal/program"
	"github.com/semel-dev/semel/examples/shop"
)

func main() { program.Main("shop", run) }

// run serves until ctx ends, then lets running requests finish.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	flags := flag.NewFlagSet("shop", flag.ContinueOnError)
	listen := flags.String("listen", "127.0.0.1:9100", "`address` to listen on")
	dir := flags.String("dir", "", "`directory` of the database; empty means a private one, gone at exit")
	assets := flags.String("assets", "", "`directory` served below /assets/")
	readyFile := flags.String("ready-file", "", "`file` that gets the line page=ADDRESS once the shop answers")
	if goOn, err := program.Parse(flags, args, stderr); !goOn {
		return err
	}
	if *dir == "" {
		if *dir, err = os.MkdirTemp("", "shop-*"); err != nil {
			return fmt.Errorf("make a private directory: %w", err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(*dir)) }()
	}
	app, err := shop.Open(ctx, *dir, &shop.Options{Assets: *assets, Logger: slog.New(slog.NewTextHandler(stderr, nil))})
	if err != nil {
		return err
	}
	return errors.Join(program.Server{Listen: *listen, ReadyFile: *readyFile, Title: "A shop"}.Serve(ctx, app.Handler(), stdout), app.Close()) //nolint:contextcheck // closing outlives ctx
}
