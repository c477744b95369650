package sqlitestore

import (
	"context"
	"database/sql/driver"
	_ "embed"
	"errors"
	"fmt"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/sqlitestore/internal/clock"
)

// tx is the writing connection with its prepared statements, and the state of
// the transaction that runs on it. It belongs to the writer.
type tx struct {
	conn  *conn
	clock *clock.Clock

	begin, end, undo, readMeta, writeMeta *stmt
	claim, renew, settle, settleSooner    *stmt
	release, find, correct, remove        *stmt

	now   int64 // the store's clock, read once the lock was held
	fence int64 // the greatest fence given
	count int64 // records in the table
	dirty bool

	pages int // written to the log, about
}

//go:embed sql/meta_read.sql
var metaReadSQL string

//go:embed sql/meta_write.sql
var metaWriteSQL string

func newTx(ctx context.Context, c *conn, k *clock.Clock) (*tx, error) {
	t := &tx{conn: c, clock: k}
	for _, p := range []struct {
		stmt  **stmt
		query string
	}{
		{&t.begin, "BEGIN IMMEDIATE"},
		{&t.end, "COMMIT"},
		{&t.undo, "ROLLBACK"},
		{&t.readMeta, metaReadSQL},
		{&t.writeMeta, metaWriteSQL},
		{&t.claim, claimSQL},
		{&t.renew, renewSQL},
		{&t.settle, settleSQL},
		{&t.settleSooner, settleSoonerSQL},
		{&t.release, releaseSQL},
		{&t.find, lookupSQL},
		{&t.correct, sweepCorrectSQL},
		{&t.remove, sweepDeleteSQL},
	} {
		prepared, err := c.prepare(ctx, p.query)
		if err != nil {
			return nil, err
		}
		*p.stmt = prepared
	}
	return t, nil
}

// run executes the steps in one transaction and leaves their answers, which
// are meaningful only when err is nil. stepFailed says that the error is one
// step's rather than that of the transaction. Steps whose callers gave up
// before the lock of the file was held are left out.
func (t *tx) run(ctx context.Context, jobs []*job, answers []error) (stepFailed bool, err error) {
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
	if err := t.load(ctx); err != nil {
		t.abort(ctx)
		return false, err
	}
	for i, j := range jobs {
		if j.state.Load() != jobStarted {
			continue
		}
		answers[i] = j.run(ctx, t)
		if answers[i] != nil && !isAnswer(answers[i]) {
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

// isAnswer reports whether a step's error is what the contract lets it say,
// after which the transaction goes on.
func isAnswer(err error) bool {
	return errors.Is(err, semel.ErrLost) || errors.Is(err, semel.ErrSettled)
}

// load reads what the transaction starts from, and the time, now that the
// lock of the file is held.
func (t *tx) load(ctx context.Context) error {
	found := false
	err := t.readMeta.each(ctx, func(row []driver.Value) error {
		var floor int64
		if err := scan(row, &t.fence, &t.count, &floor); err != nil {
			return err
		}
		t.now = t.clock.Read(floor)
		found = true
		return nil
	})
	if err == nil && !found {
		err = errors.New("the row of table meta is gone; restore a backup")
	}
	t.dirty = false
	return err
}

func (t *tx) finish(ctx context.Context) error {
	if t.dirty {
		if _, err := t.writeMeta.exec(ctx, t.fence, t.count, t.now); err != nil {
			return err
		}
		t.pages++
	}
	_, err := t.end.exec(ctx)
	return err
}

// abort undoes the transaction. Its only error is that there is none: a full
// disk or a failing one has ended it already.
func (t *tx) abort(ctx context.Context) {
	_, _ = t.undo.exec(ctx)
}

// touch writes the clock down, and returns the latest time the file had seen.
func (t *tx) touch(ctx context.Context) (floor int64, err error) {
	_, err = t.run(ctx, []*job{{run: func(ctx context.Context, t *tx) error {
		t.dirty = true
		return t.readMeta.each(ctx, func(row []driver.Value) error {
			return scan(row[2:], &floor)
		})
	}}}, make([]error, 1))
	return floor, err
}

// scan copies the columns of a row to where they belong.
func scan(row []driver.Value, to ...any) error {
	if len(row) < len(to) {
		return fmt.Errorf("got %d columns, want %d", len(row), len(to))
	}
	for i, dest := range to {
		ok := false
		switch dest := dest.(type) {
		case *int64:
			*dest, ok = row[i].(int64)
		case *string:
			*dest, ok = row[i].(string)
		case *[]byte:
			*dest, ok = row[i].([]byte)
			ok = ok || row[i] == nil
		}
		if !ok {
			return fmt.Errorf("column %d is a %T (the file was changed by another program?)", i, row[i])
		}
	}
	return nil
}
