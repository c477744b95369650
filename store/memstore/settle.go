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
