package schemacmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/semel-dev/semel/internal/cli"
	"github.com/semel-dev/semel/internal/cli/opendb"
	"github.com/semel-dev/semel/rules"
)

// defaultRules is the default rules file.
const defaultRules = "semel.yaml"

// rulesFlags are the flags that verbs about rules share.
type rulesFlags struct {
	file string
	dsn  string
	json bool
}

// NewRules returns the verb rules; the command adds check and forms, which need the gateway.
func NewRules(p *cli.Process) *cobra.Command {
	f := &rulesFlags{}
	cmd := &cobra.Command{
		Use:   "rules",
		Short: "Compare your uniqueness rules with what the database enforces",
		Long: `The rules file defines in one place what "the same thing" means: which rows of a
table must be unique, in which scope, and how a second one is treated.

  check   checks the file before a deploy
  init    drafts the file from an existing database
  verify  compares the file with the database, and exits with 1 if they differ
  plan    prints the SQL that makes the database enforce the file
  doc     describes the file for people and for programs
  forms   lists the forms of a page, and the rule that takes each
  schema  prints the JSON schema of the file, for editors

None of them changes the database, or sends a form. If the DSN contains a password,
give it in the variable SEMEL_DSN: other users can see command lines.`,
		Example: `  semel rules init --dsn postgres://app@db.example/shop
  semel rules verify --dsn sqlite:shop.db
  semel rules plan --dsn mysql://app@db.example/shop --format goose --out migrations`,
		RunE: p.WantVerb,
	}
	flags := cmd.PersistentFlags()
	flags.StringVar(&f.file, "rules", defaultRules, "rules `file` (YAML)")
	cmd.AddCommand(newRulesInit(p, f), newRulesVerify(p, f), newRulesPlan(p, f), newRulesDoc(p, f), newRulesSchema(p))
	return cmd
}

// register adds the flags of verbs that use a database.
func (f *rulesFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.dsn, "dsn", "", "`DSN` of the application's database: postgres://…, mysql://…, sqlite:PATH (required)")
}

func (f *rulesFlags) registerJSON(flags *pflag.FlagSet) {
	flags.BoolVar(&f.json, "json", false, "print one JSON object, for programs")
}

// loadUnique reads the rules file, which must have uniqueness rules.
func (f *rulesFlags) loadUnique() (*rules.File, error) {
	file, err := rules.Load(f.file)
	var wrong *rules.Error
	switch {
	case errors.As(err, &wrong):
		return nil, cli.Usage(err)
	case err != nil:
		return nil, cli.Usage(fmt.Errorf("%w (name the file with --rules, or draft one with: semel rules init)", err))
	case len(file.Unique) == 0:
		return nil, cli.Usagef("%s has no rules under unique:, so there is nothing to compare with a database (write one there, or draft some with: semel rules init --rules FILE)", f.file)
	}
	return file, nil
}

// with opens the database for reading, calls work, and always closes it.
func (f *rulesFlags) with(ctx context.Context, work func(*opendb.Database) error) error {
	if f.dsn == "" {
		return cli.Usagef("--dsn is missing: name the application's database (or set %s)", cli.Variable("dsn"))
	}
	db, err := opendb.Open(ctx, f.dsn, opendb.Read)
	if err != nil {
		return cli.OpenError(err)
	}
	return errors.Join(cli.AsUnreachable(work(db)), db.Close())
}
