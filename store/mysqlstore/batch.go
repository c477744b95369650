package mysqlstore

import (
	"bytes"
	"context"
	"slices"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/transition"
	"github.com/semel-dev/semel/store/internal/verb"
)

// maxBatchBytes bounds the outcomes in one statement; larger ones travel alone.
const maxBatchBytes = 1 << 20

// Batch implements [semel.Batcher]. Up to 64 new intents take one round
// trip and one commit (two round trips on MySQL), and so do duplicates, which
// are only read. Up to 64 settlements that differ in
// nothing but claim and outcome take one commit, and one round trip, or three
// for those that release or leave unknown; and one more to read when some of
// them found something else than an open claim.
func (s *Store) Batch(
	ctx context.Context, claims []semel.ClaimParams, settles []semel.SettleParams,
) ([]semel.ClaimAnswer, []error, error) {
	if err := s.gate.Enter("batch", verb.Writes); err != nil {
		return nil, nil, err
	}
	defer s.gate.Leave()
	won, err := s.claimBatch(ctx, claims)
	if err != nil {
		return nil, nil, err
	}
	settled, err := s.settleBatch(ctx, settles)
	return won, settled, err
}

func (s *Store) claimBatch(ctx context.Context, ps []semel.ClaimParams) ([]semel.ClaimAnswer, error) {
	answers := make([]semel.ClaimAnswer, len(ps))
	var fresh, known, alone []int
	for i := range ps {
		p := &ps[i]
		switch err := p.Validate(); {
		case err != nil:
			answers[i].Err = err
		case p.Owner == semel.Owner{}: // its own row looks like any other
			alone = append(alone, i)
		case s.seen.Has(p.Digest):
			known = append(known, i)
		default:
			fresh = append(fresh, i)
		}
	}
	for _, steps := range []struct {
		indexes []int
		rows    func(context.Context, []*semel.ClaimParams) (map[semel.Digest]semel.Record, error)
	}{{known, s.readClaims}, {fresh, s.insertMany}} {
		for chunk := range slices.Chunk(byDigest(ps, steps.indexes), maxBatch) {
			rest, err := s.claimChunk(ctx, ps, chunk, answers, steps.rows)
			if err != nil {
				return nil, err
			}
			alone = append(alone, rest...)
		}
	}
	for _, i := range alone {
		a := &answers[i]
		a.Record, a.Won, a.Err = s.claim(ctx, &ps[i])
		if a.Err != nil {
			a.Record, a.Won = semel.Record{}, false
		}
	}
	return answers, nil
}

// byDigest sorts indexes of claims, so that batches lock rows in one order.
func byDigest(ps []semel.ClaimParams, indexes []int) []int {
	slices.SortFunc(indexes, func(i, j int) int { return bytes.Compare(ps[i].Digest[:], ps[j].Digest[:]) })
	return indexes
}

// claimChunk answers the claims whose rows say who won, and returns those
// that have to be claimed alone, because no row decides them.
func (s *Store) claimChunk(
	ctx context.Context, ps []semel.ClaimParams, chunk []int, answers []semel.ClaimAnswer,
	rows func(context.Context, []*semel.ClaimParams) (map[semel.Digest]semel.Record, error),
) (alone []int, err error) {
	if len(chunk) == 1 {
		return chunk, nil
	}
	params := make([]*semel.ClaimParams, len(chunk))
	for k, i := range chunk {
		params[k] = &ps[i]
	}
	found, err := rows(ctx, params)
	if err != nil {
		return nil, err
	}
	for k, i := range chunk {
		p := params[k]
		rec := found[p.Digest] // absent where there is none
		answer := verb.Claim(&rec, p)
		if answer == transition.Fresh || answer == transition.TakenOver {
			alone = append(alone, i)
			continue
		}
		s.seen.Add(p.Digest)
		answers[i] = semel.ClaimAnswer{Record: rec, Won: answer == transition.Repeated}
	}
	return alone, nil
}

// readClaims reads the rows of claims that probably have one.
func (s *Store) readClaims(ctx context.Context, ps []*semel.ClaimParams) (map[semel.Digest]semel.Record, error) {
	digests := make([]semel.Digest, len(ps))
	for i, p := range ps {
		digests[i] = p.Digest
	}
	return s.findMany(ctx, nil, digests)
}

// insertMany inserts the rows of claims that probably have none, and returns
// the rows that are there afterwards. A row with the caller's owner is won.
func (s *Store) insertMany(ctx context.Context, ps []*semel.ClaimParams) (found map[semel.Digest]semel.Record, err error) {
	n := batchSize(len(ps))
	args := make([]any, n*claimArgs)
	for i := range n {
		fillClaim(args[i*claimArgs:], ps[min(i, len(ps)-1)], 1)
	}
	err = retry(ctx, func() error {
		if !s.ways.returning {
			_, err := s.stmts.exec(ctx, nil, "claim_many", n, args...)
			return err
		}
		found = make(map[semel.Digest]semel.Record, n)
		return s.stmts.each(ctx, nil, "claim_many", n, args, into(found))
	})
	if err != nil {
		return nil, translate("claim", err)
	}
	if !s.ways.returning {
		return s.readClaims(ctx, ps)
	}
	return found, nil
}
