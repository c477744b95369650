package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/semel-dev/semel/check"
)

// TextOptions configures [Text]. Nil is complete.
type TextOptions struct {
	// Width is the longest line, in columns. Default and least: 80 and 40.
	Width int
	// Color marks verdicts by the colours of a terminal.
	Color bool
	// Verbose also lists passed and skipped checks, and failures that follow from another one.
	Verbose bool
}

const (
	defaultWidth, leastWidth = 80, 40
	// indent precedes the text about a check.
	indent = "       "
)

// Text writes the report for a person at a terminal. The words of services are shown without characters that could
// control the terminal.
func Text(w io.Writer, r *check.Report, o *TextOptions) error {
	if o == nil {
		o = &TextOptions{}
	}
	t := &terminal{color: o.Color, width: max(leastWidth, o.Width), advised: map[string]string{}}
	if o.Width <= 0 {
		t.width = defaultWidth
	}
	t.paragraph("", t.paint(text.Bold, visible(Headline(r))))
	cause := folded(r)
	switch {
	case cause.id == "":
	case o.Verbose || len(cause.rest) == 0:
		t.paragraph("", "Begin with "+cause.id+": much of the rest may follow from it.")
	default:
		t.folded = cause.rest
		t.paragraph("", fmt.Sprintf("Begin with %s, from which %s follow, marked by = below (--verbose shows them).", cause.id, count(len(cause.rest), "failure")))
	}
	t.line("")
	t.paragraph("", fmt.Sprintf("%s, profile %s, level %s", visible(r.Target), r.Profile, r.Level))
	if len(r.Counters) > 0 {
		t.paragraph("", "Effects are counted by "+visible(strings.Join(r.Counters, " and ")))
	}
	t.line("")
	for _, g := range groups(r) {
		t.group(&g, o.Verbose)
	}
	t.unjudged(r)
	t.end(r)
	_, err := io.WriteString(w, t.text.String())
	return err
}

// terminal collects lines of a width.
type terminal struct {
	text  strings.Builder
	color bool
	width int
	// advised maps an advice to the check under which it was written.
	advised map[string]string
	folded  []string // the ids of failures of which only the ids are shown
}

func (t *terminal) line(s string) { t.text.WriteString(strings.TrimRight(s, " ") + "\n") }

// paragraph wraps the text after a prefix, which becomes an indentation from the second line on.
func (t *terminal) paragraph(prefix, s string) {
	column := text.StringWidthWithoutEscSequences(prefix)
	for line := range strings.SplitSeq(text.WrapSoft(s, t.width-column), "\n") {
		t.line(prefix + line)
		prefix = strings.Repeat(" ", column)
	}
}

func (t *terminal) paint(c text.Color, s string) string {
	if !t.color {
		return s
	}
	return fmt.Sprintf("\x1b[%dm%s\x1b[0m", int(c), s)
}

func color(v check.Verdict) text.Color {
	switch v {
	case check.Fail:
		return text.FgRed
	case check.Incomplete, check.Known, check.Echo:
		return text.FgYellow
	case check.Pass:
		return text.FgGreen
	case check.Skipped:
	}
	return text.Faint
}

func (t *terminal) group(g *group, verbose bool) {
	name := g.Name
	t.line(t.paint(text.Bold, fmt.Sprintf("%-14s", name)) + " " + g.Summary())
	var rest []string
	for _, one := range g.Results {
		switch {
		case slices.Contains(t.folded, one.ID):
			rest = append(rest, one.ID)
		case one.Verdict == check.Fail:
			t.failure(one)
		case verbose:
			t.remark(one)
		}
	}
	if len(rest) > 0 {
		t.paragraph("  "+t.paint(color(check.Fail), "=")+"    ", strings.Join(rest, ", "))
	}
}

func (t *terminal) failure(one *check.Result) {
	t.paragraph("  "+t.paint(color(one.Verdict), "FAIL")+" ", one.ID+" "+string(one.Level)+": "+visible(one.Says))
	t.paragraph(indent+"seen: ", visible(one.Reason))
	if had, ok := t.advised[one.Advice]; ok {
		t.paragraph(indent+"try:  ", "as for "+had)
	} else if one.Advice != "" {
		t.advised[one.Advice] = one.ID
		t.paragraph(indent+"try:  ", visible(one.Advice))
	}
	t.paragraph(indent+"from: ", visible(one.Source))
}

// remark writes a result that needs no advice.
func (t *terminal) remark(one *check.Result) {
	words := map[check.Verdict]string{check.Pass: "ok  ", check.Skipped: "-   ", check.Incomplete: "?   ", check.Known: "fail", check.Echo: "echo"}
	t.paragraph("  "+t.paint(color(one.Verdict), words[one.Verdict])+" ", one.ID+" "+string(one.Level)+": "+visible(one.Says))
	if one.Reason != "" {
		t.paragraph(indent, visible(one.Reason))
	}
}

// unjudged lists what is missing for a verdict, once for all checks that lack it.
func (t *terminal) unjudged(r *check.Report) {
	for _, why := range reasons(r, check.Incomplete) {
		t.line("")
		t.paragraph("", t.paint(text.FgYellow, "Not judged")+": "+strings.Join(why.IDs(), ", "))
		t.paragraph("  ", visible(why.Name))
	}
	for _, why := range reasons(r, check.Echo) {
		t.line("")
		t.paragraph("", t.paint(text.FgYellow, "Echoes of "+why.Name)+": "+strings.Join(why.IDs(), ", "))
		t.paragraph("  ", "They saw what "+why.Name+" failed for, and nothing else.")
	}
	var known []string
	for _, why := range reasons(r, check.Known) {
		known = append(known, why.IDs()...)
	}
	if len(known) > 0 {
		t.line("")
		t.paragraph("", "Known to fail, by the baseline: "+strings.Join(known, ", "))
	}
	if len(r.Fixed) > 0 {
		t.line("")
		t.paragraph("", "The baseline expects these to fail, but they passed: "+strings.Join(r.Fixed, ", ")+". Remove them from it.")
	}
	for i, note := range r.Notes {
		if i == 0 {
			t.line("")
		}
		t.paragraph("Note: ", visible(note))
	}
}

func (t *terminal) end(r *check.Report) {
	t.line("")
	t.paragraph("", count(len(r.Results), "check")+": "+summary(r.Count)+".")
	for _, line := range effort(r) {
		t.paragraph("", line)
	}
}

// visible escapes characters that a terminal hides or obeys as \u and their number.
func visible(s string) string {
	var b strings.Builder
	for _, r := range s {
		if unicode.IsPrint(r) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
