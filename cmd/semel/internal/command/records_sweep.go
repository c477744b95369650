package command

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jedib0t/go-pretty/v6/progress"
	"github.com/spf13/cobra"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/openstore"
)

// sweepStep is the number of records that one step removes: small, so as not to delay a gateway on the same store.
const sweepStep = 500

func newRecordsSweep(p *process, f *recordsFlags) *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use:   "sweep",
		Short: "Remove expired records",
		Long: `Removes expired records in short steps while other programs may use the store. A
running gateway does this on its own; this verb is for a store that grew while no
gateway ran. Records that have not expired are kept.`,
		Example: `  semel records sweep
  semel records sweep --limit 100000 --json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 0 {
				return usagef("--limit %d is negative (0 removes all that have expired)", limit)
			}
			return f.with(cmd.Context(), p, openstore.Operate, semel.Options{}, func(l *ledger) error {
				sweeper, ok := semel.StoreAs[semel.Sweeper](l.store)
				if !ok {
					fmt.Fprintln(p.stderr, "This store removes expired records on its own.") //nolint:errcheck // a remark.
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
func sweep(ctx context.Context, p *process, sweeper semel.Sweeper, limit int) (int, error) {
	bar := startProgress(p, "expired records removed", limit)
	defer bar.stop()
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
		bar.add(removed)
		if err != nil {
			return total, fmt.Errorf("sweep (%d removed so far): %w", total, err)
		}
		if removed < step {
			return total, nil
		}
	}
}

func tellSwept(ctx context.Context, p *process, l *ledger, removed int, asJSON bool) error {
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
		return json.NewEncoder(p.stdout).Encode(said)
	}
	left := ""
	if said.Left != nil {
		left = fmt.Sprintf(", %d left", *said.Left)
	}
	records := "records"
	if removed == 1 {
		records = "record"
	}
	_, err := fmt.Fprintf(p.stdout, "%d expired %s removed%s.\n", removed, records, left)
	return err
}

// progressBar shows long work on a terminal, and nothing elsewhere.
type progressBar struct {
	writer  progress.Writer
	tracker *progress.Tracker
	done    chan struct{}
}

// startProgress starts the display; a total of 0 means that the amount is unknown.
func startProgress(p *process, what string, total int) *progressBar {
	bar := &progressBar{done: make(chan struct{})}
	if !isTerminal(p.stderr) {
		close(bar.done)
		return bar
	}
	bar.writer = progress.NewWriter()
	bar.writer.SetOutputWriter(p.stderr)
	bar.writer.SetUpdateFrequency(100 * time.Millisecond)
	bar.tracker = &progress.Tracker{Message: what, Total: int64(total)}
	bar.writer.AppendTracker(bar.tracker)
	go func() {
		defer close(bar.done)
		bar.writer.Render()
	}()
	return bar
}

func (b *progressBar) add(n int) {
	if b.tracker != nil {
		b.tracker.Increment(int64(n))
	}
}

// set updates the display, for work that reports its own progress.
func (b *progressBar) set(done, all int, what string) {
	if b.tracker != nil {
		if what != "" {
			b.tracker.UpdateMessage(what)
		}
		b.tracker.UpdateTotal(int64(all))
		b.tracker.SetValue(int64(done))
	}
}

// stop ends the display and waits for it.
func (b *progressBar) stop() {
	if b.tracker != nil {
		b.tracker.MarkAsDone()
		b.writer.Stop()
	}
	<-b.done
}
