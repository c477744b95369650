package mysqlstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/semel-dev/semel"
)

// packetRoom is what a statement and a row have beside the outcome, at most.
const packetRoom = 16 << 10

// Settle implements [semel.Store]. It takes one round trip.
func (s *Store) Settle(ctx context.Context, d semel.Digest, f semel.Fence, v semel.Settlement) error {
	if err := s.checkSettlement(&v); err != nil {
		return err
	}
	if err := s.beginChange(); err != nil {
		return err
	}
	defer s.end()
	return s.settle(ctx, d, f, &v)
}

// checkSettlement refuses what cannot be stored.
func (s *Store) checkSettlement(v *semel.Settlement) error {
	if err := v.Validate(); err != nil {
		return err
	}
	if most := s.server.packetBytes - packetRoom; len(v.Outcome) > most && v.State != semel.StateReleased {
		return fmt.Errorf("%w: mysqlstore: the outcome has %d bytes, at most %d are stored (raise max_allowed_packet, or settle without keeping it)",
			semel.ErrFull, len(v.Outcome), most)
	}
	return nil
}

// settle tries what is usual first: the claim is there, and not settled.
func (s *Store) settle(ctx context.Context, d semel.Digest, f semel.Fence, v *semel.Settlement) error {
	from := semel.StateClaimed
	for range rounds {
		changed, err := s.settleFrom(ctx, d, f, v, from)
		if err != nil {
			return translate("settle", err)
		}
		if changed > 0 {
			return nil
		}
		rec, err := s.find(ctx, d)
		if err != nil && !errors.Is(err, semel.ErrNotFound) {
			return err
		}
		if done, err := settled(&rec, err == nil && !absent(&rec), f, v); done || err != nil {
			return err
		}
		from = rec.State
	}
	return fmt.Errorf("mysqlstore: settle: %w again and again", errChanged)
}

func (s *Store) settleFrom(ctx context.Context, d semel.Digest, f semel.Fence, v *semel.Settlement, from semel.State) (changed int64, err error) {
	if v.State == semel.StateReleased {
		return s.change(ctx, "release", 1, graceMS, graceMS, uint64(f), uint64(f), d[:])
	}
	retention := v.Retention.Milliseconds()
	return s.change(ctx, "settle", 1, v.State.String(), kept(v), outcome(v), []byte(v.Note), retention, retention,
		uint64(f), d[:], from.String())
}

func kept(v *semel.Settlement) bool { return v.Kept && v.State == semel.StateCompleted }

// outcome is the column: nothing and empty are the same.
func outcome(v *semel.Settlement) []byte {
	if len(v.Outcome) == 0 {
		return nil
	}
	return v.Outcome
}

// settled compares a settlement with the record it is meant for: done when it
// was made before, an error when it cannot be made.
func settled(rec *semel.Record, present bool, f semel.Fence, v *semel.Settlement) (done bool, err error) {
	same := rec.State == v.State && rec.Kept == kept(v) && bytes.Equal(rec.Outcome, v.Outcome)
	switch {
	case !present && v.State == semel.StateReleased:
		return true, nil
	case !present, rec.Fence != f:
		return false, semel.ErrLost
	case same:
		return true, nil
	case rec.State == semel.StateCompleted || rec.State == semel.StateCancelled:
		return false, semel.ErrSettled
	}
	return false, nil
}
