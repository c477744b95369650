package schemacmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/semel-dev/semel/internal/cli"
	"github.com/semel-dev/semel/internal/cli/opendb"
	"github.com/semel-dev/semel/internal/texts"
	"github.com/semel-dev/semel/schema/dedupe"
)

func newDedupeRun(p *cli.Process, f *dedupeFlags) *cobra.Command {
	limit := 0
	by, pace := &cli.Identity{}, &paceFlags{}
	cmd := &cobra.Command{
		Use:   "run PLAN",
		Short: "Merge duplicates as a plan says",
		Long: `Merges in batches of about 1,000 losers, each of which is one short transaction and
never cuts a group. Interrupted at any instant, the same call goes on where it was.
Groups that cannot be merged are left as they are, each with its reason. At the end,
references added during the run are moved as well.

With --rest and --pause-when-lag, others have the database to themselves between
batches; a replica that is gone is waited for. An interrupt ends the wait.

Triggers can test the number of the run: current_setting('semel.merge_run', true), in
MariaDB and MySQL @semel_merge_run, in SQLite (SELECT run FROM semel_dedupe_now).`,
		Example: `  semel dedupe run semel-dedupe.json --dsn postgres://app@db.example/shop --limit 10000
  semel dedupe run semel-dedupe.json --dsn postgres://app@db.example/shop --rest 200ms --pause-when-lag 5s`,
		Annotations: map[string]string{"exit1": "some groups were left as they are, or the plan does not fit; see stderr"},
		Args:        cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return cli.Usagef("name the file of one plan (semel dedupe plan writes it)")
			}
			if limit < 0 {
				return cli.Usagef("--limit %d is negative", limit)
			}
			if err := pace.check(); err != nil {
				return err
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
				bar := cli.StartProgress(p, "losers", int(plan.Losers))
				report, err := db.Run(cmd.Context(), plan, &dedupe.Options{By: who.Name, Limit: limit, Pace: pace.Pace, Progress: paced(bar, "losers")})
				bar.Stop()
				if err != nil {
					return err
				}
				return f.printRun(p, report)
			})
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 0, "stop after about `n` losers; the next call goes on (0: no limit)")
	by.Register(cmd)
	pace.register(cmd)
	return cmd
}

// paceFlags are the flags that leave room for others between batches.
type paceFlags struct{ dedupe.Pace }

func (f *paceFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.DurationVar(&f.Rest, "rest", 0, "pause after each batch (such as 200ms)")
	flags.DurationVar(&f.MaxLag, "pause-when-lag", 0, "wait before a batch while a replica is further behind (PostgreSQL; elsewhere with --lag-query)")
	flags.StringVar(&f.LagQuery, "lag-query", "", "`SQL` that returns the seconds that replicas are behind, one row or more, instead of asking the server")
}

func (f *paceFlags) check() error {
	switch {
	case f.Rest < 0:
		return cli.Usagef("--rest %s is negative", f.Rest)
	case f.MaxLag < 0:
		return cli.Usagef("--pause-when-lag %s is negative", f.MaxLag)
	case f.LagQuery != "" && f.MaxLag == 0:
		return cli.Usagef("--lag-query goes with --pause-when-lag")
	}
	return nil
}

// paced shows progress, and why a batch waits.
func paced(bar *cli.ProgressBar, what string) func(done, all int, waits string) {
	return func(done, all int, waits string) {
		if waits != "" {
			waits = ": " + cli.PlainLine(waits)
		}
		bar.Set(done, all, what+waits)
	}
}

func (f *dedupeFlags) printRun(p *cli.Process, report *dedupe.Report) error {
	var err error
	if f.json {
		err = json.NewEncoder(p.Stdout).Encode(report)
	} else {
		err = printRunReport(p, report)
	}
	switch {
	case err != nil:
		return err
	case len(report.Refusals) > 0:
		return left(len(report.Refusals), "group")
	case len(report.Late) > 0:
		return cli.Found(fmt.Errorf("rows still refer to merged ones in %s", texts.Count(len(report.Late), "group")))
	}
	return nil
}

// left says that groups or rows did not change.
func left(n int, noun string) error {
	if n == 1 {
		return cli.Found(fmt.Errorf("1 %s left as it is", noun))
	}
	return cli.Found(fmt.Errorf("%s left as they are", texts.Count(n, noun)))
}

