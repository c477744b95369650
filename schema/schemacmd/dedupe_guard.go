package schemacmd

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/semel-dev/semel/internal/cli"
	"github.com/semel-dev/semel/internal/cli/opendb"
	"github.com/semel-dev/semel/internal/cli/operatorview"
	"github.com/semel-dev/semel/schema/dedupe"
)

func newDedupeGuard(p *cli.Process, f *dedupeFlags) *cobra.Command {
	remove := false
	by := &cli.Identity{}
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
				return cli.Usagef("name the file of one plan (semel dedupe plan writes it)")
			}
			var plan *dedupe.Plan
			if len(args) == 1 {
				var err error
				if plan, err = dedupe.ReadPlan(args[0]); err != nil {
					return cli.Usage(err)
				}
			}
			who, err := by.Operator()
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
	by.Register(cmd)
	return cmd
}

// removeGuard removes the guard of a plan, or the only one.
func (f *dedupeFlags) removeGuard(ctx context.Context, p *cli.Process, db *dedupe.Database, plan *dedupe.Plan) error {
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

func (f *dedupeFlags) printGuard(p *cli.Process, guard *dedupe.Guard, how string) error {
	if f.json {
		return json.NewEncoder(p.Stdout).Encode(guard)
	}
	if guard == nil {
		_, err := fmt.Fprintln(p.Stdout, "No guard was found.")
		return err
	}
	if _, err := fmt.Fprintf(p.Stdout, "The guard of %s on %s %s.\n", cli.Plain(guard.Name), cli.Plain(guard.Table), how); err != nil {
		return err
	}
	return printLines(p.Stdout, "note", guard.Notes)
}

// printGuards prints the guards behind the runs.
func printGuards(p *cli.Process, f *dedupeFlags, guards []dedupe.Guard) error {
	if len(guards) == 0 {
		return nil
	}
	titles := []string{"GUARD", "RULE", "TABLE", "SINCE", "BY", "STATE", "TRIGGERS"}
	out := cli.SheetOf(cli.NewSheet(p, titles, ""), func(g *dedupe.Guard) []string {
		since := "-"
		if g.Installed != nil {
			since = operatorview.Time(*g.Installed)
		}
		return []string{fmt.Sprint(g.Guard), cli.Plain(g.Name), cli.Plain(g.Table), since, cli.Plain(g.By), g.State, cli.OrDash(cli.Plain(strings.Join(g.Triggers, ", ")))}
	})
	return printDedupe(p, f.json, out, guards)
}
