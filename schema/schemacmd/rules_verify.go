package schemacmd

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/semel-dev/semel/internal/cli"
	"github.com/semel-dev/semel/internal/cli/opendb"
	"github.com/semel-dev/semel/internal/texts"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/schema/verify"
)

type verifyFlags struct {
	*rulesFlags

	sql     []string
	maxRows int
	timeout time.Duration
}

func newRulesVerify(p *cli.Process, shared *rulesFlags) *cobra.Command {
	f := &verifyFlags{rulesFlags: shared}
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Find out whether the database enforces the rules",
		Long: `Compares every rule under unique: with the tables, columns and indexes of the
database: missing indexes, indexes that refuse more or less than the rule, indexes
that are invalid or enforce nothing, collations that treat different texts as the
same, and columns that only look unique. If nothing enforces a rule, it searches
for rows that break it. With --sql it also reads statements in files, and finds
upserts that the indexes would refuse or that hide errors.

Prints a table on a terminal, tab-separated columns elsewhere; doubtful routes of
the file are reported on stderr. Nothing is changed.`,
		Example: `  semel rules verify --dsn sqlite:shop.db
  semel rules verify --dsn postgres://app@db.example/shop --sql 'db/queries/*.sql' --json`,
		Annotations: map[string]string{"exit1": "the database and the rules differ, or something could not be read"},
		Args:        cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			file, files, err := f.check()
			if err != nil {
				return err
			}
			for _, w := range file.Warnings() {
				fmt.Fprintf(p.Stderr, "%s:%s\n", cli.PlainLine(f.file), cli.PlainLine(w.String())) //nolint:errcheck // a remark.
			}
			return f.with(cmd.Context(), func(db *opendb.Database) error {
				bar := cli.StartProgress(p, "rules", len(file.Unique))
				report, err := verify.Verify(cmd.Context(), db.DB, db.Dialect, file, &verify.Options{
					MaxRows: f.maxRows, Timeout: f.timeout, SQL: files, Progress: bar.Set,
				})
				bar.Stop()
				if err != nil {
					return err
				}
				return f.print(p, report)
			})
		},
	}
	flags := cmd.Flags()
	f.register(flags)
	f.registerJSON(flags)
	flags.StringArrayVar(&f.sql, "sql", nil, "also read statements in files that match this `pattern`; can be repeated")
	flags.IntVar(&f.maxRows, "max-rows", verify.DefaultMaxRows, "search at most `n` rows of a table for duplicates; 0 reads no rows")
	flags.DurationVar(&f.timeout, "timeout", verify.DefaultTimeout, "how long to search one table for duplicates")
	return cmd
}

// check reads the flags and the files.
func (f *verifyFlags) check() (*rules.File, []verify.SQLFile, error) {
	switch {
	case f.maxRows < 0:
		return nil, nil, cli.Usagef("--max-rows %d is negative (0 reads no rows)", f.maxRows)
	case f.timeout <= 0:
		return nil, nil, cli.Usagef("--timeout %s is not above zero", f.timeout)
	case f.maxRows == 0:
		f.maxRows = -1
	}
	file, err := f.loadUnique()
	if err != nil {
		return nil, nil, err
	}
	files, err := verify.LoadSQL(f.sql...)
	if err != nil {
		return nil, nil, cli.Usage(err)
	}
	return file, files, nil
}

// print prints the report; its error is the exit code.
func (f *verifyFlags) print(p *cli.Process, report *verify.Report) error {
	if f.json {
		if err := json.NewEncoder(p.Stdout).Encode(report); err != nil {
			return err
		}
	} else if err := printFindings(p, report); err != nil {
		return err
	}
	if report.Clean() {
		return nil
	}
	return cli.Found(fmt.Errorf("the database and %s differ: %s and %s", f.file,
		texts.Count(report.Errors(), "error"), texts.Count(len(report.Findings)-report.Errors()+len(report.Unread), "warning")))
}

func printFindings(p *cli.Process, report *verify.Report) error {
	if report.Clean() {
		_, err := fmt.Fprintf(p.Stdout, "The database enforces %s.\n", texts.Count(report.Rules, "rule"))
		return err
	}
	head, rows := report.Table()
	if cli.IsTerminal(p.Stdout) {
		printFindingsTable(p, head, rows)
		return nil
	}
	for _, row := range append([][]string{head}, rows...) {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = cli.PlainLine(cell)
		}
		if _, err := fmt.Fprintln(p.Stdout, strings.Join(cells, "\t")); err != nil {
			return err
		}
	}
	return nil
}

// printFindingsTable prints the findings for people, within 80 columns: one row each, its place on the left, the
// finding and the advice on the right.
func printFindingsTable(p *cli.Process, head []string, rows [][]string) {
	last := len(head) - 1
	out := cli.NewTable(p, table.Row{strings.Join(head[:last-1], ", "), head[last-1]})
	for _, row := range rows {
		where := make([]string, last-1)
		for i := range where {
			where[i] = text.WrapHard(cli.PlainLine(row[i]), placeWidth)
		}
		what := text.WrapSoft(cli.PlainLine(row[last-1]), findingWidth) + "\n" + text.WrapSoft("→ "+cli.PlainLine(row[last]), findingWidth)
		out.AppendRow(table.Row{strings.Join(where, "\n"), what})
		out.AppendSeparator()
	}
	out.Render()
}

// placeWidth and findingWidth are the widths of the two columns.
const (
	placeWidth   = 27
	findingWidth = 46
)
