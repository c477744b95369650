package logstore

import (
	"context"
	"fmt"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/transition"
	"github.com/semel-dev/semel/store/internal/verb"
)

// Claim implements [semel.Store]. It answers when the claim is on the disk (promise 3).
func (s *Store) Claim(ctx context.Context, p semel.ClaimParams) (semel.Record, bool, error) {
	if err := p.Validate(); err != nil {
		return semel.Record{}, false, err
	}
	if err := s.enter(ctx, "claim", verb.Writes); err != nil {
		return semel.Record{}, false, err
	}
	defer s.gate.Leave()
	for {
		c, err := s.claim(&p)
		if err == nil && c.again != nil {
			err = c.again.wait(ctx)
		} else if err == nil && c.batch != nil {
			err = wait(ctx, c.batch)
		}
		switch {
		case err != nil:
			return semel.Record{}, false, err
		case c.again == nil:
			return c.rec, c.won, nil
		}
	}
}

// claimed is the result of one attempt to claim.
type claimed struct {
	rec   semel.Record
	won   bool
	batch *batch // what must be durable first
	again again
}

// claim is one atomic attempt.
func (s *Store) claim(p *semel.ClaimParams) (c claimed, err error) {
	sh := s.shard(&p.Digest)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	now := s.clock.read()
	f, retry, err := s.find(sh, &p.Digest, now)
	if retry != nil || err != nil {
		return claimed{again: retry}, err
	}
	own := f.rec != nil && f.rec.owner == p.Owner && p.Owner != semel.Owner{}
	switch answer := transition.Claim(f.rec.view(now), uint64(p.TakeOver), own); answer {
	case transition.Fresh, transition.TakenOver:
		return s.win(sh, f.held, p, now)
	case transition.Repeated, transition.NotWon:
		c.won = answer == transition.Repeated
	}
	if err := s.whole(&f); err != nil {
		return claimed{}, err
	}
	c.rec = f.rec.public(now)
	return c, nil
}

// win claims what is absent (h is nil), or takes it over. The shard is locked.
func (s *Store) win(sh *shard, h *held, p *semel.ClaimParams, now int64) (claimed, error) {
	fresh := h == nil
	if fresh {
		if s.opened.Load() >= s.maxOpen {
			return claimed{}, fmt.Errorf("logstore: %w: %d records are claimed or unknown (raise Options.MaxOpen, or settle unknown ones)", semel.ErrFull, s.maxOpen)
		}
		h = &held{}
	}
	e := entry{kind: kindRecord, clock: now, record: h.record}
	e.claim(p, now)
	a, err := s.log.add(&e, forClaim)
	if err != nil || a.ready != nil {
		return claimed{again: a.ready}, err
	}
	if fresh {
		s.opened.Add(1)
		sh.held[p.Digest] = h
	}
	h.record, h.place, h.batch = e.record, a.place, a.batch
	return claimed{rec: h.public(now), won: true, batch: a.batch}, nil
}
