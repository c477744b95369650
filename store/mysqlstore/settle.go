package mysqlstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/internal/verb"
)

// packetRoom bounds what a statement and a row have in addition to the outcome.
const packetRoom = 16 << 10

// Settle implements [semel.Store]. It takes one round trip.
func (s *Store) Settle(ctx context.Context, d semel.Digest, f semel.Fence, v semel.Settlement) error {
	if err := s.checkSettlement(&v); err != nil {
		return err
	}
	if err := s.gate.Enter("settle", verb.Writes); err != nil {
		return err
	}
	defer s.gate.Leave()
	return s.settle(ctx, d, f, &v)
}

// checkSettlement brings v into the form that is stored, or refuses it.
func (s *Store) checkSettlement(v *semel.Settlement) error {
	return verb.Settlement("mysqlstore", v, s.server.packetBytes-packetRoom, " (raise max_allowed_packet, or settle without keeping it)")
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
		rec, err := s.find(ctx, d) // absent where there is none
		if err != nil && !errors.Is(err, semel.ErrNotFound) {
			return err
		}
		if done, err := verb.Settle(&rec, f, v); done || err != nil {
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
	return s.change(ctx, "settle", 1, v.State.String(), v.Kept, v.Outcome, []byte(v.Note), retention, retention,
		uint64(f), d[:], from.String())
}
