package pgstore

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/internal/verb"
)

// claims are those of a batch.
type claims struct {
	*order

	params  []semel.ClaimParams
	answers []semel.ClaimAnswer
	fresh   []int               // places in the order of what probably has no row
	found   []semel.ClaimAnswer // in the order; zero for what was neither won nor read
}

func (s *Store) newClaims(ps []semel.ClaimParams) *claims {
	c := &claims{order: newOrder(len(ps)), params: ps, answers: make([]semel.ClaimAnswer, len(ps))}
	for i := range ps {
		if c.answers[i].Err = validate(&ps[i]); c.answers[i].Err == nil {
			c.add(i, &ps[i].Digest)
		}
	}
	c.sort()
	for at, i := range c.index {
		if !s.seen.Has(ps[i].Digest) {
			c.fresh = append(c.fresh, at)
		}
	}
	return c
}

// queueClaims claims what has no row.
func (s *Store) queueClaims(b *pgx.Batch, c *claims) {
	c.found = make([]semel.ClaimAnswer, len(c.index))
	n := len(c.fresh)
	if n == 0 {
		return
	}
	keys, owners, fingerprints := make([][]byte, n), make([][]byte, n), make([][]byte, n)
	leases, retentions := make([]int64, n), make([]int64, n)
	scopes, names := make([]string, n), make([]string, n)
	for k, at := range c.fresh {
		p := &c.params[c.index[at]]
		keys[k], owners[k], fingerprints[k] = p.Digest[:], p.Owner[:], p.Fingerprint[:]
		leases[k], retentions[k] = p.Lease.Milliseconds(), p.Retention.Milliseconds()
		scopes[k], names[k] = p.Scope, p.Name
	}
	b.Queue(s.sql["claim_batch"], keys, owners, fingerprints, leases, retentions, scopes, names).Query(func(rows pgx.Rows) error {
		var digest []byte
		var fence, ms int64
		_, err := pgx.ForEachRow(rows, []any{&digest, &fence, &ms, nil}, func() error {
			if at, ok := c.find(digest); ok {
				c.found[at] = semel.ClaimAnswer{Record: verb.Won(&c.params[c.index[at]], fence, ms, 1), Won: true}
			}
			return nil
		})
		return err
	})
}

// finishClaims answers the claims: what was not won is read, and decided alone where
// what was read does not decide it.
func (s *Store) finishClaims(ctx context.Context, c *claims) {
	readErr := translate("claim", tries(ctx, func() error { return s.findMany(ctx, c) }))
	for at, i := range c.index {
		p, a, met := &c.params[i], &c.answers[i], c.found[at]
		switch {
		case met.Won:
			s.seen.Add(p.Digest)
			*a = met
			continue
		case readErr != nil:
			a.Err = readErr
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
}

// findMany reads the rows of what was not won.
func (s *Store) findMany(ctx context.Context, c *claims) error {
	var keys [][]byte
	for at, i := range c.index {
		if !c.found[at].Won {
			keys = append(keys, c.of[i][:])
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
	_, err = pgx.ForEachRow(rows, []any{&r}, func() error {
		rec, err := r.record()
		if at, ok := c.find(r.Digest); ok && err == nil {
			s.seen.Add(rec.Digest)
			c.found[at] = semel.ClaimAnswer{Record: rec}
		}
		return err
	})
	return err
}
