package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/storerace"
)

// disturber breaks connections while every n-th thing that callers do is under
// way, one at a time, so that they get on however slow the machine is.
type disturber struct {
	p     *Processes
	t     *testing.T
	place string
	every int64
	begun atomic.Int64
	mu    sync.Mutex // held while connections break
}

func (d *disturber) during(do func() error) error {
	if d.begun.Add(1)%d.every != 0 || !d.mu.TryLock() {
		return d.outlast(do())
	}
	defer d.mu.Unlock()
	end := make(chan func(), 1)
	go func() { end <- d.p.Disturb(d.t, d.place) }()
	err := do()
	(<-end)()
	return err
}

// outlast returns the error, if there is one, when the present disturbance is over: callers repeat a bounded number of times.
func (d *disturber) outlast(err error) error {
	if err != nil {
		d.mu.Lock()
		defer d.mu.Unlock()
	}
	return err
}

// disturbed is a store whose connections break while some verbs are under way.
type disturbed struct{ around }

func (d *disturber) before(s semel.Store) semel.Store {
	return &disturbed{around{s, func(_ context.Context, verb string, _ semel.Digest, ask func() error) error {
		if verb == "claim" || verb == "settle" {
			return d.during(ask)
		}
		return d.outlast(ask())
	}}}
}

// Close reports nothing: the store's connections are broken.
func (s *disturbed) Close() error { _ = s.inner.Close(); return nil }

// testDisturbed races stores whose verbs are repeated until their answer is
// definite.
func testDisturbed(t *testing.T, p *Processes) {
	t.Helper()
	place := p.Place(t)
	d := &disturber{p: p, t: t, place: place, every: 8}
	const maxRounds = 20
	for round, repeats := 0, 0; repeats == 0 && !t.Failed(); round++ { // a pool may have repeated what was disturbed
		report, err := storerace.Run(t.Context(), func() (semel.Store, error) {
			s, err := p.Open(t.Context(), place)
			return d.before(s), err
		}, &storerace.Options{Stores: 3, Keys: 6})
		repeats = report.Repeats
		t.Logf("%d wins, %d repeats", report.Wins, repeats)
		if err != nil || len(report.Violations) > 0 || round == maxRounds {
			t.Errorf("violations %q, error %v, after %d rounds; want none, and a verb that was repeated", report.Violations, err, round)
		}
	}
}

// testDisturbedWork lets callers over several stores ask for the same intents
// until each has an answer.
func testDisturbedWork(t *testing.T, p *Processes) {
	t.Helper()
	const stores, callers, intents = 3, 6, 8
	place := p.Place(t)
	d := &disturber{p: p, t: t, place: place, every: 4}
	guards, all := make([]*semel.Guard, stores), make([]semel.Store, stores)
	for i := range guards {
		all[i] = p.open(t, place)
		var err error
		if guards[i], err = semel.New(all[i], &semel.Options{SweepEvery: -1, StoreTimeout: 500 * time.Millisecond}); err != nil {
			t.Fatal(err)
		}
	}
	var mu sync.Mutex // guards answers
	answers, answered := map[string]string{}, map[string]bool{}
	race(callers, func(i int) {
		for n := range intents {
			name := fmt.Sprint("k", (n+i)%intents)
			answer := untilAnswered(t, func() (answer string, err error) {
				err = d.during(func() (err error) {
					answer, err = p.Do(t.Context(), guards[i%stores], name)
					return err
				})
				return answer, err
			})
			mu.Lock()
			if answers[name] == "" {
				answers[name], answered[name] = answer, true
			}
			if answers[name] != answer {
				t.Errorf("%s: got %q and %q", name, answers[name], answer)
			}
			mu.Unlock()
		}
	})
	t.Logf("%d attempts for %d answers", d.begun.Load(), callers*intents)
	for i := range guards {
		_ = errors.Join(guards[i].Close(), all[i].Close()) // their connections are broken
	}
	rows := p.Rows(t, place)
	s := p.open(t, place)
	wantRowsOfRecords(t, s, rows, answered)
	p.done(t, place, s)
}

// untilAnswered asks again for as long as a caller should: an error of the work
// itself is that of a connection that ended under it.
func untilAnswered(t *testing.T, ask func() (string, error)) string {
	t.Helper()
	for range 1000 {
		answer, err := ask()
		if err == nil {
			return answer
		}
		if e, ok := errors.AsType[*semel.Error](err); ok && !e.Retryable() {
			t.Errorf("got %v, want an answer or a reason to ask again", err)
			return ""
		}
	}
	t.Error("no answer came")
	return ""
}
