package natsstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/transition"
	"github.com/semel-dev/semel/store/internal/verb"
)

// maxOvertakes bounds how often one verb begins again because others came first: each
// time, another verb on this intent has taken effect.
const maxOvertakes = 100

var errOvertaken = errors.New("other verbs on this intent came first, again and again")

// Claim implements [semel.Store].
func (s *Store) Claim(ctx context.Context, p semel.ClaimParams) (rec semel.Record, won bool, err error) {
	if err := p.Validate(); err != nil {
		return semel.Record{}, false, err
	}
	if err := s.enter(ctx, "claim", verb.Writes); err != nil {
		return semel.Record{}, false, err
	}
	defer s.gate.Leave()
	for range maxOvertakes {
		f, err := s.read(ctx, p.Digest)
		if err != nil {
			return semel.Record{}, false, s.translate("claim", err)
		}
		next := f.claim(&p)
		if next == nil {
			return *f.rec, verb.Repeated(f.rec, &p), nil
		}
		sequence, ok, err := s.write(ctx, &f, next)
		if err != nil {
			return semel.Record{}, false, s.translate("claim", err)
		}
		if ok {
			return *s.won(next, sequence), true, nil
		}
	}
	return semel.Record{}, false, s.translate("claim", errOvertaken)
}

// claim returns the record that a claim makes of what was found (promise 1); nil when it
// writes nothing. Its fence is the sequence that its message will get.
func (f *found) claim(p *semel.ClaimParams) *semel.Record {
	var next semel.Record
	switch verb.Claim(f.rec, p) {
	case transition.Fresh:
		next = verb.Won(p, 0, f.now, 1)
	case transition.TakenOver:
		next = verb.Won(p, 0, f.now, f.rec.Attempt+1)
	case transition.NotWon, transition.Repeated:
		return nil
	}
	return &next
}

// won gives the record of a claim the fence that it got.
func (s *Store) won(rec *semel.Record, sequence uint64) *semel.Record {
	rec.Fence = semel.Fence(sequence)
	s.held.keep(rec, sequence)
	return rec
}

// Renew implements [semel.Store].
func (s *Store) Renew(ctx context.Context, d semel.Digest, fence semel.Fence, lease time.Duration) error {
	if err := verb.Lease("natsstore", lease); err != nil {
		return err
	}
	return s.change(ctx, "renew", d, fence, func(f *found) (*semel.Record, error) {
		if !verb.Renewable(f.rec, fence) {
			return nil, semel.ErrLost
		}
		next := *f.rec
		until := transition.Deadlines{Lapses: next.LeaseUntil.UnixMilli(), Expires: next.ExpiresAt.UnixMilli()}.
			RenewedAt(f.now, lease.Milliseconds())
		next.LeaseUntil, next.ExpiresAt = verb.Time(until.Lapses), verb.Time(until.Expires)
		return &next, nil
	})
}

// Settle implements [semel.Store].
func (s *Store) Settle(ctx context.Context, d semel.Digest, fence semel.Fence, v semel.Settlement) error {
	if err := verb.Settlement("natsstore", &v, s.maxOutcome(), hintPayload); err != nil {
		return err
	}
	return s.change(ctx, "settle", d, fence, func(f *found) (*semel.Record, error) { return f.settle(fence, &v) })
}

// settle returns the record that a settlement makes of what was found; nil when it was
// made before.
func (f *found) settle(fence semel.Fence, v *semel.Settlement) (*semel.Record, error) {
	if done, err := verb.Settle(f.rec, fence, v); done || err != nil {
		return nil, err
	}
	next := *f.rec
	next.State, next.Outcome, next.Kept, next.Note = v.State, v.Outcome, v.Kept, v.Note
	next.SettledAt, next.ExpiresAt = verb.Time(f.now), verb.Time(transition.SettledAt(f.now, v.Retention.Milliseconds()))
	return &next, nil
}

// change replaces a record by what next makes of it: nothing where that is nil.
func (s *Store) change(
	ctx context.Context, act string, d semel.Digest, fence semel.Fence, next func(*found) (*semel.Record, error),
) error {
	if err := s.enter(ctx, act, verb.Writes); err != nil {
		return err
	}
	defer s.gate.Leave()
	for range maxOvertakes {
		f, err := s.readHeld(ctx, d, fence)
		if err != nil {
			return s.translate(act, err)
		}
		rec, err := next(&f)
		if rec == nil && f.remembered {
			continue
		}
		if rec == nil || err != nil {
			return err
		}
		sequence, ok, err := s.write(ctx, &f, rec)
		if err != nil {
			return s.translate(act, err)
		}
		if ok {
			s.held.keep(rec, sequence)
			return nil
		}
	}
	return s.translate(act, errOvertaken)
}

// Lookup implements [semel.Store].
func (s *Store) Lookup(ctx context.Context, d semel.Digest) (semel.Record, error) {
	if err := s.enter(ctx, "lookup", verb.Reads); err != nil {
		return semel.Record{}, err
	}
	defer s.gate.Leave()
	f, err := s.read(ctx, d)
	switch {
	case err != nil:
		return semel.Record{}, s.translate("lookup", err)
	case verb.Absent(f.rec):
		return semel.Record{}, semel.ErrNotFound
	}
	return *f.rec, nil
}

// enter begins a verb.
func (s *Store) enter(ctx context.Context, act string, writes bool) error {
	if err := s.gate.Enter(act, writes); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		s.gate.Leave()
		return fmt.Errorf("natsstore: %s: %w", act, err)
	}
	return nil
}
