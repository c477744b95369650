// Command engines measures a flow against a job queue that does the same work, in one
// run, and how long each takes until another process goes on with work whose
// process was killed; and the inbox and the outbox against a bare consumer, writer and publisher
// of NATS. It is a module of its own, so that Semel's does not need
// what it compares.
package main

import (
	"context"
	"os"
	"os/signal"

	"github.com/semel-dev/semel/internal/bench/contest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if kind := os.Getenv(contest.VictimVar); kind != "" {
		os.Exit(victim(ctx, kind))
	}
	os.Exit(contest.Main(ctx, []contest.Section{
		{Name: "steps", Run: benchSteps},
		{Name: "takeover", Run: benchTakeover},
		{Name: "inbox", Run: benchInbox},
		{Name: "outbox", Run: benchOutbox},
	}, ".", os.Args[1:], os.Stdout, os.Stderr))
}
