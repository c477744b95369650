package table

import (
	"context"
	"fmt"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/listing"
	"github.com/semel-dev/semel/store/internal/verb"
	"github.com/semel-dev/semel/store/sqlitestore/internal/clock"
	"github.com/semel-dev/semel/store/sqlitestore/internal/result"
)

// Engine implements the verbs of a store. Its fields run functions in
// transactions and sessions.
type Engine struct {
	Names
	Clock *clock.Clock
	// Write runs a step in a transaction that holds the write lock. After an
	// error the step may still be running.
	Write func(ctx context.Context, act string, d semel.Digest, run func(context.Context, *Step) error) error
	// Read runs a function in a session, and may run it again.
	Read func(ctx context.Context, act string, run func(context.Context, Session) error) error
}

// Claim implements [semel.Store].
func (e *Engine) Claim(ctx context.Context, p *semel.ClaimParams) (semel.Record, bool, error) {
	var answer struct {
		rec semel.Record
		won bool
	}
	err := e.Write(ctx, "claim", p.Digest, func(ctx context.Context, t *Step) (err error) {
		answer.rec, answer.won, err = t.Claim(ctx, p)
		answer.won = answer.won || err == nil && verb.Repeated(&answer.rec, p)
		return err
	})
	if err != nil {
		return semel.Record{}, false, err
	}
	return answer.rec, answer.won, nil
}

// Renew implements [semel.Store].
func (e *Engine) Renew(ctx context.Context, d semel.Digest, f semel.Fence, lease time.Duration) error {
	if err := verb.Lease(e.Package, lease); err != nil {
		return err
	}
	return e.Write(ctx, "renew", d, func(ctx context.Context, t *Step) error {
		changed, err := changes(ctx, t, Renew, verb.Column(f), d[:], t.Now, t.Now+lease.Milliseconds())
		switch {
		case err != nil:
			return err
		case changed == 0:
			return semel.ErrLost
		}
		t.wrote(1)
		return nil
	})
}

// Settle implements [semel.Store].
func (e *Engine) Settle(ctx context.Context, d semel.Digest, f semel.Fence, v *semel.Settlement) error {
	if err := e.Settlement(v); err != nil {
		return err
	}
	return e.Write(ctx, "settle", d, func(ctx context.Context, t *Step) error { return t.Settle(ctx, d, f, v) })
}

// Sweep implements [semel.Sweeper], in steps between which others write. Where
// due is given, it decides whether a step takes the write lock.
func (e *Engine) Sweep(ctx context.Context, limit int, due func(context.Context) (bool, error)) (removed int, err error) {
	for removed < limit {
		if due != nil {
			if more, err := due(ctx); err != nil || !more {
				return removed, err
			}
		}
		var corrected, deleted int64
		err := e.Write(ctx, "sweep", semel.Digest{}, func(ctx context.Context, t *Step) (err error) {
			if t.Scarce {
				return result.ErrScarce
			}
			corrected, deleted, err = t.sweep(ctx, limit-removed)
			return err
		})
		if err != nil {
			return removed, err
		}
		removed += int(deleted)
		if corrected+deleted == 0 {
			break
		}
	}
	return removed, nil
}

// Due reports whether a sweep has anything to look at.
func (e *Engine) Due(ctx context.Context) (due bool, err error) {
	err = e.Read(ctx, "sweep", func(ctx context.Context, in Session) error {
		return in.Each(ctx, Due, func(row Row) error { return row.Scan(&due) }, e.Clock.Read(0))
	})
	return due, err
}

// List implements [semel.Lister]. It reads the table backwards from the cursor,
// over at most as many rows as it may look at.
func (e *Engine) List(ctx context.Context, p *semel.ListParams) (page semel.ListPage, err error) {
	err = e.Read(ctx, "list", func(ctx context.Context, in Session) error {
		rows := listing.Table{
			Count: func(before, lowest semel.Fence, n int) (count int, last semel.Fence, err error) {
				var rows, fence int64
				err = in.Each(ctx, ListCount, func(row Row) error { return row.Scan(&rows, &fence) },
					verb.Column(before), verb.Column(lowest), int64(n))
				return int(rows), semel.Fence(fence), err //nolint:gosec // fences are not negative.
			},
			Read: func(p *semel.ListParams, before, lowest semel.Fence) ([]semel.Record, error) {
				return e.list(ctx, in, p, before, lowest)
			},
		}
		page, err = rows.List(p)
		return err
	})
	return page, err
}

func (e *Engine) list(ctx context.Context, in Session, p *semel.ListParams, before, lowest semel.Fence) (recs []semel.Record, err error) {
	_, floor, err := counted(ctx, in)
	if err != nil {
		return nil, err
	}
	now := e.Clock.Read(floor)
	err = in.Each(ctx, List, func(row Row) error {
		rec, err := readRecord(row, now)
		if !p.Outcomes {
			rec.Outcome = nil
		}
		recs = append(recs, rec)
		return err
	}, now, verb.Column(before), p.Scope, p.Name, verb.Words(p.States), flag(p.Outcomes), int64(p.Limit), verb.Column(lowest))
	return recs, err
}

// Count implements [semel.Counter].
func (e *Engine) Count(ctx context.Context) (n int64, err error) {
	err = e.Read(ctx, "count", func(ctx context.Context, in Session) error {
		n, _, err = counted(ctx, in)
		return err
	})
	return n, err
}

// counted returns the number of records, and the latest time the store's clock
// has shown.
func counted(ctx context.Context, in Session) (n, clockMS int64, err error) {
	err = in.Each(ctx, Count, func(row Row) error { return row.Scan(&n, &clockMS) })
	return n, clockMS, err
}

// Check reads the whole file and reports damage.
func (e *Engine) Check(ctx context.Context) error {
	return e.Read(ctx, "check", func(ctx context.Context, in Session) error {
		switch found, err := first(ctx, in, Integrity); {
		case err != nil:
			return err
		case found != "ok":
			return fmt.Errorf("integrity check: %s (%s)", found, result.Hint(result.Corrupt))
		}
		broken, err := first(ctx, in, Check)
		if err != nil || broken == "" {
			return err
		}
		return fmt.Errorf("invariant broken: %s", broken)
	})
}

// first returns the first column of the first row, nothing where there is none.
func first(ctx context.Context, in Session, q Statement) (text string, err error) {
	err = in.Each(ctx, q, func(row Row) error {
		if text != "" {
			return nil
		}
		return row.Scan(&text)
	})
	return text, err
}
