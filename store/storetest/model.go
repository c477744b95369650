package storetest

import (
	"bytes"
	"time"

	"github.com/semel-dev/semel"
)

// model is the contract as plainly as it can be written: a map, a clock, and
// no concurrency. The fences are the store's own; the model says when there
// must be a new one.
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
	if rec == nil || !m.now.Before(rec.ExpiresAt) {
		return nil
	}
	rec.ReadAt = m.now
	return rec
}

// claim says whether p must win, and what the record then is. The fence of a
// new claim is the one that the store gave.
func (m *model) claim(p semel.ClaimParams, given semel.Fence) (rec semel.Record, won, fresh bool) {
	old := m.find(p.Digest)
	attempt := 1
	if old != nil {
		open := old.Lapsed() || old.State == semel.StateUnknown
		if p.TakeOver == 0 || p.TakeOver != old.Fence || !open {
			live := old.State == semel.StateClaimed && !old.Lapsed()
			return *old, live && old.Owner == p.Owner && p.Owner != semel.Owner{}, false
		}
		attempt = old.Attempt + 1
	}
	m.records[p.Digest] = &semel.Record{
		Digest: p.Digest, Scope: p.Scope, Name: p.Name, Fingerprint: p.Fingerprint,
		State: semel.StateClaimed, Fence: given, Owner: p.Owner, Attempt: attempt,
		ClaimedAt: m.now, LeaseUntil: m.now.Add(p.Lease), ExpiresAt: m.now.Add(p.Lease + p.Retention), ReadAt: m.now,
	}
	m.keeps[p.Digest] = p.Retention
	return *m.records[p.Digest], true, true
}

func (m *model) renew(d semel.Digest, f semel.Fence, lease time.Duration) error {
	rec := m.find(d)
	if rec == nil || rec.Fence != f || rec.State != semel.StateClaimed {
		return semel.ErrLost
	}
	rec.LeaseUntil = m.now.Add(lease)
	rec.ExpiresAt = rec.LeaseUntil.Add(m.keeps[d])
	return nil
}

func (m *model) settle(d semel.Digest, f semel.Fence, to semel.Settlement) error {
	rec := m.find(d)
	switch {
	case rec == nil && to.State == semel.StateReleased:
		return nil
	case rec == nil || rec.Fence != f:
		return semel.ErrLost
	case rec.State == to.State && rec.Kept == to.Kept && bytes.Equal(rec.Outcome, to.Outcome):
		return nil
	case rec.State == semel.StateCompleted || rec.State == semel.StateCancelled:
		return semel.ErrSettled
	case to.State == semel.StateReleased:
		delete(m.records, d)
		return nil
	}
	rec.State, rec.Outcome, rec.Kept, rec.Note = to.State, to.Outcome, to.Kept, to.Note
	rec.SettledAt, rec.ExpiresAt = m.now, m.now.Add(to.Retention)
	return nil
}
