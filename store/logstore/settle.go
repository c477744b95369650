package logstore

import (
	"context"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/transition"
	"github.com/semel-dev/semel/store/internal/verb"
)

// changed is the result of one attempt to change a record.
type changed struct {
	held  *held
	batch *batch // what must be durable first; nil when nothing changed
	again again
}

// change repeats an attempt until it changed something, durably, or need not.
func (s *Store) change(ctx context.Context, act string, d *semel.Digest, attempt func() (changed, error)) error {
	if err := s.enter(ctx, act, verb.Writes); err != nil {
		return err
	}
	defer s.gate.Leave()
	for {
		c, err := attempt()
		switch {
		case err != nil:
			return err
		case c.again != nil:
			if err := c.again.wait(ctx); err != nil {
				return err
			}
		case c.batch != nil:
			if err := wait(ctx, c.batch); err != nil {
				return err
			}
			s.settled(d, c.held)
			return nil
		default:
			return nil
		}
	}
}

// Settle implements [semel.Store]. It answers when the settlement is on the disk (promise 7).
func (s *Store) Settle(ctx context.Context, d semel.Digest, f semel.Fence, to semel.Settlement) error {
	if err := verb.Settlement("logstore", &to, maxOutcomeBytes, ""); err != nil {
		return err
	}
	return s.change(ctx, "settle", &d, func() (changed, error) { return s.settle(&d, f, &to) })
}

// settle is one atomic attempt.
func (s *Store) settle(d *semel.Digest, fence semel.Fence, to *semel.Settlement) (changed, error) {
	sh := s.shard(d)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	now := s.clock.read()
	f, retry, err := s.find(sh, d, now)
	if err == nil && retry == nil && f.rec != nil {
		err = s.whole(&f)
	}
	if retry != nil || err != nil {
		return changed{again: retry}, err
	}
	answer := transition.Settle(f.rec.view(now), uint64(fence), transition.State(to.State), f.rec.same(to))
	e := entry{kind: kindRelease, clock: now}
	switch answer {
	case transition.Nothing, transition.Lost, transition.Settled:
		return changed{}, verb.Refusal(answer)
	case transition.Remove:
		e.digest, e.fence = *d, uint64(fence)
	case transition.Write:
		e.kind, e.record = kindRecord, *f.rec
		e.settle(to, now)
	}
	a, err := s.log.add(&e, forHolder)
	if err != nil || a.ready != nil {
		return changed{again: a.ready}, err
	}
	h := f.held
	h.batch = a.batch
	if answer == transition.Remove {
		h.gone = true
	} else {
		h.record, h.place = e.record, a.place
		h.outcome, h.note = nil, "" // they are in the log
	}
	return changed{held: h, batch: a.batch}, nil
}

// Renew implements [semel.Store].
func (s *Store) Renew(ctx context.Context, d semel.Digest, f semel.Fence, lease time.Duration) error {
	if err := verb.Lease("logstore", lease); err != nil {
		return err
	}
	return s.change(ctx, "renew", &d, func() (changed, error) { return s.renew(&d, f, lease) })
}

// renew is one atomic attempt.
func (s *Store) renew(d *semel.Digest, fence semel.Fence, lease time.Duration) (changed, error) {
	sh := s.shard(d)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	now := s.clock.read()
	f, retry, err := s.find(sh, d, now)
	if retry != nil || err != nil {
		return changed{again: retry}, err
	}
	if !transition.Renew(f.rec.view(now), uint64(fence)) {
		return changed{}, semel.ErrLost
	}
	h := f.held
	until := transition.Deadlines{Lapses: h.lease, Expires: h.expires}.RenewedAt(now, lease.Milliseconds())
	e := entry{kind: kindRenew, clock: now}
	e.digest, e.fence, e.lease, e.expires = *d, uint64(fence), until.Lapses, until.Expires
	a, err := s.log.add(&e, forHolder)
	if err != nil || a.ready != nil {
		return changed{again: a.ready}, err
	}
	h.lease, h.expires, h.batch = until.Lapses, until.Expires, a.batch
	return changed{held: h, batch: a.batch}, nil
}
