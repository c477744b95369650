package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/semel-dev/semel"
)

// contest is the same work done in several ways by manyCallers at a time.
type contest struct {
	entries []entry
}

// entry is one way. An entry with a rival is compared with it: the rival's time
// divided by its own, so that 1 is as fast and more is faster.
type entry struct {
	name  string
	one   func(context.Context) error
	rival string  // the name of another entry
	aim   float64 // at least so much of the rival's throughput; 0 for none
	most  float64 // at most so many times the rival's time; 0 for none
}

// run measures all entries in turn and puts them into the table.
func (c *contest) run(ctx context.Context, s *settings, t *table, meter meter) error {
	subjects := make([]subject, len(c.entries))
	for i, e := range c.entries {
		subjects[i] = subject{e.name, func(ctx context.Context, n int) error { return spread(ctx, manyCallers, n, e.one) }}
	}
	samples, err := measure(ctx, s, subjects)
	if err != nil {
		return err
	}
	times := map[string]float64{}
	for i, e := range c.entries {
		times[e.name] = samples[i].nanos
	}
	for i, e := range c.entries {
		costs, err := costOf(ctx, meter, subjects[i])
		if err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
		r := row{subject: e.name, time: nanosText(samples[i].nanos), allocs: allocsText(samples[i].allocs) + costs, met: noAim}
		if e.rival != "" {
			ratio := times[e.rival] / samples[i].nanos
			r.against = fmt.Sprintf("%.2f × %s", ratio, e.rival)
			switch {
			case e.aim > 0:
				r.aim, r.met = fmt.Sprintf("≥ %.2f ×", e.aim), verdictOf(ratio >= e.aim)
			case e.most > 0:
				r.against = fmt.Sprintf("%.2f × the time of %s", 1/ratio, e.rival)
				r.aim, r.met = fmt.Sprintf("≤ %.1f ×", e.most), verdictOf(1/ratio <= e.most)
			}
		}
		t.rows = append(t.rows, r)
	}
	return nil
}

// meter reads counters that only grow, such as bytes of WAL; their names come
// with them.
type meter func(ctx context.Context) ([]counter, error)

type counter struct {
	name  string
	value float64
}

const meterOps = 1000

// costOf describes the costs of one operation other than time.
func costOf(ctx context.Context, m meter, sub subject) (string, error) {
	if m == nil {
		return "", nil
	}
	before, err := m(ctx)
	if err != nil {
		return "", err
	}
	if err := sub.do(ctx, meterOps); err != nil {
		return "", err
	}
	after, err := m(ctx)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	for i, c := range after {
		fmt.Fprintf(&text, "; %.1f %s", (c.value-before[i].value)/meterOps, c.name)
	}
	return text.String(), nil
}

// keys mints fresh keys.
type keys struct {
	prefix string
	serial atomic.Int64
}

func (k *keys) next() semel.Key {
	return semel.Key{Scope: "tenant-7 POST /invoices", Name: k.prefix + strconv.FormatInt(k.serial.Add(1), 10)}
}

// invoice is the answer of the handlers; its JSON is about as long as a row.
type invoice struct {
	ID   int64  `json:"id"`
	Body string `json:"body"`
}
