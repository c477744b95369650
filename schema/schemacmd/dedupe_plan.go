package schemacmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/semel-dev/semel/internal/cli"
	"github.com/semel-dev/semel/internal/cli/opendb"
	"github.com/semel-dev/semel/internal/texts"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/schema/dedupe"
	"github.com/semel-dev/semel/schema/dedupe/near"
	dedupereport "github.com/semel-dev/semel/schema/dedupe/report"
)

type dedupePlanFlags struct {
	*dedupeFlags
	dedupe.Request

	rules rulesFlags
	rule  string
	keys  []string
	file  string
	out   string
	html  string

	questions, answers string
}

const dedupePlanLong = `Groups the rows of a table as the unique index of a rule would, chooses the winner of
each group, and follows every foreign key to the losers. The rule is one of the rules
file, or --table with --key. Rows with NULL in the key do not count.

The plan is a file for "semel dedupe run", which refuses it once the schema has
changed. Nothing else is written; look at the suspects, which may refer to losers
without a foreign key: name those that do with --reference. Where rows that a suspect may
name would be deleted, or get another key, the plan is refused until --reference says what
the suspect is.

Children that a unique key makes the same are merged as well. A key over the reference
alone, such as one primary address for each customer, makes nothing the same: groups that
would break it are left as they are, or --child says which row stays as it is.

Losers are marked by the columns merged_into, merged_at and merge_run (the last two
where the table has them), and the rule leaves out rows with merged_into; or deleted.
The columns of winners change as --column says:
  fill     NULL becomes the first value among the losers
  longest  the longest text of the group
  sum      the sum of the group
  latest   the value of the newest row
  ask      where the rows of a group have several, a person decides: the questions
           go into a file, and the group stays as it is until --answers has the answer
  sql:…    an aggregate over the rows of the group, such as sql:bool_or(paid)`

func newDedupePlan(p *cli.Process, shared *dedupeFlags) *cobra.Command {
	f := &dedupePlanFlags{dedupeFlags: shared}
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Find duplicates, and write a plan of how to merge them",
		Long:  dedupePlanLong,
		Example: `  semel dedupe plan --dsn postgres://app@db.example/shop --rule invoice_number
  semel dedupe plan --dsn postgres://app@db.example/shop --table customers --key 'tenant_id' --key 'lower(trim(email))' \
    --losers delete --column phone=fill --check payments.amount`,
		Annotations: map[string]string{"exit1": "the database or the rule does not allow a merge; see stderr"},
		Args:        cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.readAnswers(); err != nil {
				return err
			}
			find, err := f.finder(cmd.Context())
			if err != nil {
				return err
			}
			return f.with(cmd.Context(), opendb.Read, func(db *dedupe.Database) error {
				if err := f.Check(db.Dialect); err != nil {
					return cli.Usage(err)
				}
				plan, err := find(db)
				if err != nil {
					return err
				}
				return f.write(p, plan)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.rules.file, "rules", defaultRules, "rules `file` (YAML)")
	flags.StringVar(&f.rule, "rule", "", "`name` of the rule (default: the only one of the file)")
	flags.StringVar(&f.Table, "table", "", "`table` with duplicates, instead of a rule")
	flags.StringArrayVar(&f.keys, "key", nil, "`term` that is equal in duplicates: a column or an expression of the rules file; can be repeated")
	flags.StringVar(&f.file, "decisions", "", "`file` of semel dedupe near in which a person decided, instead of a rule and a winner")
	flags.StringVar(&f.Winner, "winner", "oldest", "the `row` of a group that stays: oldest, newest, most-children, most-complete, or \"order by\" and SQL")
	flags.StringVar(&f.Losers, "losers", "mark", "what happens to the other rows: `mark` or delete (they stay in the audit)")
	flags.StringVar(&f.Cycles, "cycles", "refuse", "what happens to a group that closes a circle of parents: `refuse`, or break it at the youngest row")
	flags.StringArrayVar(&f.Columns, "column", nil, "`[TABLE.]COLUMN=POLICY` of a winner; can be repeated (default: keep)")
	flags.StringArrayVar(&f.References, "reference", nil, "`TABLE.COLUMN [to TABLE] [where SQL]` that refers to the table, or to another one of the plan, without a foreign key, or \"to none\" where it does not; can be repeated")
	flags.StringArrayVar(&f.Yields, "child", nil, "`TABLE=ROW[:COLUMN=VALUE]` of which a parent may have one: the row that stays as it is (winner, oldest or newest), and what the others get; without, they are merged into it; can be repeated")
	flags.StringArrayVar(&f.Checks, "check", nil, "`TABLE.COLUMN` whose sum, or TABLE whose number of rows, no group may change; can be repeated")
	flags.StringVar(&f.Index, "index", "", "`name` of the unique index to come (default: the rule's, or made of the table and the columns)")
	flags.BoolVar(&f.Triggers, "triggers", false, "allow triggers of the tables to fire")
	flags.StringVar(&f.out, "out", "semel-dedupe.json", "`file` for the plan; another plan there is replaced, and no other file")
	flags.StringVar(&f.html, "html", "", "`file` for the plan as a page, for the people who have to agree to it; it is replaced")
	flags.StringVar(&f.questions, "questions", "semel-questions.csv", "`file` for the questions of --column NAME=ask; it must not exist")
	flags.StringVar(&f.answers, "answers", "", "`file` of questions in which a person decided")
	cli.Complete(cmd, "losers", []string{"mark", "delete"})
	cli.Complete(cmd, "cycles", []string{"refuse", "break"})
	return cmd
}

// finder returns what makes the plan: from decisions or from a rule.
func (f *dedupePlanFlags) finder(ctx context.Context) (func(*dedupe.Database) (*dedupe.Plan, error), error) {
	if f.file == "" {
		u, err := f.unique()
		return func(db *dedupe.Database) (*dedupe.Plan, error) { return db.Plan(ctx, u, f.Request) }, err
	}
	if f.Table == "" || len(f.keys) > 0 || f.rule != "" {
		return nil, cli.Usagef("--decisions goes with --table, and without --key and --rule")
	}
	file, err := os.Open(f.file)
	if err != nil {
		return nil, cli.Usage(err)
	}
	made, err := near.ReadDecisions(file)
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, cli.Usage(fmt.Errorf("%s: %w", f.file, err))
	}
	return func(db *dedupe.Database) (*dedupe.Plan, error) { return db.PlanDecided(ctx, f.Table, made, f.Request) }, nil
}

