package command

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/cli"
	"github.com/semel-dev/semel/internal/cli/openstore"
)

// sweepStep is the number of records that one step removes: small, so as not to delay a gateway on the same store.
const sweepStep = 500

func newRecordsSweep(p *cli.Process, f *recordsFlags) *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use:   "sweep",
		Short: "Remove expired records",
		Long: `Removes expired records in short steps while other programs may use the store. A
running gateway does this on its own; this verb is for a store that grew while no
gateway ran. Records that have not expired are kept.`,
		Example: `  semel records sweep
  semel records sweep --limit 100000 --json`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 0 {
				return cli.Usagef("--limit %d is negative (0 removes all that have expired)", limit)
			}
			return f.with(cmd.Context(), p, openstore.Operate, semel.Options{}, func(l *ledger) error {
				sweeper, ok := semel.StoreAs[semel.Sweeper](l.store)
				if !ok {
					fmt.Fprintln(p.Stderr, "This store removes expired records on its own.") //nolint:errcheck // a remark.
					return tellSwept(cmd.Context(), p, l, 0, f.json)
				}
				removed, err := sweep(cmd.Context(), p, sweeper, limit)
				if err != nil {
					return err
				}
				return tellSwept(cmd.Context(), p, l, removed, f.json)
			})
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 0, "remove at most `n` records; 0 for all that have expired")
	return cmd
}

// sweep removes until nothing is left or the limit is reached.
func sweep(ctx context.Context, p *cli.Process, sweeper semel.Sweeper, limit int) (int, error) {
	bar := cli.StartProgress(p, "expired records removed", limit)
	defer bar.Stop()
	total := 0
	for {
		step := sweepStep
		if limit > 0 {
			step = min(step, limit-total)
		}
		if step == 0 {
			return total, nil
		}
		removed, err := sweeper.Sweep(ctx, step)
		total += removed
		bar.Add(removed)
		if err != nil {
			return total, fmt.Errorf("sweep (%d removed so far): %w", total, err)
		}
		if removed < step {
			return total, nil
		}
	}
}

func tellSwept(ctx context.Context, p *cli.Process, l *ledger, removed int, asJSON bool) error {
	said := struct {
		Removed int    `json:"removed"`
		Left    *int64 `json:"left,omitempty"`
	}{Removed: removed}
	if counter, ok := semel.StoreAs[semel.Counter](l.store); ok {
		left, err := counter.Count(ctx)
		if err != nil {
			return fmt.Errorf("count records: %w", err)
		}
		said.Left = &left
	}
	if asJSON {
		return json.NewEncoder(p.Stdout).Encode(said)
	}
	left := ""
	if said.Left != nil {
		left = fmt.Sprintf(", %d left", *said.Left)
	}
	records := "records"
	if removed == 1 {
		records = "record"
	}
	_, err := fmt.Fprintf(p.Stdout, "%d expired %s removed%s.\n", removed, records, left)
	return err
}
