// Command bench measures Semel and the bare work it wraps, in one run, and
// prints ratios: a number means nothing without that of its rival.
package main

import (
	"context"
	"os"
	"os/signal"

	"github.com/semel-dev/semel/internal/bench/contest"
)

func main() {
	if kind := os.Getenv(serveVar); kind != "" {
		if err := serveAs(kind); err != nil {
			say(os.Stderr, "bench: %v\n", err)
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(contest.Main(ctx, sections(), "^(middleware|sqlite|log|gateway)$", os.Args[1:], os.Stdout, os.Stderr))
}
