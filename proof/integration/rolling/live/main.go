// Command live puts two builds of semel on one store, as a rolling deploy does,
// and checks whether each replays what the other recorded: see scripts/rolling.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: live PREVIOUS PRESENT STORE (two semel binaries and a DSN)")
		os.Exit(2)
	}
	if err := run(ctx, os.Args[1], os.Args[2], os.Args[3], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "rolling:", err)
		os.Exit(1)
	}
}
