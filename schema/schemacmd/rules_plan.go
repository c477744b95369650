package schemacmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/semel-dev/semel/internal/cli"
	"github.com/semel-dev/semel/internal/cli/opendb"
	"github.com/semel-dev/semel/internal/texts"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/schema/internal/plan"
)

type planFlags struct {
	*rulesFlags

	format      string
	out         string
	first       int64
	constraint  bool
	lockTimeout time.Duration
	patience    time.Duration
}

func newRulesPlan(p *cli.Process, shared *rulesFlags) *cobra.Command {
	f := &planFlags{rulesFlags: shared}
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Print the SQL that makes the database enforce the rules",
		Long: `Prints the missing parts as SQL for this server version, with comments, and how to
undo them. Reads and writes continue meanwhile if the server supports that:
PostgreSQL builds indexes CONCURRENTLY, MySQL and MariaDB without copying the
table; SQLite blocks other writers. Nothing is executed.

If existing rows break a rule, nothing is printed for that rule; the message on
stderr lists them. Plan again after merging them, and after an interrupted run.

Formats: sql is plain SQL, goose and tern are one migration, golang-migrate is a
pair of files for each statement, because it sends a file as one transaction.`,
		Example: `  semel rules plan --dsn sqlite:shop.db
  semel rules plan --dsn postgres://app@db.example/shop --format goose --out migrations`,
		Annotations: map[string]string{"exit1": "existing rows break a rule, or a rule cannot be enforced; see stderr"},
		Args:        cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			file, err := f.check()
			if err != nil {
				return err
			}
			return f.with(cmd.Context(), func(db *opendb.Database) error { return f.writePlan(cmd.Context(), p, db, file) })
		},
	}
	flags := cmd.Flags()
	f.register(flags)
	f.registerJSON(flags)
	flags.StringVar(&f.format, "format", string(plan.SQL), "`format`: sql, goose, golang-migrate or tern")
	flags.StringVar(&f.out, "out", "", "write files into this `directory` instead of printing them; none is overwritten")
	flags.Int64Var(&f.first, "first", 0, "`number` of the first migration (default: the time, as 20260504030201)")
	flags.BoolVar(&f.constraint, "constraint", false, "use table constraints if a rule can be one (PostgreSQL)")
	flags.DurationVar(&f.lockTimeout, "lock-timeout", 5*time.Second, "how long a statement may wait for a lock while others wait for it")
	flags.DurationVar(&f.patience, "patience", 5*time.Minute, "how long to look for duplicates, for each rule")
	cli.Complete(cmd, "format", formatNames())
	return cmd
}

func formatNames() []string {
	var names []string
	for _, format := range plan.Formats() {
		names = append(names, string(format))
	}
	return names
}

// check reads the flags and the rules file.
func (f *planFlags) check() (*rules.File, error) {
	switch {
	case f.lockTimeout < time.Millisecond:
		return nil, cli.Usagef("--lock-timeout %s is shorter than 1ms", f.lockTimeout)
	case f.patience < time.Millisecond:
		return nil, cli.Usagef("--patience %s is shorter than 1ms", f.patience)
	case f.first < 0:
		return nil, cli.Usagef("--first %d is negative", f.first)
	case f.json && f.out != "":
		return nil, cli.Usagef("--json and --out exclude each other")
	}
	return f.loadUnique()
}

func (f *planFlags) writePlan(ctx context.Context, p *cli.Process, db *opendb.Database, file *rules.File) error {
	bar := cli.StartProgress(p, "rules", len(file.Unique))
	made, err := plan.Make(ctx, db.DB, db.Dialect, file, &plan.Options{
		Constraint: f.constraint, LockTimeout: f.lockTimeout, Patience: f.patience, Progress: bar.Set,
	})
	bar.Stop()
	if err != nil {
		return err
	}
	if f.json {
		err = json.NewEncoder(p.Stdout).Encode(made)
	} else {
		err = f.write(p, made)
	}
	if err != nil {
		return err
	}
	return f.print(p, made)
}

// write prints the files, or writes them to the directory.
func (f *planFlags) write(p *cli.Process, made *plan.Plan) error {
	first := f.first
	if first == 0 {
		if _, err := fmt.Sscan(time.Now().UTC().Format("20060102150405"), &first); err != nil {
			return err
		}
	}
	files, err := made.Files(plan.Format(f.format), first)
	if errors.Is(err, plan.ErrFormat) {
		return cli.Usagef("--format %s: %w (it must be one of %s)", f.format, err, strings.Join(formatNames(), ", "))
	}
	if err != nil {
		return err
	}
	for _, file := range files {
		switch {
		case f.out != "":
			if err := write(filepath.Join(f.out, file.Name), []byte(file.Text), false); err != nil {
				return err
			}
			_, err = fmt.Fprintln(p.Stdout, filepath.Join(f.out, file.Name))
		case len(files) > 1:
			_, err = fmt.Fprintf(p.Stdout, "-- file %s\n%s\n", file.Name, file.Text)
		default:
			_, err = io.WriteString(p.Stdout, file.Text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// print reports on stderr what was not planned; its error is the exit code.
func (f *planFlags) print(p *cli.Process, made *plan.Plan) error {
	refused := made.Refused()
	for i := range refused {
		printRefused(p.Stderr, f.file, &refused[i])
	}
	switch planned := len(made.Steps) - len(refused); {
	case len(refused) > 0:
		return cli.Found(fmt.Errorf("nothing is planned for %s", texts.Count(len(refused), "rule")))
	case planned == 0 && !f.json:
		fmt.Fprintf(p.Stderr, "Nothing to do: the database enforces %s.\n", texts.Count(made.Enforced, "rule")) //nolint:errcheck // a remark.
	}
	return nil
}

// printRefused reports why a rule has no plan.
func printRefused(w io.Writer, file string, s *plan.RuleStep) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d: rule %s: %s (%s)\n", file, s.Line, s.Rule, cli.PlainLine(s.Refused.Why), cli.PlainLine(s.Refused.Fix))
	if d := s.Refused.Duplicates; d != nil {
		for _, group := range d.Samples {
			rows := make([]string, len(group))
			for i, row := range group {
				rows[i] = cli.PlainLine(strings.Join(row, ","))
			}
			fmt.Fprintf(&b, "  the same: %s %s\n", strings.Join(d.Key, ","), strings.Join(rows, " and "))
		}
		fmt.Fprintf(&b, "  all of them: %s\n", cli.PlainLine(d.Select))
	}
	_, _ = io.WriteString(w, b.String()) // the exit code reports it as well
}
