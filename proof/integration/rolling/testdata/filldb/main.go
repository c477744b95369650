// Command filldb fills a new SQLite store with package fill, or, with -replay,
// asks for everything that is in one. It is copied into the tree of another
// version: see docs/upgrade.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/semel-dev/semel/proof/integration/rolling/fill"
	"github.com/semel-dev/semel/store/sqlitestore"
)

func main() {
	replay := flag.Bool("replay", false, "ask, instead of recording")
	flag.Parse()
	if err := run(context.Background(), flag.Arg(0), *replay); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, path string, replay bool) error {
	store, err := sqlitestore.Open(ctx, path, nil)
	if err != nil {
		return err
	}
	act := fill.Fill
	if replay {
		act = fill.Replay
	}
	return errors.Join(act(ctx, store), store.Close())
}
