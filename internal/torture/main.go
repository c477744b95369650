// Command torture lets writers work on real databases while they, and the
// databases, are killed at random instants and connections are cut, and then
// looks whether anything happened twice: for every key at most one business
// row, for every answer given its row, for one key one answer.
//
// Two modes are tortured. In transaction mode the writers are processes of
// this program that use a store's Do. In gateway mode they are the real semel
// binary, twice on the same store, in front of an application that knows
// nothing of keys, which is killed too.
package main

import (
	"context"
	"os"
	"os/signal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}
