package command

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/semel-dev/semel/internal/dedupe"
	"github.com/semel-dev/semel/internal/opendb"
	"github.com/semel-dev/semel/internal/operatorview"
)

func newDedupeGuard(p *process, f *dedupeFlags) *cobra.Command {
	remove := false
	by := &identity{}
	cmd := &cobra.Command{
		Use:   "guard PLAN",
		Short: "Stop new duplicates while the old ones are there",
		Long: `Installs triggers that refuse new duplicates with the error that the unique index will
give (SQLSTATE 23505 with its name), and leave those alone that are there. Where merged
rows are marked, triggers on the tables that refer to them let new references refer to
the rows that have their place. An index is made for them without stopping writers.

Install it before "semel dedupe run"; "semel dedupe finish" removes it when the unique
index is there. "semel dedupe status" shows it. Interrupted, the same call completes it.

INSERT … ON CONFLICT DO NOTHING does not swallow the error, and transactions that are
REPEATABLE READ or SERIALIZABLE are refused (0A000): they do not see what others add.`,
		Example: `  semel dedupe guard semel-dedupe.json --dsn postgres://app@db.example/shop
  semel dedupe guard --remove --dsn postgres://app@db.example/shop`,
		Annotations: map[string]string{"exit1": "the database does not allow it; see stderr"},
		Args:        cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 || len(args) == 0 && !remove {
				return usagef("name the file of one plan (semel dedupe plan writes it)")
			}
			var plan *dedupe.Plan
			if len(args) == 1 {
				var err error
				if plan, err = dedupe.ReadPlan(args[0]); err != nil {
					return usage(err)
				}
			}
			who, err := by.who()
			if err != nil {
				return err
			}
			return f.with(cmd.Context(), opendb.Write, func(db *dedupe.Database) error {
				if remove {
					return f.removeGuard(cmd.Context(), p, db, plan)
				}
				guard, err := db.InstallGuard(cmd.Context(), plan, &dedupe.Options{By: who.Name})
				if err != nil {
					return err
				}
				return f.printGuard(p, guard, "is installed")
			})
		},
	}
	cmd.Flags().BoolVar(&remove, "remove", false, "remove the guard of the plan, or the only one")
	by.register(cmd)
	return cmd
}

// removeGuard removes the guard of a plan, or the only one.
func (f *dedupeFlags) removeGuard(ctx context.Context, p *process, db *dedupe.Database, plan *dedupe.Plan) error {
	name, table := "", ""
	if plan != nil {
		name, table = plan.Request.Name, plan.Request.Table
	}
	guard, err := db.RemoveGuard(ctx, name, table)
	if err != nil {
		return err
	}
	return f.printGuard(p, guard, "is removed")
}

func (f *dedupeFlags) printGuard(p *process, guard *dedupe.Guard, how string) error {
	if f.json {
		return json.NewEncoder(p.stdout).Encode(guard)
	}
	if guard == nil {
		_, err := fmt.Fprintln(p.stdout, "No guard was found.")
		return err
	}
	if _, err := fmt.Fprintf(p.stdout, "The guard of %s on %s %s.\n", plain(guard.Name), plain(guard.Table), how); err != nil {
		return err
	}
	return printLines(p.stdout, "note", guard.Notes)
}

// printGuards prints the guards behind the runs.
func printGuards(p *process, f *dedupeFlags, guards []dedupe.Guard) error {
	if len(guards) == 0 {
		return nil
	}
	titles := []string{"GUARD", "RULE", "TABLE", "SINCE", "BY", "STATE", "TRIGGERS"}
	out := sheetOf(newSheet(p, titles, ""), func(g *dedupe.Guard) []string {
		since := "-"
		if g.Installed != nil {
			since = operatorview.Time(*g.Installed)
		}
		return []string{fmt.Sprint(g.Guard), plain(g.Name), plain(g.Table), since, plain(g.By), g.State, orDash(plain(strings.Join(g.Triggers, ", ")))}
	})
	return printDedupe(p, f.json, out, guards)
}
