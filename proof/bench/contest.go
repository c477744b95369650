package main

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// contest is the same work done in several ways by Callers at a time.
type contest struct {
	Callers int
	Entries []entry
	// meter reads other costs than time; nil for none.
	Meter meter
}

// entry is one way. An entry with a rival is compared with it: the rival's time
// divided by its own, so that 1 is as fast and more is faster.
type entry struct {
	Name   string
	One    func(context.Context) error
	Rival  string        // the name of another entry
	Aim    float64       // at least so much of the rival's throughput; 0 for none
	Most   float64       // at most so many times the rival's time; 0 for none
	Within time.Duration // at most so long; 0 for none
}

// Run measures all entries in turn and puts them into the table.
func (c *contest) Run(ctx context.Context, s *settings, t *table) error {
	subjects := make([]subject, len(c.Entries))
	for i, e := range c.Entries {
		subjects[i] = subject{e.Name, func(ctx context.Context, n int) error { return spread(ctx, c.Callers, n, e.One) }}
	}
	samples, err := measure(ctx, s, subjects)
	if err != nil {
		return err
	}
	named := map[string]sample{}
	for i, e := range c.Entries {
		named[e.Name] = samples[i]
	}
	for i, e := range c.Entries {
		costs, err := c.costOf(ctx, subjects[i])
		if err != nil {
			return fmt.Errorf("%s: %w", e.Name, err)
		}
		one := row{Subject: e.Name, Time: nanosText(samples[i].Nanos), Allocs: allocsText(samples[i].Allocs) + costs}
		if e.Rival != "" {
			one.compare(e, samples[i], named[e.Rival])
		}
		t.Rows = append(t.Rows, one)
	}
	return nil
}

// compare fills in the ratio to the entry's rival and the verdict on its aim.
func (r *row) compare(e entry, own, rival sample) {
	ratio := ratioOf(rival.Rounds, own.Rounds)
	r.Against = fmt.Sprintf("%v × %s", ratio, e.Rival)
	switch {
	case e.Aim > 0:
		r.Aim, r.Met = fmt.Sprintf("≥ %.2f ×", e.Aim), ratio.AtLeast(e.Aim)
	case e.Most > 0:
		ratio = ratioOf(own.Rounds, rival.Rounds)
		r.Against = fmt.Sprintf("%v × the time of %s", ratio, e.Rival)
		r.Aim, r.Met = fmt.Sprintf("≤ %.1f ×", e.Most), ratio.AtMost(e.Most)
	case e.Within > 0:
		r.Aim, r.Met = fmt.Sprintf("≤ %v", e.Within), valueOf(own.Rounds).AtMost(float64(e.Within))
	}
}

// meter reads counters that only grow, such as bytes of WAL; their names come with them.
type meter func(ctx context.Context) ([]counter, error)

// counter is one reading of a meter.
type counter struct {
	Name  string
	Value float64
}

const meterOps = 1000

// costOf describes the costs of one operation other than time.
func (c *contest) costOf(ctx context.Context, sub subject) (string, error) {
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
