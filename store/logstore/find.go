package logstore

import (
	"context"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/transition"
)

// found holds the durable record that a verb found, if any.
type found struct {
	held *held   // when it is in memory
	rec  *record // nil for none; with its outcome and note when whole
}

// again says that a verb changed nothing and begins anew when the channel is closed.
type again <-chan struct{}

// find returns what is at the digest. When that is not durable yet, it returns a channel to wait for: no caller learns of a
// record that a loss of power could take back. The shard is locked.
func (s *Store) find(sh *shard, d *semel.Digest, now int64) (found, again, error) {
	if h := sh.held[*d]; h != nil {
		if !h.batch.durable() {
			return found{}, h.batch.done, nil
		}
		if h.batch.err != nil {
			return found{}, nil, h.batch.err
		}
		if !s.retire(sh, h, now) {
			return found{held: h, rec: &h.record}, nil, nil
		}
	}
	rec, err := s.findFinal(sh, d, now)
	return found{rec: rec}, nil, err
}

// retire takes a record out of memory when it is there no more, or durably final, and reports whether it did.
func (s *Store) retire(sh *shard, h *held, now int64) bool {
	switch {
	case !h.batch.durable() || h.batch.err != nil:
		return false
	case h.gone, transition.Reached(now, h.expires):
	case h.final():
		sh.table.put(digestPath(&h.digest), h.place)
	default:
		return false
	}
	delete(sh.held, h.digest)
	s.opened.Add(-1)
	return true
}

// settled is retire for a record that its caller just settled.
func (s *Store) settled(d *semel.Digest, h *held) {
	sh := s.shard(d)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.held[*d] == h {
		s.retire(sh, h, s.clock.read())
	}
}

// findFinal looks the digest up in the table, and reads the record: the hash alone proves nothing.
func (s *Store) findFinal(sh *shard, d *semel.Digest, now int64) (rec *record, err error) {
	sh.table.find(digestPath(d), func(p place) bool {
		e, failed := s.log.read(p)
		if failed != nil {
			err = failed
			return true
		}
		if e.digest != *d || transition.Reached(now, e.expires) {
			return false
		}
		rec = &e.record
		return true
	})
	return rec, err
}

// whole reads the outcome and note of a record that has them only in the log.
func (s *Store) whole(f *found) error {
	if f.held == nil || f.rec.state == semel.StateClaimed {
		return nil
	}
	e, err := s.log.read(f.held.place)
	if err != nil {
		return err
	}
	rec := f.held.record
	rec.outcome, rec.note = e.outcome, e.note
	f.rec = &rec
	return nil
}

func (s *Store) shard(d *semel.Digest) *shard { return &s.shards[shardOf(hash(d))] }

// Lookup implements [semel.Store].
func (s *Store) Lookup(ctx context.Context, d semel.Digest) (semel.Record, error) {
	if err := s.enter(ctx, "look up", false); err != nil {
		return semel.Record{}, err
	}
	defer s.gate.Leave()
	for {
		rec, retry, err := s.lookup(&d)
		if retry == nil {
			return rec, err
		}
		if err := retry.wait(ctx); err != nil {
			return semel.Record{}, err
		}
	}
}

func (s *Store) lookup(d *semel.Digest) (semel.Record, again, error) {
	sh := s.shard(d)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	now := s.clock.read()
	f, retry, err := s.find(sh, d, now)
	if retry != nil || err != nil {
		return semel.Record{}, retry, err
	}
	if f.rec == nil {
		return semel.Record{}, nil, semel.ErrNotFound
	}
	if err := s.whole(&f); err != nil {
		return semel.Record{}, nil, err
	}
	return f.rec.public(now), nil, nil
}

func (a again) wait(ctx context.Context) error {
	select {
	case <-a:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
