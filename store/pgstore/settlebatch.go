package pgstore

import (
	"bytes"
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/internal/verb"
)

// maxBatchBytes bounds the outcomes of one statement; what is larger goes
// alone.
const maxBatchBytes = 4 << 20

// SettleBatch implements [semel.Batcher], in one statement. What was refused
// or settled before is looked at on its own afterwards, as [Store.Settle] does.
func (s *Store) SettleBatch(ctx context.Context, ss []semel.SettleParams) ([]error, error) {
	errs := make([]error, len(ss))
	values := make([]semel.Settlement, len(ss))
	digests := newOrder(len(ss))
	var alone []int
	size := 0
	for i := range ss {
		values[i] = ss[i].Settlement
		if errs[i] = normalize(&values[i]); errs[i] != nil {
			continue
		}
		if size += len(values[i].Outcome); size > maxBatchBytes {
			size -= len(values[i].Outcome)
			alone = append(alone, i)
			continue
		}
		digests.add(i, &ss[i].Digest)
	}
	digests.sort()
	err := s.write(ctx, "settle", func() error {
		done, err := s.settleMany(ctx, ss, values, digests)
		if err != nil {
			return err
		}
		for at, i := range digests.index {
			if !done[at] {
				errs[i] = s.settleAlone(ctx, &ss[i], &values[i])
			}
		}
		for _, i := range alone {
			errs[i] = s.settleAlone(ctx, &ss[i], &values[i])
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return errs, nil
}

func (s *Store) settleAlone(ctx context.Context, p *semel.SettleParams, v *semel.Settlement) error {
	return translate("settle", tries(ctx, func() error { return s.settle(ctx, p.Digest, p.Fence, v) }))
}

// settleMany asks once for all, and says in the order of the digests which
// were settled.
func (s *Store) settleMany(ctx context.Context, ss []semel.SettleParams, values []semel.Settlement, digests *order) ([]bool, error) {
	n := len(digests.index)
	fences, states, kept := make([]int64, n), make([]string, n), make([]bool, n)
	outcomes, notes, retentions := make([][]byte, n), make([]string, n), make([]int64, n)
	for at, i := range digests.index {
		v := &values[i]
		fences[at], states[at], kept[at] = verb.Column(ss[i].Fence), v.State.String(), v.Kept
		outcomes[at], notes[at], retentions[at] = v.Outcome, v.Note, v.Retention.Milliseconds()
	}
	done := make([]bool, n)
	if n == 0 {
		return done, nil
	}
	rows, err := s.pool.Query(ctx, s.sql["settle_batch"], digests.digests(), fences, states, kept, outcomes, notes, retentions)
	if err != nil {
		return nil, err
	}
	var digest []byte
	var fence int64
	_, err = pgx.ForEachRow(rows, []any{&digest, &fence, nil}, func() error {
		// A former holder and the present one may settle in one batch.
		at, ok := digests.find(digest)
		for ; ok && at < n && bytes.Equal(digests.of[digests.index[at]][:], digest); at++ {
			done[at] = done[at] || fences[at] == fence
		}
		return nil
	})
	return done, err
}
