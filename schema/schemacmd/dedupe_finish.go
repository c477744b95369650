package schemacmd

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/semel-dev/semel/internal/cli"
	"github.com/semel-dev/semel/internal/cli/opendb"
	"github.com/semel-dev/semel/internal/texts"
	"github.com/semel-dev/semel/schema/dedupe"
)

func newDedupeFinish(p *cli.Process, f *dedupeFlags) *cobra.Command {
	by := &cli.Identity{}
	cmd := &cobra.Command{
		Use:   "finish PLAN",
		Short: "Make the unique index, and remove the guard",
		Long: `Makes the unique index of the plan's rule without stopping readers or writers, reads
back that it is valid, and removes the guard. Rows that writers let refer to merged ones
move first. It is refused while a run is open or duplicates are left, and names them.
Interrupted at any instant, the same call goes on.`,
		Example:     `  semel dedupe finish semel-dedupe.json --dsn postgres://app@db.example/shop`,
		Annotations: map[string]string{"exit1": "duplicates are left, or the database does not allow the index; see stderr"},
		Args:        cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return cli.Usagef("name the file of one plan (semel dedupe plan writes it)")
			}
			plan, err := dedupe.ReadPlan(args[0])
			if err != nil {
				return cli.Usage(err)
			}
			who, err := by.Operator()
			if err != nil {
				return err
			}
			return f.with(cmd.Context(), opendb.Write, func(db *dedupe.Database) error {
				done, err := db.Finish(cmd.Context(), plan, &dedupe.Options{By: who.Name})
				if err != nil {
					return err
				}
				return f.printFinish(p, done)
			})
		},
	}
	by.Register(cmd)
	return cmd
}

func (f *dedupeFlags) printFinish(p *cli.Process, done *dedupe.Finished) error {
	if f.json {
		if err := json.NewEncoder(p.Stdout).Encode(done); err != nil {
			return err
		}
	} else {
		text := "%s enforces the rule already; its unique index was to be %s.\n"
		if done.Built {
			text = "%s has the unique index %s, which is valid.\n"
		}
		if done.Guard {
			text += "The guard is removed.\n"
		}
		if _, err := fmt.Fprintf(p.Stdout, text, cli.Plain(done.Table), cli.Plain(done.Index)); err != nil {
			return err
		}
		if err := printLate(p, done.Swept, done.Late); err != nil {
			return err
		}
	}
	if len(done.Late) > 0 {
		return cli.Found(fmt.Errorf("rows still refer to merged ones in %s", texts.Count(len(done.Late), "group")))
	}
	return nil
}
