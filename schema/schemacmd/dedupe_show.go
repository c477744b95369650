package command

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/semel-dev/semel/internal/dedupe"
	"github.com/semel-dev/semel/internal/opendb"
	"github.com/semel-dev/semel/internal/operatorview"
	"github.com/semel-dev/semel/internal/texts"
)

func newDedupeStatus(p *process, f *dedupeFlags) *cobra.Command {
	return &cobra.Command{
		Use:     "status",
		Short:   "List the runs, the last one first, and the guards",
		Example: `  semel dedupe status --dsn postgres://app@db.example/shop`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.with(cmd.Context(), opendb.Read, func(db *dedupe.Database) error {
				all, err := db.Status(cmd.Context())
				if err != nil {
					return err
				}
				titles := []string{"RUN", "RULE", "TABLE", "STARTED", "BY", "STATE", "MERGED", "OPEN", "REFUSED", "UNDONE"}
				out := sheetOf(newSheet(p, titles, "Nothing was merged."), func(s *dedupe.State) []string {
					return []string{
						fmt.Sprint(s.Run), plain(s.Name), plain(s.Table), operatorview.Time(s.Started), plain(s.By), dedupeState(s),
						fmt.Sprint(s.Merged), fmt.Sprint(s.Open), fmt.Sprint(s.Refused), fmt.Sprint(s.Restored),
					}
				})
				guards, err := db.Guards(cmd.Context())
				if err != nil {
					return err
				}
				return errors.Join(printDedupe(p, f.json, out, all), printGuards(p, f, guards))
			})
		},
	}
}

// dedupeState is the state of a run in one word.
func dedupeState(s *dedupe.State) string {
	switch {
	case s.Undone != nil:
		return "undone"
	case s.Finished != nil:
		return "finished"
	}
	return "unfinished"
}

// printDedupe prints values as a sheet or as JSON, one object per line.
func printDedupe[T any](p *process, asJSON bool, out listing[T], all []T) error {
	if asJSON {
		out = jsonOf(p, func(one *T) *T { return one })
	}
	for i := range all {
		if err := out.write(&all[i]); err != nil {
			return err
		}
	}
	return out.end()
}

func newDedupeShow(p *process, f *dedupeFlags) *cobra.Command {
	table := ""
	cmd := &cobra.Command{
		Use:         "show ID",
		Short:       "Say into which row a merged one went",
		Long:        `Finds a record by the key that it had, and follows it to the row that has its place now.`,
		Example:     `  semel dedupe show 4711 --dsn postgres://app@db.example/shop --table invoices`,
		Annotations: map[string]string{"exit1": "no row with this key was merged"},
		Args:        cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("name one row by its key; commas between the columns of a key")
			}
			return f.with(cmd.Context(), opendb.Read, func(db *dedupe.Database) error {
				all, err := db.Show(cmd.Context(), table, args[0])
				if err != nil {
					return err
				}
				if len(all) == 0 {
					if all, err = showPurged(cmd.Context(), p, db, table, args[0]); err != nil {
						return err
					}
				}
				out := sheetOf(newSheet(p, []string{"TABLE", "KEY", "MERGED INTO", "RUN", "GROUP", "AT"}, ""), func(t *dedupe.Trace) []string {
					return []string{plain(t.Table), plain(t.Key), plain(t.Winner), fmt.Sprint(t.Run), fmt.Sprint(t.Group), operatorview.Time(t.At)}
				})
				return printDedupe(p, f.json, out, all)
			})
		},
	}
	cmd.Flags().StringVar(&table, "table", "", "`table` of the row (default: all)")
	return cmd
}

// showPurged shows a merge whose audit was deleted, or says that no merge of the row is known.
func showPurged(ctx context.Context, p *process, db *dedupe.Database, table, id string) ([]dedupe.Trace, error) {
	all, unknown, err := db.ShowPurged(ctx, table, id)
	switch {
	case err != nil:
		return nil, err
	case len(all) > 0:
		_, err := fmt.Fprintf(p.stderr, "semel: the audit of this merge was deleted from semel_dedupe_audit, so it cannot be undone; AT is when run %d began\n", all[0].Run)
		return all, err
	case len(unknown) > 0:
		runs := strings.Join(texts.Of(unknown, func(run int64) string { return fmt.Sprint(run) }), ", ")
		return nil, found(fmt.Errorf("no row %s is known to be merged; what was merged by these runs was deleted from semel_dedupe_map: %s", plainLine(id), runs))
	}
	return nil, found(fmt.Errorf("no row %s was merged", plainLine(id)))
}
