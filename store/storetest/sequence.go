package storetest

import (
	"errors"
	"fmt"
	"time"

	"pgregory.net/rapid"

	"github.com/semel-dev/semel"
)

func modelRules() []storeRule {
	return []storeRule{{
		Name: "model/sequences", Promise: 1, check: modelSequences, needs: needReliable,
		Says: "whatever the sequence of verbs, the store answers as the contract's model does",
	}}
}

// sequence drives a store and its model through the same random verbs.
type sequence struct {
	c       *check
	model   *model
	digests []semel.Digest
	fences  map[semel.Digest][]semel.Fence // every fence seen, oldest first
}

// modelSequences uses one instance for all sequences; each has its own intents.
func modelSequences(c *check) {
	started := c.wins("an absent intent must be won", c.params("the clock")).ReadAt
	elapsed := time.Duration(0)
	sequences := 0
	rapid.Check(c.TB, func(t *rapid.T) {
		sequences++
		s := &sequence{c: c, model: newModel(started.Add(elapsed)), fences: map[semel.Digest][]semel.Fence{}}
		for i := range 3 {
			s.digests = append(s.digests, c.params(fmt.Sprint("sequence ", sequences, " intent ", i)).Digest)
		}
		before := s.model.now
		defer func() { elapsed += s.model.now.Sub(before) }()
		t.Repeat(map[string]func(*rapid.T){
			"claim":   s.claim,
			"renew":   s.renew,
			"settle":  s.settle,
			"advance": s.advance,
			"sweep":   s.sweep,
			"":        s.compare,
		})
	})
}

// same fails, in the words of the rule, unless store and model agree.
func (s *sequence) same(t *rapid.T, verb string, got, want any) {
	t.Helper()
	diff := differ(want, got, func(r *semel.Record) {
		if s.c.Running {
			r.ClaimedAt, r.SettledAt, r.LeaseUntil, r.ExpiresAt, r.ReadAt = time.Time{}, time.Time{}, time.Time{}, time.Time{}, time.Time{}
		}
	})
	if diff != "" {
		t.Fatalf("%s: (-model +store)\n%s", s.c.broken(verb+" must answer as the contract says"), diff)
	}
}

func (s *sequence) sameErr(t *rapid.T, verb string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Fatalf("%s: got %v, want %v", s.c.broken(verb+" must answer as the contract says"), got, want)
	}
}

// fence draws one of the fences seen for the intent, most often the last.
func (s *sequence) fence(t *rapid.T, d semel.Digest) semel.Fence {
	seen := s.fences[d]
	if len(seen) == 0 {
		return semel.Fence(rapid.Uint64Range(0, 5).Draw(t, "made-up fence"))
	}
	back := max(0, rapid.IntRange(-4, 2).Draw(t, "fences back"))
	return seen[max(0, len(seen)-1-back)]
}

// span draws a time that is a whole number of units.
func (s *sequence) span(t *rapid.T, label string) time.Duration {
	return time.Duration(rapid.IntRange(1, 6).Draw(t, label)) * s.unit()
}

// unit is one millisecond, so that boundaries are hit; or, where the clock runs
// on its own, so long that none is hit (see advance).
func (s *sequence) unit() time.Duration {
	if s.c.Running {
		return time.Hour
	}
	return time.Millisecond
}

func (s *sequence) claim(t *rapid.T) {
	d := rapid.SampledFrom(s.digests).Draw(t, "intent")
	p := semel.ClaimParams{
		Digest:      d,
		Scope:       scope,
		Name:        rapid.SampledFrom([]string{"", "n", "name"}).Draw(t, "name"),
		Fingerprint: semel.FingerprintOf(rapid.SampledFrom([]string{"x", "y"}).Draw(t, "request")),
		Owner:       owner(rapid.SampledFrom([]string{"first", "second"}).Draw(t, "owner")),
		Lease:       s.span(t, "lease"),
		Retention:   s.span(t, "retention"),
	}
	if rapid.Bool().Draw(t, "take over") {
		p.TakeOver = s.fence(t, d)
	}
	rec, won, err := s.c.Store.Claim(s.c.ctx, p)
	s.sameErr(t, "Claim", err, nil)
	want, wantWon, fresh := s.model.claim(p, rec.Fence)
	t.Logf("claim: won %v, %s", won, describe(rec))
	s.same(t, "Claim", won, wantWon)
	if fresh {
		if rec.Fence <= s.model.last {
			t.Fatalf("%s: got %d, want > %d", s.c.broken("the fence must grow"), rec.Fence, s.model.last)
		}
		s.model.last = rec.Fence
		s.fences[d] = append(s.fences[d], rec.Fence)
	}
	s.same(t, "Claim", rec, want)
}

func (s *sequence) renew(t *rapid.T) {
	d := rapid.SampledFrom(s.digests).Draw(t, "intent")
	f, lease := s.fence(t, d), s.span(t, "lease")
	err := s.c.Store.Renew(s.c.ctx, d, f, lease)
	t.Logf("renew by fence %d: %v", f, err)
	s.sameErr(t, "Renew", err, s.model.renew(d, f, lease))
}

func (s *sequence) settle(t *rapid.T) {
	d := rapid.SampledFrom(s.digests).Draw(t, "intent")
	f := s.fence(t, d)
	to := semel.Settlement{
		State: rapid.SampledFrom([]semel.State{
			semel.StateCompleted, semel.StateReleased, semel.StateUnknown, semel.StateCancelled,
		}).Draw(t, "as"),
		Retention: s.span(t, "retention"),
	}
	switch to.State {
	case semel.StateCompleted:
		to.Outcome = []byte(rapid.SampledFrom([]string{"", "answer", "another"}).Draw(t, "outcome"))
		to.Kept = rapid.Bool().Draw(t, "kept")
	case semel.StateUnknown, semel.StateCancelled:
		to.Note = rapid.SampledFrom([]string{"", "note"}).Draw(t, "note")
	case semel.StateReleased, semel.StateAbsent, semel.StateClaimed, semel.StateFailed, semel.StateUnreadable:
	}
	err := s.c.Store.Settle(s.c.ctx, d, f, to)
	t.Logf("settle by fence %d as %v: %v", f, to.State, err)
	s.sameErr(t, "Settle", err, s.model.settle(d, f, to))
}

// advance moves both clocks. Where the store's runs on its own, every step ends
// a second after a whole third of a unit, so that time passing meanwhile crosses
// no boundary.
func (s *sequence) advance(t *rapid.T) {
	by := s.span(t, "advance")
	if s.c.Running {
		by = by/3 + time.Second
	}
	s.c.Advance(by)
	s.model.now = s.model.now.Add(by)
}

func (s *sequence) sweep(t *rapid.T) {
	sweeper, ok := semel.StoreAs[semel.Sweeper](s.c.Store)
	if !ok {
		t.Skip("the store is not a semel.Sweeper")
	}
	_, err := sweeper.Sweep(s.c.ctx, rapid.IntRange(1, 5).Draw(t, "limit"))
	s.sameErr(t, "Sweep", err, nil)
}

// compare looks every intent up after every step.
func (s *sequence) compare(t *rapid.T) {
	for _, d := range s.digests {
		rec, err := s.c.Store.Lookup(s.c.ctx, d)
		want := s.model.find(d)
		if want == nil {
			s.sameErr(t, "Lookup", err, semel.ErrNotFound)
			continue
		}
		s.sameErr(t, "Lookup", err, nil)
		s.same(t, "Lookup", rec, *want)
	}
}
