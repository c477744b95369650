package memstore

import (
	"bytes"
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/transition"
	"github.com/semel-dev/semel/store/internal/verb"
)

const (
	// sweepPerClaim limits the steps of its shard's wheel that a fresh claim
	// takes: a record with a day of retention needs at most five in its life.
	sweepPerClaim = 6
	// fullRounds limits how often a verb in a full store makes room and
	// tries again: others may take what it freed.
	fullRounds = 4
)

// Claim implements [semel.Store]. A context that has ended is noticed before
// anything is done, and not later.
func (s *Store) Claim(ctx context.Context, p semel.ClaimParams) (semel.Record, bool, error) {
	if err := ctx.Err(); err != nil {
		return semel.Record{}, false, err
	}
	if err := p.Validate(); err != nil {
		return semel.Record{}, false, err
	}
	for round := 1; ; round++ {
		rec, won, err := s.claim(&p)
		if !errors.Is(err, semel.ErrFull) || round == fullRounds || !s.makeRoom(1, int64(len(p.Scope)+len(p.Name))) {
			return rec, won, err
		}
	}
}

// claim is one atomic attempt.
func (s *Store) claim(p *semel.ClaimParams) (semel.Record, bool, error) {
	sh, now, err := s.lock(p.Digest)
	defer sh.mu.Unlock()
	if err != nil {
		return semel.Record{}, false, err
	}
	e := sh.entries.find(&p.Digest)
	if e != nil && transition.Reached(now, e.expires) {
		s.remove(sh, e)
		e = nil
	}
	answer := transition.Claim(e.view(now), uint64(p.TakeOver), e != nil && e.owner == p.Owner && p.Owner != semel.Owner{})
	switch answer {
	case transition.Fresh:
		return s.claimFresh(sh, p, now)
	case transition.TakenOver:
		return s.takeOver(sh, e, p, now)
	case transition.Repeated, transition.NotWon:
	}
	return e.record(now), answer == transition.Repeated, nil
}

// claimFresh claims an absent record. The shard is locked.
func (s *Store) claimFresh(sh *shard, p *semel.ClaimParams, now int64) (semel.Record, bool, error) {
	s.sweepShard(sh, now, sweepPerClaim, sweepPerClaim)
	if err := s.reserve(1, int64(len(p.Scope)+len(p.Name))); err != nil {
		return semel.Record{}, false, err
	}
	e := &entry{}
	e.claim(p, s.nextFence(), now)
	sh.entries.add(e)
	sh.wheel.put(e, s.tick(e.expires))
	return e.record(now), true, nil
}

// takeOver claims an unknown or lapsed record. The shard is locked.
func (s *Store) takeOver(sh *shard, e *entry, p *semel.ClaimParams, now int64) (semel.Record, bool, error) {
	if err := s.reserve(0, int64(len(p.Scope)+len(p.Name))-e.bytes()); err != nil {
		return semel.Record{}, false, err
	}
	e.claim(p, s.nextFence(), now)
	s.expireAt(sh, e, e.expires)
	return e.record(now), true, nil
}

// nextFence is called with the shard locked, so that the fences of one key
// grow in the order of its claims.
func (s *Store) nextFence() semel.Fence { return semel.Fence(s.fence.Add(1)) }

// Settle implements [semel.Store]. A context that has ended is noticed before
// anything is done, and not later.
func (s *Store) Settle(ctx context.Context, d semel.Digest, f semel.Fence, to semel.Settlement) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := verb.Settlement("memstore", &to, math.MaxInt, ""); err != nil {
		return err
	}
	// The one copy, made before the lock; readers share it afterwards.
	to.Outcome = slices.Clip(bytes.Clone(to.Outcome))
	to.Note = strings.Clone(to.Note)
	for round := 1; ; round++ {
		err := s.settle(d, f, &to)
		if !errors.Is(err, semel.ErrFull) || round == fullRounds || !s.makeRoom(0, int64(len(to.Outcome))) {
			return err
		}
	}
}

// settle is one atomic attempt.
func (s *Store) settle(d semel.Digest, f semel.Fence, to *semel.Settlement) error {
	sh, now, err := s.lock(d)
	defer sh.mu.Unlock()
	if err != nil {
		return err
	}
	e := sh.find(d, now)
	same := e != nil && e.state == to.State && e.kept == to.Kept && bytes.Equal(e.outcome, to.Outcome)
	switch answer := transition.Settle(e.view(now), uint64(f), transition.State(to.State), same); answer {
	case transition.Remove:
		s.remove(sh, e)
		return nil
	case transition.Nothing, transition.Lost, transition.Settled:
		return verb.Refusal(answer)
	case transition.Write:
	}
	if err := s.reserve(0, int64(len(to.Outcome)-len(e.outcome))); err != nil {
		return err
	}
	e.state, e.outcome, e.kept, e.note = to.State, to.Outcome, to.Kept, to.Note
	e.settled = now
	s.expireAt(sh, e, transition.SettledAt(now, to.Retention.Milliseconds()))
	return nil
}

// Renew implements [semel.Store].
func (s *Store) Renew(ctx context.Context, d semel.Digest, f semel.Fence, lease time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := verb.Lease("memstore", lease); err != nil {
		return err
	}
	sh, now, err := s.lock(d)
	defer sh.mu.Unlock()
	if err != nil {
		return err
	}
	e := sh.find(d, now)
	if !transition.Renew(e.view(now), uint64(f)) {
		return semel.ErrLost
	}
	until := transition.Deadlines{Lapses: e.lease, Expires: e.expires}.RenewedAt(now, lease.Milliseconds())
	e.lease = until.Lapses
	s.expireAt(sh, e, until.Expires)
	return nil
}