// unique returns the rule to merge by.
func (f *dedupePlanFlags) unique() (*rules.Unique, error) {
	if (f.Table == "") != (len(f.keys) == 0) {
		return nil, cli.Usagef("--table and --key go together")
	}
	if f.Table != "" {
		if f.rule != "" {
			return nil, cli.Usagef("--rule and --table exclude each other")
		}
		u, err := dedupe.KeyRule(f.Table, f.keys, f.Losers == "mark")
		if err != nil {
			return nil, cli.Usagef("--key: %v", err)
		}
		return u, nil
	}
	file, err := f.rules.loadUnique()
	if err != nil {
		return nil, err
	}
	var names []string
	for i := range file.Unique {
		if u := &file.Unique[i]; u.Name == f.rule || f.rule == "" && len(file.Unique) == 1 {
			return u, nil
		}
		names = append(names, file.Unique[i].Name)
	}
	if f.rule == "" {
		return nil, cli.Usagef("%s has %s: name one with --rule (%s)", f.rules.file, texts.Count(len(names), "rule"), strings.Join(names, ", "))
	}
	return nil, cli.Usagef("%s has no rule %q (it has %s)", f.rules.file, cli.PlainLine(f.rule), strings.Join(names, ", "))
}

// write writes the plan and prints what it means.
func (f *dedupePlanFlags) write(p *cli.Process, plan *dedupe.Plan) error {
	text, err := json.MarshalIndent(plan, "", "  ")
	if err != nil {
		return err
	}
	if plan.Losers > 0 {
		if err := f.replaces(p, append(text, '\n')); err != nil {
			return err
		}
	}
	if err := f.writeQuestions(plan); err != nil {
		return err
	}
	if plan.Losers > 0 {
		if err := os.WriteFile(f.out, append(text, '\n'), 0o600); err != nil {
			return cli.Usage(err)
		}
	}
	if f.html != "" {
		var page bytes.Buffer
		if err := dedupereport.HTML(&page, plan); err != nil {
			return err
		}
		if err := os.WriteFile(f.html, page.Bytes(), 0o600); err != nil {
			return cli.Usage(err)
		}
	}
	if f.json {
		_, err := fmt.Fprintf(p.Stdout, "%s\n", text)
		return err
	}
	if plan.Losers == 0 {
		_, err := fmt.Fprintf(p.Stdout, "%s has no duplicates by %s. No plan is written.\n", plan.Request.Table, plan.Request.Name)
		return err
	}
	if err := errors.Join(printDedupePlan(p, plan), f.printQuestions(p, plan)); err != nil {
		return err
	}
	e := plan.Estimate()
	_, err = fmt.Fprintf(p.Stdout, "%s, each of which locks about %s: %s at 5 000 rows a second.\nThe plan is in %s. Run it with: semel dedupe run %s\n",
		texts.Count(e.Batches, "transaction"), texts.Count(e.Locked, "row"), dedupereport.Duration(e.Time), f.out, f.out)
	return err
}

