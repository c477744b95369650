package contest

import (
	"cmp"
	"fmt"
	"io"
	"time"

	pretty "github.com/jedib0t/go-pretty/v6/table"
)

// Table holds the results of a section: one row a subject, with its rival and
// its aim.
type Table struct {
	Title string
	// Times is the heading of the times; "per op" unless set.
	Times string
	Rows  []Row
}

// Row is one subject.
type Row struct {
	Subject string
	Time    string // per operation, or another quantity
	Allocs  string
	Against string // the ratio or difference to the rival
	Aim     string
	Met     Verdict
}

// Verdict says whether an aim was met.
type Verdict string

const (
	// NoAim is the verdict on a subject without an aim.
	NoAim Verdict = ""

	met     Verdict = "yes"
	missed  Verdict = "NO"
	unclear Verdict = "unclear" // the spread exceeds the distance to the aim
)

// VerdictOf returns the verdict on an aim.
func VerdictOf(ok bool) Verdict {
	if ok {
		return met
	}
	return missed
}

func (t *Table) print(w io.Writer) {
	out := pretty.NewWriter()
	out.SetOutputMirror(w)
	out.SetStyle(pretty.StyleLight)
	out.Style().Options.SeparateRows = false
	out.SetTitle(t.Title)
	out.AppendHeader(pretty.Row{"subject", cmp.Or(t.Times, "per op"), "allocs; other costs", "against", "aim", "met"})
	for _, r := range t.Rows {
		out.AppendRow(pretty.Row{r.Subject, r.Time, r.Allocs, r.Against, r.Aim, r.Met})
	}
	say(w, "\n")
	out.Render()
}

// NanosText writes a time for people.
func NanosText(n float64) string {
	switch d := time.Duration(n); {
	case d < 10*time.Microsecond:
		return fmt.Sprintf("%.0f ns", n)
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1f µs", n/1e3)
	}
	return fmt.Sprintf("%.1f ms", n/1e6)
}

// AllocsText writes a number of allocations for people.
func AllocsText(n float64) string { return fmt.Sprintf("%.1f", n) }
