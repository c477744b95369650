package console

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/semel-dev/semel/internal/cli/operatorview"
)

const (
	chartWidth, chartHeight = 720, 120
	// chartColumns bounds the columns of a chart.
	chartColumns = 144
	// chartTicks are the times below the axis.
	chartTicks = 5
)

// chart is drawn with a table of its numbers.
type chart struct {
	ID, Title, Text string // Text says in words what it shows
	Unit            string // of the numbers
	From, To        string
	Top, Half       string   // the values of the upper edge and of the middle
	Ticks           []string // the times below the axis
	Lines           []line
	Rows            []chartRow
}

// line is one of a chart's.
type line struct{ Name, Class, Path string }

// chartRow has the numbers of one column.
type chartRow struct {
	At    string
	Cells []string
}

// series are the values of a line; NaN where there are none.
type series struct {
	name, class string
	values      []float64
}

// column is the time between two readings.
type column struct{ from, to reading }

// columns splits a day into few enough parts of the same length; the last may be shorter.
func columns(day []reading) []column {
	step := 1
	for _, step = range []int{1, 2, 5, 10} {
		if len(day) <= step*chartColumns {
			break
		}
	}
	var all []column
	for i := 0; i+1 < len(day); i += step {
		all = append(all, column{day[i], day[min(i+step, len(day)-1)]})
	}
	return all
}

// rates draws what came to what, per minute.
func rates(all []column) chart {
	rate := func(of func(*tally) uint64) []float64 {
		var values []float64
		for i := range all {
			n := of(&all[i].to.tally) - of(&all[i].from.tally)
			values = append(values, float64(n)/max(1, all[i].to.at.Sub(all[i].from.at).Minutes()))
		}
		return values
	}
	return plot(all, chart{ID: "rates", Title: "Requests per minute", Unit: "per minute"}, 1, 10,
		series{"executed", "a", rate(func(t *tally) uint64 { return t.Executed })},
		series{"duplicates stopped", "b", rate(func(t *tally) uint64 { return t.Stopped })},
		series{"refused", "c", rate(func(t *tally) uint64 { return t.Refused })},
		series{"unknown", "d", rate(func(t *tally) uint64 { return t.Unknown })})
}

// latency draws a median and the slowest hundredth, in milliseconds.
func latency(all []column, id, title string, of func(*reading) Latency) chart {
	median, slow := make([]float64, len(all)), make([]float64, len(all))
	for i := range all {
		part := of(&all[i].to).since(of(&all[i].from))
		median[i], slow[i] = 1000*part.quantile(0.5), 1000*part.quantile(0.99)
	}
	return plot(all, chart{ID: id, Title: title, Unit: "ms"}, 0.1, 100, series{"median", "a", median}, series{"slowest 1 %", "d", slow})
}

// plot fills in lines and table. least is the smallest upper edge, and a number of the table is rounded to 1/precision.
func plot(all []column, c chart, least, precision float64, lines ...series) chart {
	top := least
	for _, s := range lines {
		for _, v := range s.values {
			if v > top { // not NaN
				top = v
			}
		}
	}
	top = roundUp(top)
	first, last := all[0].from.at, all[len(all)-1].to.at
	c.Top, c.Half, c.From, c.To = number(top, precision), number(top/2, 2*precision), at(first), at(last)
	ticks := chartTicks
	if last.Sub(first) < chartTicks*time.Minute { // they would show the same minute
		ticks = 2
	}
	for i := range ticks {
		c.Ticks = append(c.Ticks, at(first.Add(last.Sub(first)*time.Duration(i)/time.Duration(ticks-1))))
	}
	c.Text = fmt.Sprintf("From %s to %s.", c.From, c.To)
	for i := range all {
		c.Rows = append(c.Rows, chartRow{At: at(all[i].from.at)})
	}
	for _, s := range lines {
		c.Lines = append(c.Lines, line{s.name, s.class, path(s.values, top)})
		greatest := math.NaN()
		for i, v := range s.values {
			c.Rows[i].Cells = append(c.Rows[i].Cells, number(v, precision))
			if !(v <= greatest) && !math.IsNaN(v) {
				greatest = v
			}
		}
		if !math.IsNaN(greatest) {
			c.Text += fmt.Sprintf(" The greatest value of %s is %s %s.", s.name, number(greatest, precision), c.Unit)
		}
	}
	return c
}

func at(t time.Time) string { return operatorview.Time(t.Truncate(time.Second)) }

// number writes a value without the digits that do not count; "" if there is none.
func number(v, precision float64) string {
	if math.IsNaN(v) {
		return ""
	}
	return strconv.FormatFloat(math.Round(v*precision)/precision, 'f', -1, 64)
}

// roundUp returns 1, 2 or 5 times a power of ten.
func roundUp(v float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(v)))
	for _, n := range []float64{1, 2, 5} {
		if v <= n*unit*1.0001 {
			return n * unit
		}
	}
	return 10 * unit
}

// path draws values as steps from left to right, with a gap where there is none.
func path(values []float64, top float64) string {
	var d []byte
	width, height := float64(chartWidth)/float64(len(values)), -1
	x := func(i int) []byte { return strconv.AppendInt(nil, int64(math.Round(float64(i)*width)), 10) }
	end := func(i int) {
		if height >= 0 {
			d = append(append(d, 'H'), x(i)...)
		}
	}
	for i, v := range values {
		next := -1
		if !math.IsNaN(v) {
			next = int(math.Round(chartHeight * (1 - v/top)))
		}
		if next == height {
			continue
		}
		end(i)
		switch {
		case next < 0:
		case height < 0:
			d = fmt.Appendf(d, "M%s %d", x(i), next)
		default:
			d = fmt.Appendf(d, "V%d", next)
		}
		height = next
	}
	end(len(values))
	return string(d)
}
