package sqlitestore

import (
	"context"
	"errors"

	"github.com/semel-dev/semel/store/sqlitestore/internal/clock"
	"github.com/semel-dev/semel/store/sqlitestore/internal/result"
	"github.com/semel-dev/semel/store/sqlitestore/internal/table"
)

// tx is the writing connection, and the transaction that runs on it. It
// belongs to the writer.
type tx struct {
	table.Step
	conn  *conn
	clock *clock.Clock
	count int64 // records when the transaction began
	floor int64 // the latest time the file had seen then
	meta  []any // where load reads the row of these to, made once

	begin, end, undo *stmt
}

func newTx(ctx context.Context, c *conn, k *clock.Clock) (*tx, error) {
	t := &tx{conn: c, clock: k, Step: table.Step{
		Session: c,
		Next:    func(greatest int64) (int64, error) { return names.NextFence(greatest, 0) },
	}}
	t.meta = []any{&t.Fence, &t.count, &t.floor}
	for _, p := range []struct {
		stmt  **stmt
		query string
	}{{&t.begin, "BEGIN IMMEDIATE"}, {&t.end, "COMMIT"}, {&t.undo, "ROLLBACK"}} {
		prepared, err := c.prepare(ctx, p.query)
		if err != nil {
			return nil, err
		}
		*p.stmt = prepared
	}
	return t, nil
}

// runJobs executes the steps in one transaction and leaves their answers, which
// are meaningful only when err is nil. stepFailed says that the error is one
// step's rather than that of the transaction. Steps whose callers gave up
// before the lock of the file was held are left out.
func (t *tx) runJobs(ctx context.Context, jobs []*job, answers []error) (stepFailed bool, err error) {
	if _, err := t.begin.exec(ctx); err != nil {
		return false, err
	}
	started := false
	for _, j := range jobs {
		started = j.start() || started
	}
	if !started {
		t.abort(ctx)
		return false, nil
	}
	if _, err := t.load(ctx); err != nil {
		t.abort(ctx)
		return false, err
	}
	for i, j := range jobs {
		if j.state.Load() != jobStarted {
			continue
		}
		answers[i] = j.run(ctx, &t.Step)
		if answers[i] != nil && !result.IsAnswer(answers[i]) {
			t.abort(ctx)
			return true, answers[i]
		}
	}
	if err := t.finish(ctx); err != nil {
		t.abort(ctx)
		return false, err
	}
	return false, nil
}

// load reads what the transaction starts from, and the time, now that the lock
// of the file is held. It returns the latest time the file had seen.
func (t *tx) load(ctx context.Context) (floor int64, err error) {
	found := false
	t.floor = 0
	err = t.conn.Each(ctx, table.MetaRead, func(row table.Row) error {
		found = true
		return row.Scan(t.meta...)
	})
	if err == nil && !found {
		err = errors.New("the row of table meta is gone; restore a backup")
	}
	t.Now = t.clock.Read(t.floor)
	t.Dirty, t.Added = false, 0
	return t.floor, err
}

func (t *tx) finish(ctx context.Context) error {
	if t.Dirty {
		if _, err := t.conn.Exec(ctx, table.MetaWrite, t.Fence, t.count+t.Added, t.Now); err != nil {
			return err
		}
		t.Pages++
	}
	_, err := t.end.exec(ctx)
	return err
}

// abort undoes the transaction. It can only fail because there is none: a full
// disk or a failing one has ended it already.
func (t *tx) abort(ctx context.Context) {
	_, _ = t.undo.exec(ctx)
}

// touch records the clock, and returns the latest time the file had seen.
func (t *tx) touch(ctx context.Context) (floor int64, err error) {
	if _, err := t.begin.exec(ctx); err != nil {
		return 0, err
	}
	floor, err = t.load(ctx)
	if err == nil {
		t.Dirty = true
		err = t.finish(ctx)
	}
	if err != nil {
		t.abort(ctx)
	}
	return floor, err
}
