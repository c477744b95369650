package main

import (
	"fmt"
	"io"
	"time"

	pretty "github.com/jedib0t/go-pretty/v6/table"
)

// table holds the results of a section: one row a subject, with its rival and
// its aim.
type table struct {
	title string
	rows  []row
}

type row struct {
	subject string
	time    string // per operation, or another quantity
	allocs  string
	against string // the ratio or difference to the rival
	aim     string
	met     verdict
}

// verdict says whether an aim was met.
type verdict string

const (
	noAim  verdict = ""
	met    verdict = "yes"
	missed verdict = "NO"
)

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
	out.SetTitle(t.title)
	out.AppendHeader(pretty.Row{"subject", "per op", "allocs; other costs", "against", "aim", "met"})
	for _, r := range t.rows {
		out.AppendRow(pretty.Row{r.subject, r.time, r.allocs, r.against, r.aim, r.met})
	}
	say(w, "\n")
	out.Render()
}

func nanosText(n float64) string {
	switch d := time.Duration(n); {
	case d < 10*time.Microsecond:
		return fmt.Sprintf("%.0f ns", n)
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1f µs", n/1e3)
	}
	return fmt.Sprintf("%.1f ms", n/1e6)
}

func allocsText(n float64) string { return fmt.Sprintf("%.1f", n) }
