package main

import (
	"cmp"
	"fmt"
	"io"
	"time"

	pretty "github.com/jedib0t/go-pretty/v6/table"
)

// table holds the results of a section: one row a subject, with its rival and its aim.
type table struct {
	Title string
	// Times is the heading of the times; "per op" unless set.
	Times string
	Rows  []row
}

// row is one subject.
type row struct {
	Subject string
	Time    string // per operation, or another quantity
	Allocs  string
	Against string // the ratio or difference to the rival
	Aim     string
	Met     verdict
}

// verdict says whether an aim was met; it is empty without one.
type verdict string

const (
	met     verdict = "yes"
	missed  verdict = "NO"
	unclear verdict = "unclear" // the spread exceeds the distance to the aim
)

// verdictOf returns the verdict on an aim.
func verdictOf(ok bool) verdict {
	if ok {
		return met
	}
	return missed
}

func (t *table) print(w io.Writer) {
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

// nanosText writes a time for people.
func nanosText(n float64) string {
	switch d := time.Duration(n); {
	case d < 10*time.Microsecond:
		return fmt.Sprintf("%.0f ns", n)
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1f µs", n/1e3)
	}
	return fmt.Sprintf("%.1f ms", n/1e6)
}

// allocsText writes a number of allocations for people.
func allocsText(n float64) string { return fmt.Sprintf("%.1f", n) }
