// Command bench measures Semel and the bare work it wraps, in one run, and
// prints ratios: a number means nothing without that of its rival.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	if len(os.Args) > 2 && os.Args[1] == "serve" {
		say(os.Stderr, "bench: %v\n", serveAt(os.Args[2], os.Args[3:]...))
		os.Exit(1)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}
