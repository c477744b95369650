package pgstore

import (
	"bytes"
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/internal/verb"
)

// ClaimBatch implements [semel.Batcher], in one statement, and another one when
// there is something to read. What it met that can be claimed again, and what
// came and went meanwhile, is claimed on its own afterwards, as [Store.Claim]
// does.
func (s *Store) ClaimBatch(ctx context.Context, ps []semel.ClaimParams) ([]semel.ClaimAnswer, error) {
	answers := make([]semel.ClaimAnswer, len(ps))
	digests := newOrder(len(ps))
	for i := range ps {
		if answers[i].Err = validate(&ps[i]); answers[i].Err == nil {
			digests.add(i, &ps[i].Digest)
		}
	}
	digests.sort()
	err := s.write(ctx, "claim", func() error { return s.claimBatch(ctx, ps, answers, digests) })
	if err != nil {
		return nil, err
	}
	return answers, nil
}

func (s *Store) claimBatch(ctx context.Context, ps []semel.ClaimParams, answers []semel.ClaimAnswer, digests *order) error {
	found, err := s.claimMany(ctx, ps, digests)
	if err != nil {
		return err
	}
	for at, i := range digests.index {
		p, a := &ps[i], &answers[i]
		met := found[at]
		if met.Won {
			*a = met
			continue
		}
		a.Err = translate("claim", tries(ctx, func() (err error) {
			if met.Record.Fence != 0 {
				a.Record, a.Won, err = s.found(ctx, p, met.Record)
				met = semel.ClaimAnswer{} // what was met is old when it is looked at again
				return err
			}
			a.Record, a.Won, err = s.claim(ctx, p)
			return err
		}))
		if a.Err != nil {
			a.Record, a.Won = semel.Record{}, false
		}
	}
	return nil
}

// claimMany answers in the order of the digests; the zero answer is for those
// that came and went meanwhile.
func (s *Store) claimMany(ctx context.Context, ps []semel.ClaimParams, digests *order) ([]semel.ClaimAnswer, error) {
	found := make([]semel.ClaimAnswer, len(digests.index))
	fresh := make([]int, 0, len(digests.index))
	for at, i := range digests.index {
		if !s.seen.Has(ps[i].Digest) {
			fresh = append(fresh, at)
		}
	}
	if err := s.insertMany(ctx, ps, digests, fresh, found); err != nil {
		return nil, err
	}
	return found, s.findMany(ctx, digests, found)
}

// insertMany claims what has no row, of the places that fresh names.
func (s *Store) insertMany(ctx context.Context, ps []semel.ClaimParams, digests *order, fresh []int, found []semel.ClaimAnswer) error {
	n := len(fresh)
	if n == 0 {
		return nil
	}
	keys, owners, fingerprints := make([][]byte, n), make([][]byte, n), make([][]byte, n)
	leases, retentions := make([]int64, n), make([]int64, n)
	scopes, names := make([]string, n), make([]string, n)
	for k, at := range fresh {
		p := &ps[digests.index[at]]
		keys[k], owners[k], fingerprints[k] = p.Digest[:], p.Owner[:], p.Fingerprint[:]
		leases[k], retentions[k] = p.Lease.Milliseconds(), p.Retention.Milliseconds()
		scopes[k], names[k] = p.Scope, p.Name
	}
	rows, err := s.pool.Query(ctx, s.sql["claim_batch"], keys, owners, fingerprints, leases, retentions, scopes, names)
	if err != nil {
		return err
	}
	var digest []byte
	var fence, ms int64
	_, err = pgx.ForEachRow(rows, []any{&digest, &fence, &ms, nil}, func() error {
		if at, ok := digests.find(digest); ok {
			p := &ps[digests.index[at]]
			s.seen.Add(p.Digest)
			found[at] = semel.ClaimAnswer{Record: verb.Won(p, fence, ms, 1), Won: true}
		}
		return nil
	})
	return err
}

// findMany reads the rows of what was not won.
func (s *Store) findMany(ctx context.Context, digests *order, found []semel.ClaimAnswer) error {
	var keys [][]byte
	for at, i := range digests.index {
		if !found[at].Won {
			keys = append(keys, digests.of[i][:])
		}
	}
	if len(keys) == 0 {
		return nil
	}
	rows, err := s.pool.Query(ctx, s.sql["find_batch"], keys)
	if err != nil {
		return err
	}
	var r row
	_, err = pgx.ForEachRow(rows, r.into(), func() error {
		rec, err := r.record()
		if at, ok := digests.find(r.Digest); ok && err == nil {
			s.seen.Add(rec.Digest)
			found[at] = semel.ClaimAnswer{Record: rec}
		}
		return err
	})
	return err
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
