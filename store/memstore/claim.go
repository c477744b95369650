package memstore

import (
	"context"
	"errors"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/transition"
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
