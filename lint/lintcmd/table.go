package lintcmd

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/semel-dev/semel/internal/cli"
	"github.com/semel-dev/semel/lint"
)

// lintPage shows findings to people, file by file, within 80 columns.
type lintPage struct {
	w    *bufio.Writer
	file string
}

const (
	pageWidth   = 80
	marginWidth = 20 // of the line and the verdict
)

func newLintPage(w io.Writer) *lintPage { return &lintPage{w: bufio.NewWriter(w)} }

func (l *lintPage) listing() cli.Listing[lintRow] {
	return cli.Listing[lintRow]{Write: l.row, End: func() error {
		if l.file == "" {
			fmt.Fprintln(l.w, "Every statement is safe to run twice, known or answered.") //nolint:errcheck // Flush returns it.
		}
		fmt.Fprintln(l.w) //nolint:errcheck // Flush returns it.
		return l.w.Flush()
	}}
}

func (l *lintPage) row(one *lintRow) error {
	if one.File != l.file {
		if l.file != "" {
			fmt.Fprintln(l.w) //nolint:errcheck // Flush returns it.
		}
		l.file = one.File
		fmt.Fprintln(l.w, cli.PlainLine(one.File)) //nolint:errcheck // Flush returns it.
	}
	verdict := one.Verdict.String()
	switch {
	case one.Verdict == lint.SafeButTime:
		verdict = "safe (time)"
	case one.Answer != "":
		verdict = "answered"
	case one.known:
		verdict = "known"
	}
	statement := cli.Shorten(cli.PlainLine(one.Text), pageWidth-marginWidth)
	fmt.Fprintf(l.w, "%6d  %-11s %s\n", one.Line, verdict, statement) //nolint:errcheck // Flush returns it.
	l.paragraph("", cli.PlainLine(one.Why)+" ["+one.Rule+"]")
	if more := one.again(); more != "" {
		l.paragraph("", more)
	}
	if one.Answer != "" {
		l.paragraph("", "answered: "+cli.PlainLine(one.Answer))
	}
	if proof := proofCell(one.Finding); proof != "" {
		l.paragraph("", "run twice: "+proof)
	}
	if one.Guard != "" && one.open() {
		l.paragraph("→ ", cli.PlainLine(one.Guard))
	}
	return nil
}

// paragraph writes a text below the statement.
func (l *lintPage) paragraph(mark, words string) {
	indent := strings.Repeat(" ", marginWidth)
	for i, line := range wrap(words, pageWidth-marginWidth-len([]rune(mark))) {
		lead := mark
		if i > 0 {
			lead = strings.Repeat(" ", len([]rune(mark)))
		}
		fmt.Fprintln(l.w, indent+lead+line) //nolint:errcheck // Flush returns it.
	}
}

// wrap cuts a text into lines of at most width columns.
func wrap(words string, width int) []string {
	lines := strings.Split(text.WrapSoft(words, width), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines
}
