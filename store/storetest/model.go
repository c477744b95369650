package storetest

import (
	"bytes"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/transition"
)

// model is the contract as plainly as it can be written: the transition table of
// internal/transition, a map, a clock, and no concurrency. The fences are the
// store's own; the model says when there must be a new one. It compares stores
// whose verbs are SQL or Lua with the table that the guard and memstore run on
// and that proof/model explores.
type model struct {
	now     time.Time
	records map[semel.Digest]*semel.Record
	keeps   map[semel.Digest]time.Duration // each claim's retention
	last    semel.Fence
}

func newModel(now time.Time) *model {
	return &model{now: now, records: map[semel.Digest]*semel.Record{}, keeps: map[semel.Digest]time.Duration{}}
}

// find returns the record as it would be read now; nil when it is absent.
func (m *model) find(d semel.Digest) *semel.Record {
	rec := m.records[d]
	if rec == nil || transition.Reached(m.now.UnixMilli(), rec.ExpiresAt.UnixMilli()) {
		return nil
	}
	rec.ReadAt = m.now
	return rec
}

// claim returns whether p must win, and the record afterwards. The fence of a
// new claim is the one that the store gave.
func (m *model) claim(p semel.ClaimParams, given semel.Fence) (rec semel.Record, won, fresh bool) {
	old := m.find(p.Digest)
	attempt := 1
	sameOwner := old != nil && old.Owner == p.Owner && p.Owner != semel.Owner{}
	switch answer := transition.Claim(present(old), uint64(p.TakeOver), sameOwner); answer {
	case transition.NotWon, transition.Repeated:
		return *old, answer == transition.Repeated, false
	case transition.TakenOver:
		attempt = old.Attempt + 1
	case transition.Fresh:
	}
	m.records[p.Digest] = &semel.Record{
		Digest: p.Digest, Scope: p.Scope, Name: p.Name, Fingerprint: p.Fingerprint,
		State: semel.StateClaimed, Fence: given, Owner: p.Owner, Attempt: attempt,
		ClaimedAt: m.now, LeaseUntil: m.now.Add(p.Lease), ExpiresAt: m.now.Add(p.Lease).Add(p.Retention), ReadAt: m.now,
	}
	m.keeps[p.Digest] = p.Retention
	return *m.records[p.Digest], true, true
}

// present returns the record as the transition table sees it; nil is absent.
func present(rec *semel.Record) transition.Record {
	if rec == nil {
		return transition.Record{}
	}
	return transition.Record{State: transition.State(rec.State), Lapsed: rec.Lapsed(), Fence: uint64(rec.Fence)}
}

func (m *model) renew(d semel.Digest, f semel.Fence, lease time.Duration) error {
	rec := m.find(d)
	if !transition.Renew(present(rec), uint64(f)) {
		return semel.ErrLost
	}
	rec.LeaseUntil = m.now.Add(lease)
	rec.ExpiresAt = rec.LeaseUntil.Add(m.keeps[d])
	return nil
}

func (m *model) settle(d semel.Digest, f semel.Fence, to semel.Settlement) error {
	rec := m.find(d)
	same := rec != nil && rec.Kept == to.Kept && bytes.Equal(rec.Outcome, to.Outcome)
	switch transition.Settle(present(rec), uint64(f), transition.State(to.State), same) {
	case transition.Nothing:
		return nil
	case transition.Lost:
		return semel.ErrLost
	case transition.Settled:
		return semel.ErrSettled
	case transition.Remove:
		delete(m.records, d)
		return nil
	case transition.Write:
	}
	rec.State, rec.Outcome, rec.Kept, rec.Note = to.State, to.Outcome, to.Kept, to.Note
	rec.SettledAt, rec.ExpiresAt = m.now, m.now.Add(to.Retention)
	return nil
}
