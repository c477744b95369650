// Command semel-envoy is an external processor for Envoy that makes requests happen once; docs/proxies.md has the filter that asks it.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // by nohup
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), signals...)
	defer cancel()
	os.Exit(run(ctx, os.Args[1:], os.Stderr, os.Getenv))
}
