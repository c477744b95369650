package pgstore

import (
	"bytes"
	"context"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/internal/verb"
)

// Batch implements [semel.Batcher]: one statement for the claims and one for the
// settlements, in one round trip and one commit, and another statement when there is
// something to read. Each record that can be claimed again, that appeared or vanished
// meanwhile, or that was refused or settled before is then decided alone, by the
// statements of [Store.Claim] and [Store.Settle].
func (s *Store) Batch(
	ctx context.Context, claims []semel.ClaimParams, settles []semel.SettleParams,
) ([]semel.ClaimAnswer, []error, error) {
	if err := s.gate.Enter("batch", verb.Writes); err != nil {
		return nil, nil, err
	}
	defer s.gate.Leave()
	c, v := s.newClaims(claims), newSettlements(settles)
	if err := tries(ctx, func() error { return s.send(ctx, c, v) }); err != nil {
		return nil, nil, translate("batch", err)
	}
	// From here on each step fails alone: the others have their answers.
	s.finishClaims(ctx, c)
	s.finishSettlements(ctx, v)
	return c.answers, v.answers, nil
}

// send makes the claims and settlements of a batch, all or none of them.
//
// The claims go first. They may wait for a settlement of another batch, on the same
// digest, but no settlement waits for a claim; and among themselves both wait in
// one order. So no two batches wait for each other.
func (s *Store) send(ctx context.Context, c *claims, v *settlements) error {
	var b pgx.Batch
	s.queueClaims(&b, c)
	s.queueSettlements(&b, v)
	if b.Len() == 0 {
		return nil
	}
	return s.commit(ctx, func(conn *pgxpool.Conn) error { return conn.SendBatch(ctx, &b).Close() })
}

// order sorts the steps of a batch by their digests: every batch locks
// rows in that order, so that no two batches wait for each other.
type order struct {
	index []int // of the step
	of    []*semel.Digest
}

func newOrder(n int) *order {
	return &order{index: make([]int, 0, n), of: make([]*semel.Digest, n)}
}

func (o *order) add(i int, d *semel.Digest) {
	o.index = append(o.index, i)
	o.of[i] = d
}

func (o *order) sort() {
	slices.SortFunc(o.index, func(a, b int) int { return bytes.Compare(o.of[a][:], o.of[b][:]) })
}

func (o *order) digests() [][]byte {
	out := make([][]byte, len(o.index))
	for at, i := range o.index {
		out[at] = o.of[i][:]
	}
	return out
}

// find returns the place of a digest in the order.
func (o *order) find(digest []byte) (at int, ok bool) {
	return slices.BinarySearchFunc(o.index, digest, func(i int, d []byte) int { return bytes.Compare(o.of[i][:], d) })
}
