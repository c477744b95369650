package natsstore

import (
	"context"
	"sync"

	"github.com/semel-dev/semel"
)

// maxHeld bounds the claims that a store remembers.
const maxHeld = 4096

// held remembers the messages by which this store has claimed, so that their holders need
// not read them again. A message does not change, and the next one is stored only when it
// still is the last.
type held struct {
	mu     sync.Mutex // guards the fields below
	claims map[semel.Digest]heldClaim
}

type heldClaim struct {
	rec      semel.Record
	sequence uint64
}

// keep remembers a claim, in the place of any other one when there are too many.
func (h *held) keep(rec *semel.Record, sequence uint64) {
	if rec.State != semel.StateClaimed {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.claims == nil {
		h.claims = make(map[semel.Digest]heldClaim)
	}
	for d := range h.claims {
		if len(h.claims) < maxHeld {
			break
		}
		delete(h.claims, d)
	}
	h.claims[rec.Digest] = heldClaim{*rec, sequence}
}

// takeClaim returns the claim with this fence, once: what comes next replaces its message, or
// finds it replaced.
func (h *held) takeClaim(d semel.Digest, f semel.Fence) (c heldClaim, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if c, ok = h.claims[d]; c.rec.Fence != f {
		return c, false
	}
	delete(h.claims, d)
	return c, ok
}

// readHeld is read, for the holder of a claim. What it finds in memory may have been
// replaced: it is good for a message, which the server then refuses, and for no answer.
func (s *Store) readHeld(ctx context.Context, d semel.Digest, fence semel.Fence) (f found, err error) {
	c, ok := s.held.takeClaim(d, fence)
	if !ok {
		return s.read(ctx, d)
	}
	f.rec, f.sequence, f.remembered = &c.rec, c.sequence, true
	if f.now, err = s.clock.join().wait(ctx); err != nil {
		return f, err
	}
	f.date()
	return f, nil
}