func printRunReport(p *cli.Process, report *dedupe.Report) error {
	text := "No duplicates were found.\n"
	if report.Run != 0 {
		how, undo := "", ""
		if report.Resumed {
			how = ", continued"
		}
		if report.Merged > 0 || report.Resumed {
			undo = fmt.Sprintf(" Undo it with: semel dedupe undo %d", report.Run)
		}
		text = fmt.Sprintf("Run %d%s: %s merged, %d open.%s\n", report.Run, how, texts.Count(report.Merged, "loser"), report.Open, undo)
	}
	if _, err := fmt.Fprint(p.Stdout, text); err != nil {
		return err
	}
	for _, r := range report.Refusals {
		fmt.Fprintf(p.Stderr, "group %d (winner %s): %s\n", r.Group, cli.Plain(r.Winner), cli.PlainLine(r.Reason)) //nolint:errcheck // the exit code reports it as well.
	}
	return printLate(p, report.Swept, report.Late)
}

// printLate says how many rows that referred to merged ones moved, and why others did not.
func printLate(p *cli.Process, swept int64, left []dedupe.Refusal) error {
	for _, r := range left {
		fmt.Fprintf(p.Stderr, "group %d of %s: %s\n", r.Group, cli.Plain(r.Winner), cli.PlainLine(r.Reason)) //nolint:errcheck // the exit code reports it as well.
	}
	if swept == 0 {
		return nil
	}
	_, err := fmt.Fprintf(p.Stdout, "%s still referred to merged rows, and moved.\n", texts.Count(swept, "row"))
	return err
}

func newDedupeUndo(p *cli.Process, f *dedupeFlags) *cobra.Command {
	var target dedupe.Target
	by, pace := &cli.Identity{}, &paceFlags{}
	cmd := &cobra.Command{
		Use:   "undo RUN",
		Short: "Take a run back, or a part of it",
		Long: `Brings losers back, and lets what referred to them refer to them again. Rows that were
changed or deleted after the merge are reported and left as they are; rows that were
added to a winner stay with it. A later run that merged a winner again has to be taken
back first. The unique index of "semel dedupe finish" refuses the duplicates: with
--drop-index, the guard takes its place.`,
		Example: `  semel dedupe undo 1 --dsn postgres://app@db.example/shop
  semel dedupe undo 1 --record 4711 --dsn postgres://app@db.example/shop`,
		Annotations: map[string]string{"exit1": "some rows were left as they are, or nothing could be undone; see stderr"},
		Args:        cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return cli.Usagef("name one run by its number (semel dedupe status shows them)")
			}
			var err error
			if target.Run, err = strconv.ParseInt(args[0], 10, 64); err != nil || target.Run < 1 {
				return cli.Usagef("%q is not the number of a run (semel dedupe status shows them)", cli.PlainLine(args[0]))
			}
			if target.Group != 0 && target.Record != "" {
				return cli.Usagef("--group and --record exclude each other")
			}
			if err := pace.check(); err != nil {
				return err
			}
			who, err := by.Operator()
			if err != nil {
				return err
			}
			return f.with(cmd.Context(), opendb.Write, func(db *dedupe.Database) error {
				bar := cli.StartProgress(p, "groups", 0)
				report, err := db.Undo(cmd.Context(), target, &dedupe.Options{By: who.Name, Pace: pace.Pace, Progress: paced(bar, "groups")})
				bar.Stop()
				if report == nil {
					return err
				}
				return errors.Join(err, f.printUndo(p, report))
			})
		},
	}
	cmd.Flags().Int64Var(&target.Group, "group", 0, "undo only the group of this `number`")
	cmd.Flags().StringVar(&target.Record, "record", "", "undo only the merge of the loser with this `key`; commas between the columns of a key")
	cmd.Flags().BoolVar(&target.DropIndex, "drop-index", false, "let the guard take the place of the unique index that finish made")
	by.Register(cmd)
	pace.register(cmd)
	return cmd
}

func (f *dedupeFlags) printUndo(p *cli.Process, report *dedupe.Undone) error {
	if f.json {
		if err := json.NewEncoder(p.Stdout).Encode(report); err != nil {
			return err
		}
	} else {
		if _, err := fmt.Fprintf(p.Stdout, "Run %d: %s restored.\n", report.Run, texts.Count(report.Restored, "row")); err != nil {
			return err
		}
		for _, k := range report.Kept {
			fmt.Fprintf(p.Stderr, "%s %s: %s\n", cli.Plain(k.Table), cli.Plain(k.Key), cli.PlainLine(k.Reason)) //nolint:errcheck // the exit code reports it as well.
		}
	}
	if len(report.Kept) > 0 {
		return left(len(report.Kept), "row")
	}
	return nil
}
