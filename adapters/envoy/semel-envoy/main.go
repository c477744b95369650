// Command semel-envoy is an external processor for Envoy that makes requests happen once; docs/envoy.md has the filter that asks it.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer cancel()
	os.Exit(run(ctx, os.Args[1:], os.Stderr, os.Getenv))
}
