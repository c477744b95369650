package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/jedib0t/go-pretty/v6/table"
)

const (
	// grown is by how much the last fifth of a run may exceed the second of the
	// last three, in which nothing was restarted any more.
	grown = 1.25
	few   = 8 // samples, of which a median can be taken
)

// mostGiveUp bounds how often callers got no definite answer: the end of the
// measuring and that of the run cut each of them off, some of them twice.
const mostGiveUp = 4 * callers

// slack returns how much a column may differ whatever its size: a garbage
// collection later, a connection more, a segment that a server prepares.
func slack(column int) float64 {
	return [columns]float64{memory: 16, goroutines: 64, descriptors: 32, files: 64}[column]
}

// report holds what a run showed.
type report struct {
	series  *series
	early   [columns]float64
	late    [columns]float64
	effects int
	twice   []string
	unlike  []string
	gaveUp  int64
	unknown int64
	comings int64 // again, after no definite answer
	left    int64 // callers that vanished
}

func judge(s *series, c *crowd, a *app) *report {
	r := &report{series: s, unlike: c.unlike, gaveUp: c.gaveUp.Load(), unknown: c.unknown.Load(), comings: c.refused.Load(), left: c.vanished.Load()}
	r.effects, r.twice = a.found()
	n := len(s.all)
	for i := range columns {
		r.early[i] = median(s.all[n*2/5:n*3/5], i)
		r.late[i] = median(s.all[n*4/5:], i)
	}
	return r
}

// median of a column, without the samples in which a gateway was down. It is
// negative where hardly any is left.
func median(of []sample, column int) float64 {
	var values []float64
	for _, s := range of {
		if s.values[column] >= 0 {
			values = append(values, s.values[column])
		}
	}
	if len(values) < few {
		return -1
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// flat reports whether a column has not grown. A column that was hardly ever
// seen proves nothing.
func (r *report) flat(column int) bool {
	early, late := r.early[column], r.late[column]
	return early >= 0 && late >= 0 && late <= max(early*grown, early+slack(column))
}

func (r *report) holds() bool {
	ok := len(r.twice) == 0 && len(r.unlike) == 0 && r.effects > 0 && r.gaveUp <= mostGiveUp
	for i := range columns {
		ok = ok && r.flat(i)
	}
	return ok
}

func (r *report) print(out io.Writer) {
	last := r.series.all[len(r.series.all)-1]
	_, _ = fmt.Fprintf(out, "%s, %.0f requests a second: %d requests in %v, %d effects, %d unknown, %d callers vanished, %d attempts without a definite answer, %d gave up\n",
		r.series.store, r.series.rate, last.served, last.at.Round(1e9), r.effects, r.unknown, r.left, r.comings, r.gaveUp)
	t := table.NewWriter()
	t.SetOutputMirror(out)
	t.AppendHeader(table.Row{"", "third fifth", "last fifth", ""})
	for i, title := range titles() {
		verdict := "flat"
		if !r.flat(i) {
			verdict = "GROWS"
		}
		t.AppendRow(table.Row{title, fmt.Sprintf("%.0f", r.early[i]), fmt.Sprintf("%.0f", r.late[i]), verdict})
	}
	t.Render()
	for _, intent := range r.twice {
		_, _ = fmt.Fprintf(out, "TOOK EFFECT TWICE: %s\n", intent)
	}
	for _, answers := range r.unlike {
		_, _ = fmt.Fprintf(out, "DIFFERENT ANSWERS: %s\n", answers)
	}
	if r.gaveUp > mostGiveUp {
		_, _ = fmt.Fprintf(out, "NO ANSWER: %d callers gave up, and at most %d are cut off by the end\n", r.gaveUp, mostGiveUp)
	}
	if r.holds() {
		_, _ = fmt.Fprintln(out, "every intent took effect at most once, and nothing grows")
	}
}
