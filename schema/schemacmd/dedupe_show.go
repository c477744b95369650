package schemacmd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/semel-dev/semel/internal/cli"
	"github.com/semel-dev/semel/internal/cli/opendb"
	"github.com/semel-dev/semel/internal/cli/operatorview"
	"github.com/semel-dev/semel/internal/texts"
	"github.com/semel-dev/semel/schema/dedupe"
)

func newDedupeStatus(p *cli.Process, f *dedupeFlags) *cobra.Command {
	return &cobra.Command{
		Use:     "status",
		Short:   "List the runs, the last one first, and the guards",
		Example: `  semel dedupe status --dsn postgres://app@db.example/shop`,
		Args:    cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.with(cmd.Context(), opendb.Read, func(db *dedupe.Database) error {
				all, err := db.Status(cmd.Context())
				if err != nil {
					return err
				}
				titles := []string{"RUN", "RULE", "TABLE", "STARTED", "BY", "STATE", "MERGED", "OPEN", "REFUSED", "UNDONE"}
				out := cli.SheetOf(cli.NewSheet(p, titles, "Nothing was merged."), func(s *dedupe.State) []string {
					return []string{
						fmt.Sprint(s.Run), cli.Plain(s.Name), cli.Plain(s.Table), operatorview.Time(s.Started), cli.Plain(s.By), dedupeState(s),
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
func printDedupe[T any](p *cli.Process, asJSON bool, out cli.Listing[T], all []T) error {
	if asJSON {
		out = cli.JSONOf(p, func(one *T) *T { return one })
	}
	for i := range all {
		if err := out.Write(&all[i]); err != nil {
			return err
		}
	}
	return out.End()
}

func newDedupeShow(p *cli.Process, f *dedupeFlags) *cobra.Command {
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
				return cli.Usagef("name one row by its key; commas between the columns of a key")
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
				out := cli.SheetOf(cli.NewSheet(p, []string{"TABLE", "KEY", "MERGED INTO", "RUN", "GROUP", "AT"}, ""), func(t *dedupe.Trace) []string {
					return []string{cli.Plain(t.Table), cli.Plain(t.Key), cli.Plain(t.Winner), fmt.Sprint(t.Run), fmt.Sprint(t.Group), operatorview.Time(t.At)}
				})
				return printDedupe(p, f.json, out, all)
			})
		},
	}
	cmd.Flags().StringVar(&table, "table", "", "`table` of the row (default: all)")
	return cmd
}

// showPurged shows a merge whose audit was deleted, or says that no merge of the row is known.
func showPurged(ctx context.Context, p *cli.Process, db *dedupe.Database, table, id string) ([]dedupe.Trace, error) {
	all, unknown, err := db.ShowPurged(ctx, table, id)
	switch {
	case err != nil:
		return nil, err
	case len(all) > 0:
		_, err := fmt.Fprintf(p.Stderr, "semel: the audit of this merge was deleted from semel_dedupe_audit, so it cannot be undone; AT is when run %d began\n", all[0].Run)
		return all, err
	case len(unknown) > 0:
		runs := strings.Join(texts.Of(unknown, func(run int64) string { return fmt.Sprint(run) }), ", ")
		return nil, cli.Found(fmt.Errorf("no row %s is known to be merged; what was merged by these runs was deleted from semel_dedupe_map: %s", cli.PlainLine(id), runs))
	}
	return nil, cli.Found(fmt.Errorf("no row %s was merged", cli.PlainLine(id)))
}
