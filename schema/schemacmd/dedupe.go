// Package schemacmd has the verbs dedupe and rules of the command semel: their flags and output.
package schemacmd

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/semel-dev/semel/internal/cli"
	"github.com/semel-dev/semel/internal/cli/opendb"
	"github.com/semel-dev/semel/schema/dedupe"
)

// dedupeFlags are the flags that verbs about duplicates share.
type dedupeFlags struct {
	dsn  string
	json bool
}

// NewDedupe returns the verb dedupe.
func NewDedupe(p *cli.Process) *cobra.Command {
	f := &dedupeFlags{}
	cmd := &cobra.Command{
		Use:   "dedupe",
		Short: "Merge rows that are duplicates already, and take it back",
		Long: `Merges duplicate rows of an application's database and everything that refers to them,
in small transactions, while the application runs.

  plan    finds the duplicates of a rule, and writes a plan; changes nothing
  guard   stops new duplicates while the old ones are there
  run     does what a plan says; goes on after an interruption
  finish  makes the unique index, and removes the guard
  undo    takes back a run, a group or one record
  status  lists the runs and the guards
  show    says into which row a merged one went
  live    writes the view of the rows that are not merged
  near    lists rows that may be duplicates, for a person to decide (any database)

Everything that changes is kept in the tables semel_dedupe_… of the same database. If
the DSN contains a password, give it in the variable SEMEL_DSN: other users can see
command lines.`,
		Example: `  semel dedupe plan --dsn postgres://app@db.example/shop --rule invoice_number
  semel dedupe guard semel-dedupe.json --dsn postgres://app@db.example/shop
  semel dedupe run semel-dedupe.json --dsn postgres://app@db.example/shop
  semel dedupe finish semel-dedupe.json --dsn postgres://app@db.example/shop
  semel dedupe undo 1 --dsn postgres://app@db.example/shop`,
		RunE: p.WantVerb,
	}
	flags := cmd.PersistentFlags()
	flags.StringVar(&f.dsn, "dsn", "", "`DSN` of the application's database: postgres://…, mysql://… or sqlite:PATH (required)")
	flags.BoolVar(&f.json, "json", false, "print JSON, for programs")
	cmd.AddCommand(newDedupePlan(p, f), newDedupeGuard(p, f), newDedupeNear(p, f), newDedupeRun(p, f), newDedupeFinish(p, f), newDedupeUndo(p, f), newDedupeStatus(p, f), newDedupeShow(p, f), newDedupeLive(p, f))
	return cmd
}

// with opens the database, calls work, and always closes it.
func (f *dedupeFlags) with(ctx context.Context, use opendb.Use, work func(*dedupe.Database) error) error {
	if f.dsn == "" {
		return cli.Usagef("--dsn is missing: name the application's database (or set %s)", cli.Variable("dsn"))
	}
	db, err := opendb.Open(ctx, f.dsn, use)
	if err != nil {
		return cli.OpenError(err)
	}
	err = work(&dedupe.Database{DB: db.DB, Dialect: db.Dialect})
	switch {
	case errors.Is(err, dedupe.ErrSQL):
		err = cli.Usage(err)
	case errors.Is(err, dedupe.ErrRefused), errors.Is(err, dedupe.ErrBusy):
		err = cli.Found(err)
	case errors.Is(err, context.Canceled):
		err = cli.Found(errors.New("stopped; what is done is done, and the next call goes on from there"))
	}
	return errors.Join(cli.AsUnreachable(err), db.Close())
}
