package console

import (
	"fmt"
	"math"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/cli/operatorview"
	"github.com/semel-dev/semel/operator"
)

// timeline draws the last attempt as a bar, and repetitions as ticks. The lists below it have the same in words.
type timeline struct {
	From, To string
	X, Width int    // of the bar
	Tone     string // the state that the attempt led to
	Ticks    []tick
}

// tick is a repetition.
type tick struct {
	X    int
	Tone string
}

// drawTime places the attempt and its repetitions between the claim and the last of them; nil where clocks that jumped leave no line.
func drawTime(rec *semel.Record, repeats *operatorview.Repeats) *timeline {
	from, end := rec.ClaimedAt, rec.SettledAt
	if rec.State == semel.StateClaimed {
		end = rec.ReadAt
		if rec.Lapsed() {
			end = rec.LeaseUntil
		}
	}
	to, at := end, []time.Time{}
	if repeats != nil {
		for i := range repeats.Recent {
			when, err := time.Parse(time.RFC3339, repeats.Recent[i].At)
			if err != nil {
				return nil
			}
			at = append(at, when)
			if when.After(to) {
				to = when
			}
			if when.Before(from) {
				from = when
			}
		}
	}
	whole := to.Sub(from)
	if rec.ClaimedAt.IsZero() || end.Before(rec.ClaimedAt) || whole <= 0 {
		return nil
	}
	x := func(t time.Time) int { return int(math.Round(chartWidth * float64(t.Sub(from)) / float64(whole))) }
	line := &timeline{From: operatorview.Time(from), To: operatorview.Time(to), X: x(rec.ClaimedAt), Tone: operator.State(rec).String()}
	line.Width = max(3, x(end)-line.X)
	for i, when := range at {
		line.Ticks = append(line.Ticks, tick{x(when), repeats.Recent[i].Outcome})
	}
	return line
}

// Text describes the drawing to people who do not see it.
func (t *timeline) Text() string {
	return fmt.Sprintf("The last attempt, which led to %s, and %d of its repetitions, from %s to %s.", t.Tone, len(t.Ticks), t.From, t.To)
}
