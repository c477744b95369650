package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/semel-dev/semel/internal/opendb"
	"github.com/semel-dev/semel/rules"
)

// defaultRules is the rules file that is meant where none is named.
const defaultRules = "semel.yaml"

// rulesFlags are the flags that verbs about rules share.
type rulesFlags struct {
	file string
	dsn  string
	json bool
}

func newRules(p *process) *cobra.Command {
	f := &rulesFlags{}
	cmd := &cobra.Command{
		Use:   "rules",
		Short: "Compare what must be unique with what your database enforces",
		Long: `The rules file says in one place what "the same thing" means: which rows of a
table may not be there twice, in which scope, and how a second one is treated.

  init    drafts the file from an existing database
  verify  compares the file with the database, and ends with 1 where they differ
  plan    prints the SQL after which the database enforces the file
  doc     writes the file down for people and for programs
  forms   lists the forms of a page, and the rule that takes each
  schema  prints the JSON schema of the file, for editors

None of them changes the database, or sends a form. Give the DSN by the variable
SEMEL_DSN where it holds a password: a command line can be seen by others.`,
		Example: `  semel rules init --dsn postgres://app@db.example/shop
  semel rules verify --dsn sqlite:shop.db
  semel rules plan --dsn mysql://app@db.example/shop --format goose --out migrations`,
		RunE: p.wantVerb,
	}
	flags := cmd.PersistentFlags()
	flags.StringVar(&f.file, "rules", defaultRules, "rules `file` (YAML)")
	cmd.AddCommand(newRulesInit(p, f), newRulesVerify(p, f), newRulesPlan(p, f), newRulesDoc(p, f), newRulesForms(p, f), newRulesSchema(p))
	return cmd
}

// register adds the flags of verbs that look at a database.
func (f *rulesFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.dsn, "dsn", "", "`DSN` of the application's database: postgres://…, mysql://…, sqlite:PATH (required)")
}

func (f *rulesFlags) registerJSON(flags *pflag.FlagSet) {
	flags.BoolVar(&f.json, "json", false, "print one JSON object, for programs")
}

// loadUnique reads the rules file, which must say something about tables.
func (f *rulesFlags) loadUnique() (*rules.File, error) {
	file, err := rules.Load(f.file)
	var wrong *rules.Error
	switch {
	case errors.As(err, &wrong):
		return nil, usage(err)
	case err != nil:
		return nil, usage(fmt.Errorf("%w (name the file with --rules, or draft one with: semel rules init)", err))
	case len(file.Unique) == 0:
		return nil, usagef("%s has no rules under unique:, so there is nothing to compare with a database (draft some with: semel rules init --rules FILE)", f.file)
	}
	return file, nil
}

// with opens the database to read, works, and closes it in every case.
func (f *rulesFlags) with(ctx context.Context, work func(*opendb.Database) error) error {
	if f.dsn == "" {
		return usagef("--dsn is missing: name the application's database (or set %s)", variable("dsn"))
	}
	db, err := opendb.Open(ctx, f.dsn, opendb.Read)
	switch {
	case errors.Is(err, opendb.ErrDSN):
		return usage(err)
	case err != nil:
		return unreachable(err)
	}
	return errors.Join(asUnreachable(work(db)), db.Close())
}

// asUnreachable gives an error without an exit code that of a database that
// does not answer.
func asUnreachable(err error) error {
	var ended *exitError
	if err == nil || errors.As(err, &ended) {
		return err
	}
	return unreachable(err)
}

// plainLine keeps text of a file or a database on one line.
func plainLine(s string) string { return plain(strings.Join(strings.Fields(s), " ")) }
