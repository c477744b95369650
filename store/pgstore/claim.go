package pgstore

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/transition"
	"github.com/semel-dev/semel/store/internal/verb"
)

// Claim implements [semel.Store]. A record that is absent without a trace is
// won in one round trip, and an existing one is shown in one if this process
// has met it before, otherwise in two; a row that was left behind, and one that
// is taken over, cost one more.
func (s *Store) Claim(ctx context.Context, p semel.ClaimParams) (rec semel.Record, won bool, err error) {
	if err := validate(&p); err != nil {
		return semel.Record{}, false, err
	}
	err = s.write(ctx, "claim", func() (err error) {
		rec, won, err = s.claim(ctx, &p)
		return err
	})
	if err != nil {
		return semel.Record{}, false, err
	}
	return rec, won, nil
}

// validate refuses what the database cannot keep.
func validate(p *semel.ClaimParams) error {
	if err := p.Validate(); err != nil {
		return err
	}
	if !isText(p.Scope) || !isText(p.Name) {
		return fmt.Errorf("%w: scope and name must be UTF-8 without the zero byte", semel.ErrKeyInvalid)
	}
	return nil
}

// isText reports whether a column of type text can hold it.
func isText(s string) bool {
	return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0
}

// claim inserts a row, and reads the one there is if that is refused; what was
// met before is read first.
func (s *Store) claim(ctx context.Context, p *semel.ClaimParams) (semel.Record, bool, error) {
	if s.seen.Has(p.Digest) {
		rec, err := s.find(ctx, p.Digest)
		switch {
		case err == nil:
			return s.found(ctx, p, rec)
		case !noRow(err):
			return rec, false, err
		}
	}
	rec, err := s.insert(ctx, p)
	if !noRow(err) {
		return rec, err == nil, err
	}
	if rec, err = s.find(ctx, p.Digest); err == nil {
		return s.found(ctx, p, rec)
	}
	if noRow(err) {
		err = errOvertaken
	}
	return rec, false, err
}

// insert claims what has no row.
func (s *Store) insert(ctx context.Context, p *semel.ClaimParams) (semel.Record, error) {
	var fence, ms int64
	err := s.commit(ctx, func(conn *pgxpool.Conn) error {
		return conn.QueryRow(ctx, s.sql["claim"], p.Digest[:], p.Owner[:], p.Fingerprint[:],
			p.Lease.Milliseconds(), p.Retention.Milliseconds(), p.Scope, p.Name).Scan(&fence, &ms, nil)
	})
	if err != nil {
		return semel.Record{}, err
	}
	s.seen.Add(p.Digest)
	return verb.Won(p, fence, ms, 1), nil
}

// find reads the row of a digest, record or not.
func (s *Store) find(ctx context.Context, d semel.Digest) (semel.Record, error) {
	rec, _, err := scanRecord(s.pool.QueryRow(ctx, s.sql["find"], d[:]))
	if err == nil {
		s.seen.Add(d)
	}
	return rec, err
}

// found decides about a row that was there.
func (s *Store) found(ctx context.Context, p *semel.ClaimParams, rec semel.Record) (_ semel.Record, won bool, err error) {
	answer := verb.Claim(&rec, p)
	if answer == transition.NotWon || answer == transition.Repeated {
		return rec, answer == transition.Repeated, nil
	}
	found := verb.Column(rec.Fence)
	err = s.commit(ctx, func(conn *pgxpool.Conn) (err error) {
		rec, won, err = scanRecord(conn.QueryRow(ctx, s.sql["claim_again"], p.Digest[:], p.Owner[:], p.Fingerprint[:],
			p.Lease.Milliseconds(), p.Retention.Milliseconds(), p.Scope, p.Name, found, answer == transition.TakenOver))
		return err
	})
	if noRow(err) {
		err = errOvertaken
	}
	return rec, won, err
}
