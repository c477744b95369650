package contest

import (
	"context"
	"fmt"
	"strings"
)

// Contest is the same work done in several ways by Callers at a time.
type Contest struct {
	Callers int
	Entries []Entry
	// Meter reads other costs than time; nil for none.
	Meter Meter
}

// Entry is one way. An entry with a rival is compared with it: the rival's time
// divided by its own, so that 1 is as fast and more is faster.
type Entry struct {
	Name  string
	One   func(context.Context) error
	Rival string  // the name of another entry
	Aim   float64 // at least so much of the rival's throughput; 0 for none
	Most  float64 // at most so many times the rival's time; 0 for none
}

// Run measures all entries in turn and puts them into the table.
func (c *Contest) Run(ctx context.Context, s *Settings, t *Table) error {
	subjects := make([]Subject, len(c.Entries))
	for i, e := range c.Entries {
		subjects[i] = Subject{e.Name, func(ctx context.Context, n int) error { return Spread(ctx, c.Callers, n, e.One) }}
	}
	samples, err := Measure(ctx, s, subjects)
	if err != nil {
		return err
	}
	named := map[string]Sample{}
	for i, e := range c.Entries {
		named[e.Name] = samples[i]
	}
	for i, e := range c.Entries {
		costs, err := c.costOf(ctx, subjects[i])
		if err != nil {
			return fmt.Errorf("%s: %w", e.Name, err)
		}
		r := Row{Subject: e.Name, Time: NanosText(samples[i].Nanos), Allocs: AllocsText(samples[i].Allocs) + costs}
		if e.Rival != "" {
			r.compare(e, samples[i], named[e.Rival])
		}
		t.Rows = append(t.Rows, r)
	}
	return nil
}

// compare fills in the ratio to the entry's rival and the verdict on its aim.
func (r *Row) compare(e Entry, own, rival Sample) {
	ratio := Ratio(rival.Rounds, own.Rounds)
	r.Against = fmt.Sprintf("%v × %s", ratio, e.Rival)
	switch {
	case e.Aim > 0:
		r.Aim, r.Met = fmt.Sprintf("≥ %.2f ×", e.Aim), ratio.AtLeast(e.Aim)
	case e.Most > 0:
		ratio = Ratio(own.Rounds, rival.Rounds)
		r.Against = fmt.Sprintf("%v × the time of %s", ratio, e.Rival)
		r.Aim, r.Met = fmt.Sprintf("≤ %.1f ×", e.Most), ratio.AtMost(e.Most)
	}
}

// Meter reads counters that only grow, such as bytes of WAL; their names come
// with them.
type Meter func(ctx context.Context) ([]Counter, error)

// Counter is one reading of a meter.
type Counter struct {
	Name  string
	Value float64
}

const meterOps = 1000

// costOf describes the costs of one operation other than time.
func (c *Contest) costOf(ctx context.Context, sub Subject) (string, error) {
	if c.Meter == nil {
		return "", nil
	}
	before, err := c.Meter(ctx)
	if err != nil {
		return "", err
	}
	if err := sub.Do(ctx, meterOps); err != nil {
		return "", err
	}
	after, err := c.Meter(ctx)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	for i, one := range after {
		fmt.Fprintf(&text, "; %.1f %s", (one.Value-before[i].Value)/meterOps, one.Name)
	}
	return text.String(), nil
}
