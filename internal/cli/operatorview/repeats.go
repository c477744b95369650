package operatorview

import (
	"cmp"
	"context"
	"slices"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/outcomelog"
)

// Repeats are the repetitions of a record in JSON. Its fields are a contract, like the ones of [Record].
type Repeats struct {
	Source string `json:"source"`          // memory: of one process; outcome-log: of all
	Since  string `json:"since,omitempty"` // when the memory began
	// Problem is why the outcome log could not be read.
	Problem string        `json:"problem,omitempty"`
	First   string        `json:"first,omitempty"` // empty where there are none
	Last    string        `json:"last,omitempty"`
	Total   int           `json:"total"`
	Counts  []RepeatCount `json:"counts"` // the most frequent outcome first
	Recent  []Repeat      `json:"recent"` // the last 20, the newest first
}

// RepeatCount counts the repetitions that came to one thing.
type RepeatCount struct {
	Outcome string `json:"outcome"`
	Count   int    `json:"count"`
}

// Repeat is one repetition.
type Repeat struct {
	At      string `json:"at"`
	Outcome string `json:"outcome"`
	Status  int    `json:"status,omitempty"` // of the answer
}

// The sources of repetitions.
const (
	fromMemory = "memory"
	fromLog    = "outcome-log"
)

// FromLog reports whether all processes are in it.
func (v *Repeats) FromLog() bool { return v.Source == fromLog }

// ViewRepeats returns the repetitions of a record as JSON shows them; nil of a nil memory, which meets none. Where the outcome log
// cannot be read, they are those of the memory.
func ViewRepeats(ctx context.Context, memory *outcomelog.Repeats, rec *semel.Record) *Repeats {
	if memory == nil {
		return nil
	}
	of, since, err := memory.All(ctx, rec.Digest.String())
	source, problem := fromMemory, ""
	if since.IsZero() {
		source = fromLog
	}
	if err != nil {
		problem = err.Error()
	}
	v := &Repeats{Source: source, Problem: problem, Since: Time(since), First: Time(of.First), Last: Time(of.Last), Counts: []RepeatCount{}, Recent: []Repeat{}}
	for outcome, n := range of.Counts {
		v.Counts = append(v.Counts, RepeatCount{string(outcome), n})
		v.Total += n
	}
	slices.SortFunc(v.Counts, func(a, b RepeatCount) int { return cmp.Or(b.Count-a.Count, cmp.Compare(a.Outcome, b.Outcome)) })
	for _, one := range of.Recent {
		v.Recent = append(v.Recent, Repeat{Time(one.At), string(one.Outcome), one.Status})
	}
	return v
}
