// Package lintcmd is the verb lint of the command semel: its flags and its output.
package lintcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/semel-dev/semel/internal/cli"
	"github.com/semel-dev/semel/internal/cli/opendb"
	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/lint"
	"github.com/semel-dev/semel/lint/internal/config"
	"github.com/semel-dev/semel/lint/vet"
)

type lintFlags struct {
	dialect, failOn, format string
	config, dsn, explain    string
	baseline, writeBaseline string
	schema, guards          []string
	json, sarif, all        bool
	idle                    []string // replacements of the configuration
	proof                   lintProof
}

// New returns the verb lint.
func New(p *cli.Process) *cobra.Command {
	f := &lintFlags{}
	cmd := &cobra.Command{
		Use:   "lint PATH…",
		Short: "Find SQL statements that are not safe to run twice",
		Long: `Reads the statements in files, in the .sql files of folders, and in the Go files of
folders and packages (./...), and says of each whether it is safe to run twice: safe,
not safe, or cannot tell, with the reason and what would make it safe. It runs none of
them, unless --prove says where.

Give it the statements that define the tables: without the keys and triggers of a
table, no statement that writes to it is called safe. --dsn reads them from a live
database; if the DSN contains a password, give it in the variable SEMEL_DSN. --explain
says what a rule such as no-unique-key means.

The path - is the standard input, <stdin> in the report. Placeholders are $1, ?, :name,
@name and #{name}; a statement with ${name}, which puts a text into it, cannot be told.

A comment at a statement, "-- semel:safe REASON" (in Go "//semel:safe REASON"), answers
a finding. A project that starts with many findings keeps them in a baseline, and hears
of new ones only.

Dialects, schemas and files to leave out can be kept in semel-lint.yaml, which is
looked for in the working directory and the folders above it, up to the root of the
repository. A flag wins over it. Where neither says them, the dialect, the tables and
the queries are those of sqlc.yaml.

Prints what is not safe, or cannot be told, file by file on a terminal and as
tab-separated columns elsewhere; the counts are on stderr.`,
		Example: `  semel lint --dialect postgresql --schema migrations queries
  semel lint --dsn sqlite:shop.db --fail-on cannot-tell queries/*.sql
  semel lint --dialect mysql --schema schema.sql - < query.sql
  semel lint --write-baseline known.txt .
  semel lint --baseline known.txt --sarif . > lint.sarif
  semel lint --explain no-unique-key`,
		Annotations: map[string]string{"exit1": "a statement is not safe to run twice (--fail-on cannot-tell: or it cannot tell), and neither a comment nor the baseline answers that"},
		RunE: func(cmd *cobra.Command, paths []string) error {
			if f.explain != "" {
				return explainRule(p, f.explain)
			}
			queries, err := f.configure()
			if err != nil {
				return err
			}
			if len(paths) == 0 {
				paths = queries
			}
			if err := f.check(paths); err != nil {
				return err
			}
			return f.lint(cmd.Context(), p, paths)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.config, "config", "", "configuration `FILE` (default: "+config.Name+" in the working directory or above it)")
	flags.StringVar(&f.dialect, "dialect", "", "`name` of the dialect: postgresql, mysql (or mariadb), sqlite (default: what the path says, or the worst of all that can read it)")
	flags.StringArrayVar(&f.schema, "schema", nil, "`PATH` of a file or folder that defines the tables: DDL, or migrations in their order; can be repeated")
	flags.StringVar(&f.dsn, "dsn", "", "`DSN` of a database whose tables are read, in the place of --schema: postgres://…, mysql://…, sqlite:PATH")
	f.proof.register(flags)
	flags.StringVar(&f.failOn, "fail-on", "", "the `verdict` from which the exit code is 1: not-safe (default) or cannot-tell")
	flags.StringVar(&f.baseline, "baseline", "", "`FILE` with the findings that were known before, which are neither shown nor counted as failures")
	flags.StringVar(&f.writeBaseline, "write-baseline", "", "write the findings as known to this `FILE`, and exit with 0; entries of files that were not read are kept")
	flags.StringVar(&f.explain, "explain", "", "print what a `RULE` means, an example in each database, and what makes it safe")
	flags.StringVar(&f.format, "format", "", "github prints annotations of workflows")
	flags.StringSliceVar(&f.guards, "guards", nil, "`functions` of a Go program that make what they are given happen once, in addition to Semel's: import/path.Func, separated by commas")
	flags.BoolVar(&f.json, "json", false, "print JSON, one object per statement")
	flags.BoolVar(&f.all, "all", false, "print the statements that are safe, answered or known as well, and how a second run of them answers")
	flags.BoolVar(&f.sarif, "sarif", false, "print a log in SARIF 2.1.0, for code scanning")
	return cmd
}

func (f *lintFlags) check(paths []string) error {
	if f.dialect != "" {
		if _, err := dialect.Parse(f.dialect); err != nil {
			return cli.Usagef("--%w", err)
		}
	}
	switch {
	case f.dsn != "" && len(f.schema) > 0:
		return cli.Usagef("--dsn and --schema exclude each other: the tables are those of the database, or of the files")
	case len(paths) == 0:
		return cli.Usagef("name the files or folders with the statements: semel lint PATH…")
	case f.failOn != "" && f.failOn != "not-safe" && f.failOn != "cannot-tell":
		return cli.Usagef("--fail-on %q is neither not-safe nor cannot-tell", cli.PlainLine(f.failOn))
	case f.format != "" && f.format != "github":
		return cli.Usagef("--format %q is not known: github is (or --json)", cli.PlainLine(f.format))
	case f.json && f.format != "", f.sarif && f.format != "", f.json && f.sarif:
		return cli.Usagef("--json, --sarif and --format exclude each other")
	}
	return nil
}

// configure reads the configuration, and takes from it what no flag says. It returns the queries of sqlc.
func (f *lintFlags) configure() (queries []string, err error) {
	if f.config == "" {
		if f.config, err = config.Find("."); err != nil {
			return nil, cli.Usage(err)
		}
	}
	if f.config == "" {
		return nil, nil
	}
	file, err := config.Load(f.config)
	if err != nil {
		return nil, cli.Usage(err)
	}
	f.failOn, f.baseline = cmp.Or(f.failOn, file.FailOn), cmp.Or(f.baseline, file.Baseline)
	if f.idle, err = file.Idle(); err != nil {
		return nil, cli.Usage(err)
	}
	return file.Queries, nil
}

// reportIdle reports the replacements of the configuration that replace nothing.
func reportIdle(p *cli.Process, idle []string) {
	for _, one := range idle {
		fmt.Fprintf(p.Stderr, "%s is in none of its files: remove the replacement\n", cli.PlainLine(one)) //nolint:errcheck // a remark.
	}
}

// lint judges the statements and reports them.
func (f *lintFlags) lint(ctx context.Context, p *cli.Process, paths []string) error {
	known, err := f.loadBaseline()
	if err != nil {
		return err
	}
	names, all, err := f.judge(ctx, p, paths)
	if err != nil {
		return err
	}
	reportIdle(p, f.idle)
	if f.writeBaseline != "" {
		return f.saveBaseline(p, names, all)
	}
	if all, err = f.proof.prove(ctx, p, all); err != nil {
		return err
	}
	report := f.report(all, known)
	if known != nil {
		judged := judgedFiles(known, names, all)
		defer reportLeft(p, known.Left(func(path string) bool { return judged[path] }))
	}
	return f.print(p, report)
}

// judge judges the statements, and names the files that were read.
func (f *lintFlags) judge(ctx context.Context, p *cli.Process, paths []string) (names []string, all []lint.Finding, err error) {
	o := &lint.Options{Guards: f.guards, Dialect: f.dialect, Schema: f.schema, Config: f.config, Stdin: p.Stdin}
	if f.dsn == "" && len(f.schema) == 0 && f.config == "" {
		f.dsn = f.proof.dsn
	}
	if f.dsn != "" {
		db, err := opendb.Open(ctx, f.dsn, opendb.Read)
		if err != nil {
			return nil, nil, cli.OpenError(err)
		}
		defer func() { err = errors.Join(err, db.Close()) }()
		if d, _ := dialect.Parse(f.dialect); f.dialect != "" && d != db.Dialect {
			return nil, nil, cli.Usagef("--dialect %s is not that of --dsn, which is %s", f.dialect, db.Dialect)
		}
		o.Database = &lint.Database{DB: db.DB, Dialect: db.Dialect.String()}
	}
	var bar *cli.ProgressBar
	o.Progress = func(done, all int, file string) {
		names = append(names, file)
		if bar == nil && all >= largeTree {
			bar = cli.StartProgress(p, "files", all)
		}
		if bar != nil {
			bar.Set(done, all, cli.PlainLine(cli.Shorten(file, statementWidth)))
		}
	}
	all, err = vet.Run(ctx, paths, o)
	if bar != nil {
		bar.Stop()
	}
	switch {
	case errors.Is(err, lint.ErrDatabase):
		return nil, nil, cli.Unreachable(err)
	case err != nil:
		return nil, nil, cli.Usage(err)
	}
	return names, all, nil
}

// largeTree is the number of files from which progress is shown.
const largeTree = 200
