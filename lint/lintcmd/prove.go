package lintcmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/semel-dev/semel/internal/cli"
	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/lint"
	"github.com/semel-dev/semel/lint/internal/rerun"
)

// lintProof holds the flags that run statements.
type lintProof struct {
	dsn string
	yes bool
}

// provenOtherwise is the rule of a statement that the linter calls safe and two runs show not to be.
const provenOtherwise = "proven-otherwise"

func (f *lintProof) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.dsn, "prove", "", "`DSN` of a database for tests: run each statement twice on a copy of it, and compare")
	flags.BoolVar(&f.yes, "yes", false, "with --prove, copy a database that is on another host, or holds rows and is not called test")
}

// prove runs the statements, and puts those first about which the linter was wrong.
func (f *lintProof) prove(ctx context.Context, p *cli.Process, all []lint.Finding) ([]lint.Finding, error) {
	switch {
	case f.dsn == "" && f.yes:
		return nil, cli.Usagef("--yes belongs to --prove DSN")
	case f.dsn == "":
		return all, nil
	}
	statements := make([]rerun.Statement, len(all))
	for i := range all {
		statements[i].Text = all[i].SQL
		for _, name := range all[i].Dialects {
			if d, err := dialect.Parse(name); err == nil {
				statements[i].Dialects = append(statements[i].Dialects, d)
			}
		}
	}
	bar := cli.StartProgress(p, "statements run twice", len(all))
	outcomes, err := rerun.Run(ctx, f.dsn, statements, &rerun.Options{Yes: f.yes, Progress: bar.Set})
	bar.Stop()
	switch {
	case errors.Is(err, rerun.ErrRefused):
		return nil, cli.Usage(err)
	case err != nil:
		return nil, cli.OpenError(err)
	}
	counts := map[rerun.Kind]int{}
	for i := range outcomes {
		weigh(&all[i], &outcomes[i])
		counts[outcomes[i].Kind]++
	}
	slices.SortStableFunc(all, func(a, b lint.Finding) int { return wrong(&b) - wrong(&a) })
	fmt.Fprintf(p.Stderr, "run twice: %d differ, %d differ in times, %d stay the same, %d changed nothing, %d not run\n", //nolint:errcheck // a remark.
		counts[rerun.Differs], counts[rerun.Time], counts[rerun.Same], counts[rerun.NoEvidence], counts[rerun.NotRun])
	return all, nil
}

func wrong(one *lint.Finding) int {
	if one.Rule == provenOtherwise {
		return 1
	}
	return 0
}

// weigh compares the verdict of the rules with what two runs showed.
func weigh(one *lint.Finding, o *rerun.Outcome) {
	one.Proof = &lint.Proof{Outcome: o.Kind.String(), Why: o.Why, First: o.First, Second: o.Second, Fillings: o.Fillings}
	for _, c := range o.Changes {
		one.Proof.Changes = append(one.Proof.Changes, lint.Change(c))
	}
	proven := o.Kind == rerun.Differs || o.Kind == rerun.Time && one.Verdict == lint.Safe
	switch {
	case !proven:
	case one.Verdict <= lint.SafeButTime && len(one.Assumes) > 0:
		one.Verdict, one.Why = lint.CannotTell, "it is safe only while "+strings.Join(one.Assumes, " and ")+": two runs with other rows "+shown(o)
	case one.Verdict <= lint.SafeButTime:
		one.Why = fmt.Sprintf("the linter calls it %s (%s: %s), but two runs %s", one.Verdict, one.Rule, one.Why, shown(o))
		one.Verdict, one.Rule, one.Guard = lint.NotSafe, provenOtherwise, "give the linter the tables of that database (--dsn); if it still calls the statement safe, report that as a defect of semel lint"
	case one.Verdict == lint.CannotTell:
		one.Verdict, one.Why = lint.NotSafe, one.Why+", but two runs "+shown(o)
	}
}

// shown says what two runs showed.
func shown(o *rerun.Outcome) string {
	if o.Kind == rerun.Time {
		return "differ in times: " + o.Changes[0].String()
	}
	return "differ: " + o.Changes[0].String()
}

// proofCell is the proof of a finding in a table.
func proofCell(one *lint.Finding) string {
	if one.Proof == nil {
		return ""
	}
	cell := one.Proof.Outcome
	switch {
	case one.Proof.Why != "":
		cell += ": " + one.Proof.Why
	case len(one.Proof.Changes) > 0:
		cell += ": " + rerun.Change(one.Proof.Changes[0]).String()
	}
	if one.Proof.First != "" {
		cell += fmt.Sprintf(" (answers: %s, then %s)", one.Proof.First, one.Proof.Second)
	}
	return cli.PlainLine(cell)
}
