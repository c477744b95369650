package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/semel-dev/semel/internal/opendb"
	"github.com/semel-dev/semel/internal/rules/plan"
	"github.com/semel-dev/semel/rules"
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

func newRulesPlan(p *process, shared *rulesFlags) *cobra.Command {
	f := &planFlags{rulesFlags: shared}
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Print the SQL after which the database enforces the rules",
		Long: `Prints what is missing as SQL for this very server, with comments, and how to
undo it. Others can read and write meanwhile where the server can do that:
PostgreSQL builds indexes CONCURRENTLY, MySQL and MariaDB without copying the
table; SQLite lets nobody else write. Nothing is run.

Where rows are the same by a rule already, nothing is printed for that rule; the
message on stderr points at them. Plan again after they were merged, and after a
run that was interrupted.

Formats: sql is plain SQL, goose and tern are one migration, golang-migrate is a
pair of files for each statement, because it sends a file as one transaction.`,
		Example: `  semel rules plan --dsn sqlite:shop.db
  semel rules plan --dsn postgres://app@db.example/shop --format goose --out migrations`,
		Annotations: map[string]string{"exit1": "rows break a rule already, or a rule cannot be enforced; see stderr"},
		Args:        noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			file, err := f.check()
			if err != nil {
				return err
			}
			return f.with(cmd.Context(), func(db *opendb.Database) error { return f.run(cmd.Context(), p, db, file) })
		},
	}
	flags := cmd.Flags()
	f.register(flags)
	f.registerJSON(flags)
	flags.StringVar(&f.format, "format", string(plan.SQL), "`format`: sql, goose, golang-migrate or tern")
	flags.StringVar(&f.out, "out", "", "write files into this `directory` instead of printing them; none is overwritten")
	flags.Int64Var(&f.first, "first", 0, "`number` of the first migration (default: the time, as 20260504030201)")
	flags.BoolVar(&f.constraint, "constraint", false, "make constraints of tables where a rule can be one (PostgreSQL)")
	flags.DurationVar(&f.lockTimeout, "lock-timeout", 5*time.Second, "how long a statement that others wait for waits itself")
	flags.DurationVar(&f.patience, "patience", 5*time.Minute, "how long to look for duplicates, for each rule")
	complete(cmd, "format", formatNames())
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
		return nil, usagef("--lock-timeout %s is shorter than 1ms", f.lockTimeout)
	case f.patience < time.Millisecond:
		return nil, usagef("--patience %s is shorter than 1ms", f.patience)
	case f.first < 0:
		return nil, usagef("--first %d is negative", f.first)
	case f.json && f.out != "":
		return nil, usagef("--json prints, and --out does not: give one of them")
	}
	return f.loadUnique()
}

func (f *planFlags) run(ctx context.Context, p *process, db *opendb.Database, file *rules.File) error {
	bar := startProgress(p, "rules", len(file.Unique))
	made, err := plan.Make(ctx, db.DB, db.Dialect, file, &plan.Options{
		Constraint: f.constraint, LockTimeout: f.lockTimeout, Patience: f.patience, Progress: bar.set,
	})
	bar.stop()
	if err != nil {
		return err
	}
	if f.json {
		err = json.NewEncoder(p.stdout).Encode(made)
	} else {
		err = f.write(p, made)
	}
	if err != nil {
		return err
	}
	return f.tell(p, made)
}

// write prints the files, or writes them.
func (f *planFlags) write(p *process, made *plan.Plan) error {
	first := f.first
	if first == 0 {
		if _, err := fmt.Sscan(time.Now().UTC().Format("20060102150405"), &first); err != nil {
			return err
		}
	}
	files, err := made.Files(plan.Format(f.format), first)
	if errors.Is(err, plan.ErrFormat) {
		return usagef("--format %s: %w (it is one of %s)", f.format, err, strings.Join(formatNames(), ", "))
	}
	if err != nil {
		return err
	}
	for _, file := range files {
		switch {
		case f.out != "":
			if err := writeNew(filepath.Join(f.out, file.Name), file.Text); err != nil {
				return usage(err)
			}
			_, err = fmt.Fprintln(p.stdout, filepath.Join(f.out, file.Name))
		case len(files) > 1:
			_, err = fmt.Fprintf(p.stdout, "-- file %s\n%s\n", file.Name, file.Text)
		default:
			_, err = io.WriteString(p.stdout, file.Text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// writeNew writes a file that must not be there yet.
func writeNew(name, text string) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) //nolint:gosec // named by the operator, and for others to read.
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	return errors.Join(err, file.Close())
}

// tell says on stderr what was not planned; its error is the exit code.
func (f *planFlags) tell(p *process, made *plan.Plan) error {
	refused := made.Refused()
	for i := range refused {
		tellRefused(p.stderr, f.file, &refused[i])
	}
	switch planned := len(made.Steps) - len(refused); {
	case len(refused) > 0:
		return found(fmt.Errorf("nothing is planned for %s", count(len(refused), "rule")))
	case planned == 0 && !f.json:
		fmt.Fprintf(p.stderr, "Nothing to do: the database enforces %s.\n", count(made.Enforced, "rule")) //nolint:errcheck // a remark.
	}
	return nil
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// tellRefused points at what is in the way of one rule.
func tellRefused(w io.Writer, file string, s *plan.Step) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d: rule %s: %s (%s)\n", file, s.Line, s.Rule, plainLine(s.Refused.Why), plainLine(s.Refused.Fix))
	if d := s.Refused.Duplicates; d != nil {
		for _, group := range d.Samples {
			rows := make([]string, len(group))
			for i, row := range group {
				rows[i] = plainLine(strings.Join(row, ","))
			}
			fmt.Fprintf(&b, "  the same: %s %s\n", strings.Join(d.Key, ","), strings.Join(rows, " and "))
		}
		fmt.Fprintf(&b, "  all of them: %s\n", plainLine(d.Select))
	}
	_, _ = io.WriteString(w, b.String()) // the exit code says it too
}
