package lintcmd

import (
	"fmt"

	"github.com/semel-dev/semel/internal/cli"
	"github.com/semel-dev/semel/internal/texts"
	"github.com/semel-dev/semel/lint"
	"github.com/semel-dev/semel/lint/internal/baseline"
)

// lintRow is a finding in a report.
type lintRow struct {
	*lint.Finding

	known bool // the baseline has it
}

// open reports whether it has to be looked at.
func (r *lintRow) open() bool { return r.Open() && !r.known }

// lintReport counts findings, and says which of them fail.
type lintReport struct {
	rows                   []lintRow
	counts                 map[lint.Verdict]int // without those that are answered or known
	answered, known, fails int
	differ                 int // of the safe ones
}

// report takes the findings and the baseline together.
func (f *lintFlags) report(all []lint.Finding, known *baseline.File) *lintReport {
	r := &lintReport{counts: map[lint.Verdict]int{}}
	bound := lint.NotSafe
	if f.failOn == "cannot-tell" {
		bound = lint.CannotTell
	}
	for i := range all {
		row := lintRow{Finding: &all[i]}
		row.known = row.Open() && known != nil && known.Knows(entryOf(known, row.Finding))
		switch {
		case row.Answer != "":
			r.answered++
		case row.known:
			r.known++
		default:
			r.counts[row.Verdict]++
		}
		if row.open() && row.Verdict >= bound {
			r.fails++
		}
		if row.Verdict <= lint.SafeButTime && row.Repeat != lint.RepeatSame && row.Repeat != lint.RepeatUnknown {
			r.differ++
		}
		r.rows = append(r.rows, row)
	}
	return r
}

// print shows the findings in the form that was asked for; its error is the exit code.
func (f *lintFlags) print(p *cli.Process, r *lintReport) error {
	out := f.listing(p)
	for i := range r.rows {
		row := &r.rows[i]
		if !row.open() && !f.all && row.Rule != lint.NotNeeded && !f.sarif {
			continue
		}
		if err := out.Write(row); err != nil {
			return err
		}
	}
	if err := out.End(); err != nil {
		return err
	}
	summary := fmt.Sprintf("%s: %d safe, %d safe apart from a timestamp, %d not safe, %d cannot tell, %d answered", texts.Count(len(r.rows), "statement"),
		r.counts[lint.Safe], r.counts[lint.SafeButTime], r.counts[lint.NotSafe], r.counts[lint.CannotTell], r.answered)
	if r.known > 0 {
		summary += fmt.Sprintf(", %d known", r.known)
	}
	fmt.Fprintln(p.Stderr, summary) //nolint:errcheck // a remark.
	if r.differ > 0 && !f.all && f.people() {
		fmt.Fprintf(p.Stderr, "Of the safe ones, %d answer otherwise the second time (see them with --all).\n", r.differ) //nolint:errcheck // a remark.
	}
	if r.fails > 0 {
		return cli.Found(fmt.Errorf("look at %s, or answer with a comment: -- semel:safe REASON", texts.Count(r.fails, "statement")))
	}
	return nil
}

// people reports whether the output is for people.
func (f *lintFlags) people() bool { return !f.json && !f.sarif && f.format == "" }

// listing prints findings in the form that was asked for.
func (f *lintFlags) listing(p *cli.Process) cli.Listing[lintRow] {
	switch {
	case f.json:
		return cli.JSONOf(p, lintView)
	case f.sarif:
		return sarifOf(p)
	case f.format == "github":
		return cli.Listing[lintRow]{Write: func(one *lintRow) error { return writeAnnotation(p.Stdout, one) }, End: func() error { return nil }}
	case cli.IsTerminal(p.Stdout):
		return newLintPage(p.Stdout).listing()
	}
	titles := []string{"PLACE", "VERDICT", "STATEMENT", "WHY"}
	if f.proof.dsn != "" {
		titles = append(titles, "PROOF")
	}
	return cli.SheetOf(cli.NewSheet(p, titles, ""), func(one *lintRow) []string {
		why := cli.PlainLine(advice(one.Finding))
		if more := one.again(); more != "" {
			why += "; " + more
		}
		cells := []string{cli.PlainLine(fmt.Sprintf("%s:%d", one.File, one.Line)), one.Verdict.String(), cli.PlainLine(cli.Shorten(one.Text, statementWidth)), why + " [" + one.Rule + "]"}
		if f.proof.dsn != "" {
			cells = append(cells, proofCell(one.Finding))
		}
		return cells
	})
}

const statementWidth = 60

// advice is the reason of a finding and what to do about it.
func advice(one *lint.Finding) string {
	if one.Guard == "" {
		return one.Why
	}
	return one.Why + "; " + one.Guard
}

// again says of a safe statement how a second run answers, where a caller has to know.
func (r *lintRow) again() string {
	if r.Verdict > lint.SafeButTime {
		return ""
	}
	switch r.Repeat {
	case lint.RepeatDiffers:
		return "the second run answers with another number of rows"
	case lint.RepeatRefused:
		text := "the second run is refused"
		if r.Refusal != "" {
			text += " (" + r.Refusal + ")"
		}
		return text
	case lint.RepeatSame, lint.RepeatUnknown:
	}
	return ""
}
