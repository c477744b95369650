// Command mutate removes the mechanisms that keep the promises, one at a time,
// in a copy of the tree, and checks whether the tests notice: a mechanism whose
// removal no test sees is one that the next change may remove.
//
// Each mutant (mutants.txt) is an exact replacement of text in one file, together
// with the tests that are expected to fail. It is an error when the text is not found
// any more (the code has drifted: fix the row), when the mutant does not
// compile, and when none of its tests fails. Mutants of a store on a server run
// where the server's variable is set, as scripts/prepare does; the others are
// reported as skipped.
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
