package client

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"time"

	driver "modernc.org/sqlite"

	"github.com/semel-dev/semel/examples/internal/sqlite"
)

var (
	//go:embed sql/sendable.sql
	sendableSQL string
	//go:embed sql/keep_unique.sql
	keepUniqueSQL string
	//go:embed sql/done.sql
	doneSQL string
	//go:embed sql/refuse.sql
	refuseSQL string
	//go:embed sql/put_in_stock.sql
	putInStockSQL string
	//go:embed sql/count_stock.sql
	countStockSQL string
)

const sqliteBusy = 5

// parcel is an entry on its way.
type parcel struct {
	row    int64
	kind   Kind
	text   string
	unique string
	parent string // the parent's id
}

// pause grows with every attempt in vain.
type pause struct {
	tries int
	until time.Time
}

// sender is one Sync. It remembers pauses as long as it runs: no clock is kept
// on the disk.
type sender struct {
	q      *Queue
	pauses map[int64]*pause // by row
	away   pause            // while the server does not answer at all
}

// Sync sends until nothing waits any more, or ctx ends; then the error is that of
// ctx. It returns how many entries of the queue are in each state. An entry that
// the server refuses is not an error; see [Entry.Reason]. [ErrSending] means that
// another process or Sync sends: nothing was done.
func (q *Queue) Sync(ctx context.Context) (Counts, error) {
	unlock, err := q.lock(ctx)
	if err != nil {
		return Counts{}, err
	}
	defer unlock()
	s := sender{q: q, pauses: map[int64]*pause{}}
	err = s.sendAll(ctx)
	counts, countErr := q.Counts(context.WithoutCancel(ctx))
	return counts, errors.Join(err, countErr)
}

// lock holds the right to send until unlock, or until the process dies. It is
// SQLite's lock on a file of its own, so that it works wherever the queue does.
func (q *Queue) lock(ctx context.Context) (unlock func(), err error) {
	db, err := sqlite.OpenWith(q.path+".sender", url.Values{"_pragma": {"busy_timeout(0)"}})
	if err != nil {
		return nil, err
	}
	conn, err := db.Conn(ctx)
	if err == nil {
		_, err = conn.ExecContext(ctx, "BEGIN EXCLUSIVE")
		if err != nil {
			_ = conn.Close() // the first error says more
		}
	}
	if err != nil {
		_ = db.Close() // as above
		if e, ok := errors.AsType[*driver.Error](err); ok && e.Code()&0xFF == sqliteBusy {
			return nil, ErrSending
		}
		return nil, fmt.Errorf("client: take the right to send: %w", err)
	}
	return func() {
		_ = conn.Close() // the lock goes with the connection, whatever this says
		_ = db.Close()
	}, nil
}

// sendAll goes over what can be sent, again and again.
func (s *sender) sendAll(ctx context.Context) error {
	for {
		parcels, err := s.q.sendable(ctx)
		if err != nil || len(parcels) == 0 {
			return err
		}
		due, earliest := s.due(parcels)
		if len(due) == 0 {
			if err := wait(ctx, time.Until(earliest)); err != nil {
				return err
			}
		}
		for _, p := range due {
			if err := s.send(ctx, p); err != nil {
				return err
			}
		}
	}
}

// due returns the parcels whose pause is over, and when the first of the others
// is due.
func (s *sender) due(parcels []parcel) (due []parcel, earliest time.Time) {
	now := time.Now()
	for _, p := range parcels {
		until := s.pauseOf(p.row).until
		if !now.Before(until) {
			due = append(due, p)
		} else if earliest.IsZero() || until.Before(earliest) {
			earliest = until
		}
	}
	return due, earliest
}

func (s *sender) pauseOf(row int64) *pause {
	if s.pauses[row] == nil {
		s.pauses[row] = &pause{}
	}
	return s.pauses[row]
}

// send makes one attempt and records its outcome. Where the server could not
// be asked, it waits before anything else is tried.
func (s *sender) send(ctx context.Context, p parcel) error {
	if p.unique == "" {
		id, verdict := s.q.askID(ctx, p.kind)
		if verdict.what != created {
			return s.later(ctx, p, verdict)
		}
		p.unique = id
		if err := s.q.keep(ctx, keepUniqueSQL, p.row, id); err != nil { // before it is sent for the first time
			return err
		}
	}
	verdict := s.q.post(ctx, p)
	switch verdict.what {
	case created:
		s.away = pause{}
		delete(s.pauses, p.row)
		return s.q.keep(ctx, doneSQL, p.row)
	case refused:
		s.away = pause{}
		delete(s.pauses, p.row)
		return s.q.keep(ctx, refuseSQL, p.row, verdict.reason)
	case elsewhere, unanswered:
	}
	return s.later(ctx, p, verdict)
}

// later puts the attempt off: this entry's, or all.
func (s *sender) later(ctx context.Context, p parcel, v verdict) error {
	if ctx.Err() != nil {
		return fmt.Errorf("client: send: %w", context.Cause(ctx))
	}
	if v.what == elsewhere {
		s.away = pause{}
		s.q.postpone(s.pauseOf(p.row), v.after)
		return nil
	}
	s.q.postpone(&s.away, v.after)
	return wait(ctx, time.Until(s.away.until))
}

// postpone doubles the pause. Half of it is chance, so that clients that lost
// one server do not come back together.
func (q *Queue) postpone(p *pause, atLeast time.Duration) {
	full := q.opts.MostPause
	if d := q.opts.FirstPause << min(p.tries, 30); d > 0 && d < full {
		full = d
	}
	p.tries++
	p.until = time.Now().Add(max(atLeast, full/2+rand.N(full/2+1))) //nolint:gosec // it only spreads clients.
}

// sendable returns what waits and whose parent is done.
func (q *Queue) sendable(ctx context.Context) ([]parcel, error) {
	return sqlite.List(ctx, q.db, "client: look for waiting entries", func(p *parcel, row sqlite.Row) error {
		return row.Scan(&p.row, &p.kind, &p.text, &p.unique, &p.parent)
	}, sendableSQL)
}

func (q *Queue) keep(ctx context.Context, statement string, args ...any) error {
	if _, err := q.db.ExecContext(ctx, statement, args...); err != nil {
		return fmt.Errorf("client: keep what the server said: %w", err)
	}
	return nil
}

// Stock asks the server for ids until the file has n of each kind, at most
// [MaxStock]: new entries take theirs from there, even without a network. Ids
// in stock belong to this file, so do not copy it. Stock does not retry: it
// returns the first error.
func (q *Queue) Stock(ctx context.Context, n int) error {
	for _, kind := range []Kind{Mathematician, Paper} {
		var have int
		if err := q.db.QueryRowContext(ctx, countStockSQL, kind).Scan(&have); err != nil {
			return fmt.Errorf("client: count the stock: %w", err)
		}
		for ; have < min(n, MaxStock); have++ {
			id, verdict := q.askID(ctx, kind)
			if verdict.what != created {
				return fmt.Errorf("client: fetch an id: %s", verdict.reason)
			}
			if err := q.keep(ctx, putInStockSQL, id, kind); err != nil {
				return err
			}
		}
	}
	return nil
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("client: wait for the server: %w", context.Cause(ctx))
	}
}
