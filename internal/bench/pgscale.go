package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/semel-dev/semel"
)

const (
	aimExpiry       = 0.8
	expiringRecords = 1_000_000
)

//go:embed pgfill.sql
var pgFillSQL string

// benchPostgresScale compares a store of ten thousand live records with one of
// many, and one in which a million expire meanwhile with one in which nothing does.
func benchPostgresScale(ctx context.Context, s *settings) (*table, error) {
	t := &table{title: fmt.Sprintf("PostgreSQL: claim + settle, %d callers, group commit", manyCallers)}
	now := time.Now().UnixMilli()
	live, past := now+(24*time.Hour).Milliseconds(), now-time.Minute.Milliseconds()
	small, err := openFilled(ctx, s, smallRecords, live)
	if err != nil {
		return nil, err
	}
	defer small.close()
	large, err := openFilled(ctx, s, s.records, live)
	if err != nil {
		return nil, err
	}
	defer large.close()
	expiring, err := openFilled(ctx, s, expiringRecords, past)
	if err != nil {
		return nil, err
	}
	defer expiring.close()
	var swept atomic.Int64
	samples, err := measure(ctx, s, []subject{
		{"small", small.cycles().run},
		{"large", large.cycles().run},
		{"expiring", func(ctx context.Context, n int) error {
			sweeper, err := sweeping(expiring.store, &swept)
			if err != nil {
				return err
			}
			return errors.Join(expiring.cycles().run(ctx, n), sweeper.Close())
		}},
	})
	if err != nil {
		return nil, err
	}
	if left := int64(expiringRecords) - swept.Load(); left <= 0 {
		return nil, errors.New("all expired records were swept before the measurement ended: shorten the rounds")
	}
	larger, expiry := samples[1].nanos/samples[0].nanos, samples[0].nanos/samples[2].nanos
	count := strconv.Itoa
	t.rows = []row{
		{count(smallRecords) + " live records", nanosText(samples[0].nanos), allocsText(samples[0].allocs), "", "", noAim},
		{
			count(s.records) + " live records", nanosText(samples[1].nanos), allocsText(samples[1].allocs),
			fmt.Sprintf("%.2f × the time of the small one", larger), fmt.Sprintf("≤ %.1f ×", aimScale), verdictOf(larger <= aimScale),
		},
		{
			fmt.Sprintf("%d expired records, %d swept meanwhile", expiringRecords, swept.Load()), nanosText(samples[2].nanos), allocsText(samples[2].allocs),
			fmt.Sprintf("%.2f × the small one's throughput", expiry), fmt.Sprintf("≥ %.2f ×", aimExpiry), verdictOf(expiry >= aimExpiry),
		},
	}
	return t, nil
}

// openFilled opens a schema of its own with so many records in it.
func openFilled(ctx context.Context, s *settings, n int, expires int64) (*postgresBench, error) {
	b, err := openPostgresBench(ctx)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	for from := 0; from < n; from += fillStep {
		say(s.log, "\rfilling PostgreSQL: %d of %d records", from, n)
		// Every step has an expiry of its own, and so digests of its own.
		if _, err := b.pool.Exec(ctx, pgFillSQL, min(fillStep, n-from), expires+int64(from/fillStep)); err != nil {
			b.close()
			return nil, err
		}
	}
	if _, err := b.pool.Exec(ctx, "VACUUM (ANALYZE) record"); err != nil {
		b.close()
		return nil, err
	}
	say(s.log, "\rfilled PostgreSQL with %d records in %s\n", n, time.Since(began).Round(time.Second))
	return b, nil
}

// cycles claims and settles fresh keys through group commit.
func (b *postgresBench) cycles() *cycler {
	return newCycler(b.group.Store(), strconv.FormatInt(b.keys.serial.Add(1), 10)+"-", manyCallers)
}

// sweeping is a guard that does nothing but sweep, from now on.
func sweeping(store semel.Store, swept *atomic.Int64) (*semel.Guard, error) {
	return semel.New(store, &semel.Options{
		SweepEvery: time.Millisecond,
		Trace:      &semel.Trace{Swept: func(_ context.Context, i semel.SweepInfo) { swept.Add(int64(i.Removed)) }},
	})
}
