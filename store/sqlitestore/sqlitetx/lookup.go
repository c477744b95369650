package sqlitetx

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/sqlitestore/internal/record"
	"github.com/semel-dev/semel/store/sqlitestore/internal/result"
)

// Lookup implements [semel.Store]. It reads the last commit, or what the
// transaction of ctx sees.
func (s *Store) Lookup(ctx context.Context, d semel.Digest) (semel.Record, error) {
	return s.lookup(ctx, d, s.busy)
}

// lookup is Lookup within a time: it may have to wait for a connection.
func (s *Store) lookup(ctx context.Context, d semel.Digest, patience time.Duration) (rec semel.Record, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err = s.read(ctx, "look up", func(ctx context.Context, in session) error {
		rec, err = find(ctx, in, d, s.clock.Read(0))
		return err
	})
	return rec, err
}

// List implements [semel.Lister]. It reads the table backwards from the
// cursor, so the newest records cost the same however many there are; a filter
// that few records pass reads until it has found them or ctx ends.
func (s *Store) List(ctx context.Context, p semel.ListParams) (recs []semel.Record, err error) {
	if p.Limit < 0 || p.Limit > semel.MaxListLimit {
		return nil, fmt.Errorf("sqlitetx: list limit %d is not between 0 and %d", p.Limit, semel.MaxListLimit)
	}
	if p.Limit == 0 {
		p.Limit = semel.MaxListLimit
	}
	before := record.Column(p.Before)
	if before == 0 {
		before = math.MaxInt64
	}
	err = s.read(ctx, "list", func(ctx context.Context, in session) error {
		_, floor, err := counted(ctx, in)
		if err != nil {
			return err
		}
		now := s.clock.Read(floor)
		recs = nil
		rows, err := in.query(ctx, stmtList, now, before, p.Scope, p.Name, record.Words(p.States), flag(p.Outcomes), p.Limit)
		return each(rows, err, func(row *sql.Rows) error {
			rec, err := readRecord(row, now)
			if !p.Outcomes {
				rec.Outcome = nil
			}
			recs = append(recs, rec)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return recs, nil
}

// Count implements [semel.Counter].
func (s *Store) Count(ctx context.Context) (n int64, err error) {
	err = s.read(ctx, "count", func(ctx context.Context, in session) error {
		n, _, err = counted(ctx, in)
		return err
	})
	return n, err
}

// counted returns the number of records, and the latest time the store's clock
// has shown.
func counted(ctx context.Context, in session) (n, clockMS int64, err error) {
	rows, err := in.query(ctx, stmtCount)
	err = each(rows, err, func(row *sql.Rows) error { return row.Scan(&n, &clockMS) })
	return n, clockMS, err
}

// flag is a truth value as SQLite has it, whatever the driver makes of one.
func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// Check reads the whole database and reports damage: pages and indexes that
// disagree, a count of records that is wrong, a fence beyond the greatest one.
// It takes as long as reading the file; ctx ends it.
func (s *Store) Check(ctx context.Context) error {
	return s.read(ctx, "check", func(ctx context.Context, in session) error {
		found, err := words(ctx, in.text(), "PRAGMA integrity_check(1)")
		switch {
		case err != nil:
			return err
		case found != "ok":
			return fmt.Errorf("integrity check: %s (%s)", found, result.Hint(result.Corrupt))
		}
		query, err := files.ReadFile("sql/check.sql")
		if err != nil {
			return err
		}
		broken, err := words(ctx, in.text(), string(query))
		if err != nil || broken == "" {
			return err
		}
		return fmt.Errorf("invariant broken: %s", broken)
	})
}

// words returns the first column of the first row, nothing where there is none.
func words(ctx context.Context, in Execer, query string) (text string, err error) {
	rows, err := in.QueryContext(ctx, query)
	err = each(rows, err, func(row *sql.Rows) error {
		if text != "" {
			return nil
		}
		return row.Scan(&text)
	})
	return text, err
}

// read lends fn a place to read in: the transaction of ctx, or the pool. It may
// call fn again.
func (s *Store) read(ctx context.Context, act string, fn func(context.Context, session) error) error {
	if err := s.begun(ctx, act); err != nil {
		return err
	}
	defer s.ended()
	var in session = pooled{s}
	if w := s.workOf(ctx); w != nil {
		in = w.in
	}
	patience, cancel := context.WithTimeout(ctx, s.busy)
	defer cancel()
	// A database without a write-ahead log keeps readers out during a commit.
	err := untilFree(patience, func() error { return fn(ctx, in) })
	if err == nil || errors.Is(err, semel.ErrNotFound) {
		return err
	}
	return s.translate(act, err)
}
