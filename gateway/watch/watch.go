// Package watch finds the oldest unknown outcome of a store, so that a gauge can show its age without asking the store.
//
// A pass every minute reads the newest records, and a bounded number of older ones from where the last pass ended. So every
// pass costs the same, however large the store is, and every round of passes finds the outcomes that no holder reported.
package watch

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/operator"
)

const (
	// Every is the time between two passes.
	Every = time.Minute
	// passTimeout bounds one pass.
	passTimeout = 30 * time.Second
	// pages bounds the pages of one pass, not counting the newest.
	pages = 4
	// maxKnown bounds the unknown outcomes that are remembered: the oldest.
	maxKnown = 1000
	// maxAsked bounds the lookups of remembered outcomes in one pass.
	maxAsked = 100
)

// Unknown remembers the oldest unknown outcomes. Make one with [New]. It is safe for concurrent use.
type Unknown struct {
	records *operator.Records
	store   semel.Store

	mu       sync.Mutex // guards the fields below
	known    map[semel.Digest]time.Time
	after    string    // where the next pass goes on; empty at the newest record
	begun    time.Time // of the round that is under way
	complete time.Time // when the last complete round began, or the watch
}

// New returns a watch over the guard's records, whose store must be a [semel.Lister].
func New(guard *semel.Guard) (*Unknown, error) {
	if _, ok := semel.StoreAs[semel.Lister](guard.Store()); !ok {
		return nil, errors.New("watch: this store cannot show its records")
	}
	records, err := operator.New(guard, nil)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	return &Unknown{records: records, store: guard.Store(), known: map[semel.Digest]time.Time{}, begun: now, complete: now}, nil
}

// Run makes a pass every minute until ctx ends.
func (u *Unknown) Run(ctx context.Context) {
	tick := time.NewTicker(Every)
	defer tick.Stop()
	for {
		u.Pass(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// Pass makes one pass. If the store does not answer, the remembered outcomes stay as they are.
func (u *Unknown) Pass(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()
	if u.confirm(ctx) != nil {
		return
	}
	if _, err := u.look(ctx, ""); err != nil {
		return
	}
	for range pages {
		next, err := u.look(ctx, u.place())
		if err != nil {
			if errors.Is(err, semel.ErrCursor) {
				u.goOn("")
			}
			return
		}
		if u.goOn(next); next == "" {
			return
		}
	}
}

func (u *Unknown) place() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.after
}

// goOn notes where the next page begins; "" ends a round.
func (u *Unknown) goOn(next string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.after = next; next == "" {
		u.complete, u.begun = u.begun, time.Now()
	}
}

// look adds the unknown outcomes of a page.
func (u *Unknown) look(ctx context.Context, after string) (next string, err error) {
	search := operator.Search{States: []semel.State{semel.StateUnknown}, After: after, Examine: semel.MaxListExamined, Bare: true}
	p, err := u.records.List(ctx, search, func(rec *semel.Record) error {
		u.add(rec)
		return nil
	})
	return p.Next, err
}

// add notes since when an outcome is unknown, on this host's clock: the store's clock measures the age.
func (u *Unknown) add(rec *semel.Record) {
	since := rec.SettledAt
	if rec.Lapsed() {
		since = rec.LeaseUntil
	}
	at := time.Now().Add(-rec.ReadAt.Sub(since))
	u.mu.Lock()
	defer u.mu.Unlock()
	u.known[rec.Digest] = at
	if len(u.known) > maxKnown {
		var youngest semel.Digest
		for d, t := range u.known {
			if first := u.known[youngest]; first.IsZero() || t.After(first) {
				youngest = d
			}
		}
		delete(u.known, youngest)
	}
}

// confirm forgets what has been settled meanwhile, from the oldest on, until one is still unknown.
func (u *Unknown) confirm(ctx context.Context) error {
	for range maxAsked {
		digest, ok := u.first()
		if !ok {
			return nil
		}
		rec, err := u.store.Lookup(ctx, digest)
		switch {
		case err != nil && !errors.Is(err, semel.ErrNotFound):
			return err
		case err == nil && operator.State(&rec) == semel.StateUnknown:
			u.add(&rec) // another attempt may have become unknown
			return nil
		}
		u.mu.Lock()
		delete(u.known, digest)
		u.mu.Unlock()
	}
	return nil
}

func (u *Unknown) first() (oldest semel.Digest, ok bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for d, t := range u.known {
		if !ok || t.Before(u.known[oldest]) {
			oldest, ok = d, true
		}
	}
	return oldest, ok
}

// Oldest returns the age of the oldest unknown outcome that is known, 0 for none, and how many there are, at most 1000.
func (u *Unknown) Oldest() (age time.Duration, count int) {
	oldest, ok := u.first()
	u.mu.Lock()
	defer u.mu.Unlock()
	if since, still := u.known[oldest]; ok && still {
		age = time.Since(since)
	}
	return age, len(u.known)
}

// ScanAge returns how long ago the last complete scan of the store began; before the first is complete, the watch.
func (u *Unknown) ScanAge() time.Duration {
	u.mu.Lock()
	defer u.mu.Unlock()
	return time.Since(u.complete)
}
