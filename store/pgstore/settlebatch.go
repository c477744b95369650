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

// settlements are those of a batch.
type settlements struct {
	*order

	params  []semel.SettleParams
	values  []semel.Settlement // in the form in which the database keeps them
	answers []error
	alone   []int  // too large to travel with others
	done    []bool // in the order
}

func newSettlements(ss []semel.SettleParams) *settlements {
	n := len(ss)
	v := &settlements{order: newOrder(n), params: ss, values: make([]semel.Settlement, n), answers: make([]error, n)}
	size := 0
	for i := range ss {
		v.values[i] = ss[i].Settlement
		if v.answers[i] = normalize(&v.values[i]); v.answers[i] != nil {
			continue
		}
		if size += len(v.values[i].Outcome); size > maxBatchBytes {
			size -= len(v.values[i].Outcome)
			v.alone = append(v.alone, i)
			continue
		}
		v.add(i, &ss[i].Digest)
	}
	v.sort()
	return v
}

// queueSettlements settles what the claim's holder may settle.
func (s *Store) queueSettlements(b *pgx.Batch, v *settlements) {
	n := len(v.index)
	v.done = make([]bool, n)
	if n == 0 {
		return
	}
	fences, states, kept := make([]int64, n), make([]string, n), make([]bool, n)
	outcomes, notes, retentions := make([][]byte, n), make([]string, n), make([]int64, n)
	for at, i := range v.index {
		to := &v.values[i]
		fences[at], states[at], kept[at] = verb.Column(v.params[i].Fence), to.State.String(), to.Kept
		outcomes[at], notes[at], retentions[at] = to.Outcome, to.Note, to.Retention.Milliseconds()
	}
	b.Queue(s.sql["settle_batch"], v.digests(), fences, states, kept, outcomes, notes, retentions).Query(func(rows pgx.Rows) error {
		var digest []byte
		var fence int64
		_, err := pgx.ForEachRow(rows, []any{&digest, &fence, nil}, func() error {
			// A former holder and the present one may settle in one batch.
			at, ok := v.find(digest)
			for ; ok && at < n && bytes.Equal(v.of[v.index[at]][:], digest); at++ {
				v.done[at] = v.done[at] || fences[at] == fence
			}
			return nil
		})
		return err
	})
}

// finishSettlements answers the settlements that were not made with the others.
func (s *Store) finishSettlements(ctx context.Context, v *settlements) {
	for at, i := range v.index {
		if !v.done[at] {
			v.answers[i] = s.settleAlone(ctx, &v.params[i], &v.values[i])
		}
	}
	for _, i := range v.alone {
		v.answers[i] = s.settleAlone(ctx, &v.params[i], &v.values[i])
	}
}

func (s *Store) settleAlone(ctx context.Context, p *semel.SettleParams, v *semel.Settlement) error {
	return translate("settle", tries(ctx, func() error { return s.settle(ctx, p.Digest, p.Fence, v) }))
}