// replaces says that another plan is about to be replaced, and refuses to replace a file that is not a plan.
func (f *dedupePlanFlags) replaces(p *cli.Process, text []byte) error {
	info, err := os.Stat(f.out)
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return nil //nolint:nilerr // a file that is not there is made.
	}
	if _, err := dedupe.ReadPlan(f.out); err != nil && !errors.Is(err, dedupe.ErrVersion) {
		return cli.Usagef("%s exists, and is not a plan that can be replaced: name another file with --out", f.out)
	}
	if old, err := os.ReadFile(f.out); err == nil && bytes.Equal(old, text) {
		return nil
	}
	_, err = fmt.Fprintf(p.Stderr, "semel: %s had another plan, which is replaced\n", f.out)
	return err
}

func printDedupePlan(p *cli.Process, plan *dedupe.Plan) error {
	by, winner := plan.Request.Name, cli.PlainLine(plan.Request.Winner)
	if len(plan.Request.Decided) > 0 {
		by, winner = "decisions", "the row that was decided on"
	}
	if _, err := fmt.Fprintf(p.Stdout, "%s by %s: %s, %s to %s; the winner is %s.\n", plan.Request.Table, by, texts.Count(plan.Groups, "group"),
		texts.Count(plan.Losers, "loser"), plan.Request.Losers, winner); err != nil {
		return err
	}
	var samples [][]string
	for i, s := range plan.Samples {
		differ := strings.Join(texts.Of(plan.Differences[i], dedupe.Difference.String), "; ")
		samples = append(samples, []string{cli.PlainLine(s[0]), cli.PlainLine(cli.Shorten(s[1], sampleWidth)), cli.OrDash(cli.PlainLine(cli.Shorten(differ, sampleWidth)))})
	}
	if err := cli.PrintSheet(p, []string{"WINNER", "LOSERS (first groups)", "THEY DIFFER IN"}, "", samples); err != nil {
		return err
	}
	var children [][]string
	for _, c := range plan.Children {
		rows := "-"
		if c.Rows >= 0 {
			rows = fmt.Sprint(c.Rows)
		}
		children = append(children, []string{cli.Plain(c.Table + " (" + c.Columns + ")"), cli.Plain(c.Parent), rows})
	}
	if err := cli.PrintSheet(p, []string{"REFERENCE", "TO", "ROWS OF LOSERS"}, "Nothing refers to these rows by a foreign key.", children); err != nil {
		return err
	}
	var collisions [][]string
	for _, c := range plan.Collisions {
		differ := strings.Join(texts.Of(c.Differences, dedupe.Difference.String), "; ")
		collisions = append(collisions, []string{cli.Plain(c.Table), cli.Plain(c.Key), fmt.Sprint(c.Rows), cli.OrDash(cli.PlainLine(cli.Shorten(strings.Join(c.Sample, " "), sampleWidth))), cli.OrDash(cli.PlainLine(cli.Shorten(differ, sampleWidth))), cli.Plain(c.Does)})
	}
	if len(collisions) > 0 {
		if err := cli.PrintSheet(p, []string{"CHILDREN THAT MEET", "IN THE KEY", "ROWS", "EXAMPLE", "THEY DIFFER IN", "WHAT HAPPENS"}, "", collisions); err != nil {
			return err
		}
	}
	for _, part := range []struct {
		title string
		lines []string
	}{{"fires", plan.Triggers}, {"suspect", plan.Suspects}, {"note", plan.Notes}} {
		if err := printLines(p.Stdout, part.title, part.lines); err != nil {
			return err
		}
	}
	return nil
}

const sampleWidth = 60

func printLines(w io.Writer, title string, lines []string) error {
	for _, line := range lines {
		if _, err := fmt.Fprintf(w, "%s: %s\n", title, cli.PlainLine(line)); err != nil {
			return err
		}
	}
	return nil
}
