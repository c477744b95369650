package sqlitetx

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/sqlitestore/internal/result"
	"github.com/semel-dev/semel/store/sqlitestore/internal/table"
)

// writeStep is a transaction that holds the write lock of the file, for the verbs
// to run in.
type writeStep struct {
	table.Step
	store *Store
}

func (s *Store) writeStep(in sqlSession) writeStep {
	return writeStep{table.Step{Session: in, Next: s.nextFence}, s}
}

// nextFence gives a fence greater than the committed one, than every one that
// this process has given, and than the clock was when another process gave one
// that it rolled back: the file does not remember those.
func (s *Store) nextFence(committed int64) (int64, error) {
	for {
		given := s.given.Load()
		fence, err := names.NextFence(max(committed, given), s.clock.Micros(0))
		if err != nil || s.given.CompareAndSwap(given, fence) {
			return fence, err
		}
	}
}

// lock takes the write lock, as the first write of a transaction does, unless
// it is held already.
func (t *writeStep) lock(ctx context.Context) error {
	found := false
	err := t.Each(ctx, table.Lock, func(row table.Row) error {
		found = true
		return row.Scan(&t.Fence, &t.Now)
	}, t.store.clock.Read(0))
	if err == nil && !found {
		err = errors.New("the row of table semel_meta is gone; restore a backup")
	}
	t.store.clock.Read(t.Now)
	return err
}

// claim is Claim, which leaves takeovers out.
func (t *writeStep) claim(ctx context.Context, p *semel.ClaimParams) (rec semel.Record, won bool, err error) {
	fresh := *p
	fresh.TakeOver = 0
	return t.Claim(context.WithoutCancel(ctx), &fresh)
}

// writing is a transaction of the store's own, on a connection of its own.
type writing struct {
	writeStep
	digest semel.Digest
	conn   *sql.Conn
	in     txHandle
	fence  semel.Fence // of the claim that the transaction carries, if it does
}

// begin takes the seat of this process, a connection, and the write lock of the
// file. It waits for other processes up to wait, and for other intents of this
// process up to the store's bound.
func (s *Store) begin(ctx context.Context, d semel.Digest, wait time.Duration) (*writing, error) {
	deadline := time.Now().Add(wait)
	patience := max(wait, s.busy)
	if err := s.seat.enter(ctx, d, wait, patience); err != nil {
		return nil, err
	}
	w := &writing{writeStep: writeStep{store: s}, digest: d}
	if err := w.open(ctx, deadline, patience); err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

func (w *writing) open(ctx context.Context, deadline time.Time, patience time.Duration) error {
	until, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	if err := w.connect(ctx, until, patience); err != nil {
		return err
	}
	return atOnce(ctx, w.conn, func(ctx context.Context) error {
		quiet := context.WithoutCancel(ctx)
		err := untilFree(until, func() error { return w.try(quiet) })
		return whyNot(ctx, err)
	})
}

// connect takes a connection. The settings of a new one wait for the commit of another, where the journal keeps
// readers out.
func (w *writing) connect(ctx, until context.Context, patience time.Duration) error {
	short, cancel := context.WithTimeoutCause(ctx, patience, errors.New("no connection became free"))
	defer cancel()
	err := untilFree(until, func() (err error) {
		w.conn, err = w.store.db.Conn(short)
		return err
	})
	if err != nil && !result.IsBusy(err) && short.Err() != nil {
		return context.Cause(short)
	}
	return whyNot(ctx, err)
}

// whyNot says why the lock was not taken.
func whyNot(ctx context.Context, err error) error {
	switch {
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case result.IsBusy(err):
		return fmt.Errorf("%w: %w", errBusy, err)
	}
	return err
}

// try begins the transaction, and takes the lock or fails at once.
func (w *writing) try(ctx context.Context) (err error) {
	tx, err := w.conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	w.in = txHandle{sqlSession: w.store.bound(tx), tx: tx, own: true}
	w.writeStep = w.store.writeStep(w.in.sqlSession)
	if err = w.lock(ctx); err != nil {
		_ = tx.Rollback() // nothing was written
	}
	return err
}

// atOnce runs fn without SQLite's busy timeout, whose wait does not end with a
// context, and then restores the connection's own.
func atOnce(ctx context.Context, in Execer, fn func(context.Context) error) error {
	quiet := context.WithoutCancel(ctx)
	own, err := number(quiet, in, "PRAGMA busy_timeout")
	if err != nil || own == 0 {
		return cmp.Or(err, fn(ctx))
	}
	if err := set(quiet, in, "PRAGMA busy_timeout = 0"); err != nil {
		return err
	}
	err = fn(ctx)
	return cmp.Or(err, set(quiet, in, fmt.Sprintf("PRAGMA busy_timeout = %d", own)))
}

// set runs a pragma that answers with its new value.
func set(ctx context.Context, in Execer, pragma string) error {
	return each(ctx, in, pragma, func(table.Row) error { return nil })
}

// sendCommit commits. In a journal mode without a write-ahead log it waits for
// readers, within the store's time.
func (w *writing) sendCommit(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, w.store.busy)
	defer cancel()
	return untilFree(ctx, func() error {
		_, err := w.conn.ExecContext(context.WithoutCancel(ctx), "COMMIT")
		return err
	})
}

// write runs a verb in a transaction of its own.
func (s *Store) write(ctx context.Context, act string, d semel.Digest, verb func(context.Context, *table.Step) error) error {
	if err := s.begun(ctx, act); err != nil {
		return err
	}
	defer s.gate.Leave()
	if s.transactions.WorkOf(ctx) != nil {
		return fmt.Errorf("sqlitetx: %s: not executed: the transaction of this context holds the only writer of the file (give the verb another context, or end the transaction first)", act)
	}
	w, err := s.begin(ctx, d, s.busy)
	if err != nil {
		return s.translate(act, err)
	}
	defer w.Close()
	quiet := context.WithoutCancel(ctx)
	err = verb(quiet, &w.Step)
	if err == nil && w.Dirty {
		err = w.sendCommit(quiet)
	}
	if err == nil || result.IsAnswer(err) {
		return err
	}
	return s.translate(act, err)
}
