package pgstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/semel-dev/semel"
)

// undoTime bounds a rollback; then the connection is closed, which rolls back.
const undoTime = 5 * time.Second

var (
	errNoClaim  = errors.New("the transaction holds no claim")
	errUndone   = errors.New("the work has rolled its transaction back, and then succeeded (return an error instead)")
	errAborted  = errors.New("a statement of the work failed, which aborts a transaction, and then the work succeeded (return the error, or set a savepoint by Begin before what may fail)")
	errReverted = errors.New("the server rolled back where it was to commit")
	errEndedBy  = errors.New("the work has ended the transaction by SQL of its own (leave COMMIT and ROLLBACK alone)")
)

// Commit implements [semel.Tx]: record and COMMIT are one round trip.
func (t *transaction) Commit(ctx context.Context, v semel.Settlement) error {
	t.tried = true
	err := normalize(&v)
	if err == nil {
		err = t.mayCommit(ctx)
	}
	switch {
	case errors.Is(err, semel.ErrFull):
		return err
	case errors.Is(err, errEndedBy):
		return t.afterAll(ctx, &v)
	case err != nil:
		return fmt.Errorf("%w: pgstore: commit: %w", semel.ErrRolledBack, err)
	}
	t.state = txEnded
	if t.rowFirst {
		t.queueFinish(&v)
	} else {
		t.queueRecord(&t.wire, &v)
	}
	t.queueEnd()
	err = t.wire.roundTrip(ctx)
	switch {
	case t.committed: // and if the connection broke after that
		t.leave()
		return nil
	case err == nil:
		err = errReverted
	case t.adopted && t.without(err):
		t.undo() //nolint:contextcheck // what runs here must not end with the context.
		return fmt.Errorf("%w: pgstore: commit: another attempt has the claim, or an operator settled it", semel.ErrLost)
	case t.without(err), t.another(err):
		t.undo() //nolint:contextcheck // what runs here must not end with the context.
		return t.afterAll(ctx, &v)
	}
	return t.refused(err)
}

// mayCommit reports what keeps the transaction from being committed, before
// anything is sent.
func (t *transaction) mayCommit(ctx context.Context) error {
	if t.state != txClaimed {
		return errNoClaim
	}
	if t.work.undone {
		return errUndone
	}
	if err := t.unread(); err != nil {
		return err
	}
	if err := t.wire.ready(ctx); err != nil {
		return err
	}
	switch t.wire.conn.PgConn().TxStatus() {
	case 'E':
		return errAborted
	case 'I':
		return errEndedBy
	}
	return nil
}

// without reports whether the claim's row was not there, or the lock not held, for the outcome:
// unless the claim was adopted, the work has ended the transaction by SQL and begun another one.
func (t *transaction) without(err error) bool {
	f, ok := errors.AsType[*failure](err)
	return ok && (f.at == t.sql.record || f.at == t.sql.finish) && code(err) == codeDivisionByZero
}

// another reports whether the claim's row was there, but in another transaction than the one
// that adopted it.
func (t *transaction) another(err error) bool {
	f, ok := errors.AsType[*failure](err)
	return ok && f.at == t.sql.finish && code(err) == codeNegativeRoot
}

// refused says what an error of the round trip that commits means.
func (t *transaction) refused(err error) error {
	if unsure(err, t.sql.commit) && t.nest == nil {
		return translate("commit", err) // the outcome is unknown
	}
	if lost(err, t.store.schema) {
		return fmt.Errorf("%w: pgstore: commit: %w", semel.ErrLost, err)
	}
	if err := translate("commit", err); errors.Is(err, semel.ErrFull) {
		return err
	}
	return fmt.Errorf("%w: %w", semel.ErrRolledBack, translate("commit", err))
}

// lost reports whether another caller's record is there.
func lost(err error, schema string) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && e.Code == codeUniqueViolation && e.SchemaName == schema && e.ConstraintName == "record_pkey"
}

// afterAll records what can be said of work that ended the transaction itself.
func (t *transaction) afterAll(ctx context.Context, v *semel.Settlement) error {
	t.state = txEnded
	if t.nest != nil {
		return fmt.Errorf("%w: pgstore: commit: %w", semel.ErrRolledBack, errEndedBy)
	}
	if err := t.wire.ready(ctx); err != nil {
		return translate("commit", err)
	}
	if t.adopted { // the record does not tell what the work did
		return fmt.Errorf("%w: pgstore: commit: %w", semel.ErrUnknown, errEndedBy)
	}
	t.began = nil   // it is recorded outside of any transaction
	if t.rowFirst { // the work has committed the claim, or rolled it back
		err := t.store.settle(ctx, t.params.Digest, semel.Fence(t.fence), v) //nolint:gosec // it was given to us.
		if errors.Is(err, semel.ErrLost) {
			err = fmt.Errorf("%w: pgstore: commit: %w", semel.ErrRolledBack, errEndedBy)
		}
		return err
	}
	t.queueRecord(&t.wire, &semel.Settlement{State: semel.StateUnknown, Note: text(errEndedBy.Error()), Retention: v.Retention})
	if err := t.wire.roundTrip(ctx); err != nil {
		return t.refused(err)
	}
	return fmt.Errorf("%w: pgstore: commit: %w: its outcome was recorded as unknown", semel.ErrLost, errEndedBy)
}

// Rollback implements [semel.Tx].
func (t *transaction) Rollback() error {
	t.state = txEnded
	t.undo()
	t.leave()
	return nil // a connection that breaks here is rolled back by the server
}

// undo takes back what was not committed. What cannot be taken back, because
// the connection is in use, goes with the connection.
func (t *transaction) undo() {
	if t.wire.conn == nil || t.wire.conn.IsClosed() || !t.isOpen() {
		return
	}
	if t.state != txEnded {
		t.state = txIdle
	}
	ctx, cancel := context.WithTimeout(context.Background(), undoTime)
	defer cancel()
	err := t.wire.ready(ctx)
	if err == nil {
		t.queueUndo()
		err = t.wire.roundTrip(ctx)
	}
	if err != nil {
		t.wire.stop()
	}
}

// isOpen reports whether there is something to undo.
func (t *transaction) isOpen() bool {
	if t.nest != nil {
		return t.nest.set
	}
	pg := t.wire.conn.PgConn()
	return pg.IsBusy() || pg.TxStatus() != 'I'
}

// leave gives back the connection, if there is one, and the seat.
func (t *transaction) leave() {
	if t.left {
		return
	}
	t.left = true
	t.within.give()
	if t.pooled != nil {
		t.disconnect()
	}
	t.wire.conn = nil
	if t.first != nil {
		t.store.seen.Add(t.params.Digest)
	}
	t.store.gate.Leave()
}

func (t *transaction) queueRecord(w *wire, v *semel.Settlement) {
	p := &t.params
	w.queue(t.sql.record,
		p.Digest[:], t.number(0, t.fence), t.bytes(v.State.String()), flag(v.Kept), p.Owner[:], p.Fingerprint[:],
		t.number(1, t.claimedMS), t.number(2, v.Retention.Milliseconds()), t.bytes(p.Scope), t.bytes(p.Name), t.bytes(v.Note), v.Outcome, t.began)
}

func (t *transaction) queueFinish(v *semel.Settlement) {
	t.wire.queue(t.sql.finish,
		t.params.Digest[:], t.number(0, t.fence), t.bytes(v.State.String()), flag(v.Kept), v.Outcome, t.bytes(v.Note),
		t.number(1, v.Retention.Milliseconds()), t.began)
}

func (t *transaction) queueBegin() {
	if t.nest != nil {
		t.wire.queue(t.nest.begin)
		return
	}
	t.wire.queue(t.sql.begin[t.isolation])
}

func (t *transaction) queueEnd() {
	if t.nest != nil {
		t.wire.queue(t.nest.release)
		return
	}
	t.wire.queue(t.sql.commit)
}

func (t *transaction) queueUndo() {
	if t.nest != nil {
		t.wire.queue(t.nest.undo)
		t.wire.queue(t.nest.drop)
		return
	}
	t.wire.queue(t.sql.undo)
}

// bytes is a text as a parameter.
func (t *transaction) bytes(s string) []byte {
	from := len(t.scratch)
	t.scratch = append(t.scratch, s...)
	return t.scratch[from:len(t.scratch):len(t.scratch)]
}

// flag is a boolean as a parameter.
func flag(b bool) []byte {
	if b {
		return []byte{1}
	}
	return []byte{0}
}

// read returns the memory for the rows of a statement.
func (t *transaction) read(s *statement) *memRows {
	if i := t.first.of(s); i >= 0 {
		return &t.first.rows[i]
	}
	return &t.found
}

func (t *transaction) described(s *statement, fields []pgproto3.FieldDescription) {
	t.read(s).describe(fields)
}

func (t *transaction) row(s *statement, values [][]byte) {
	switch s {
	case t.sql.lock, t.sql.lockElse:
		t.locked = values[0][0] != 0
	case t.sql.draw, t.sql.drawElse:
		t.drawn, t.fence, t.claimedMS = true, integer(values[0]), integer(values[1])
		t.began = append(t.began[:0], values[2]...)
	case t.sql.began:
		t.began = append(t.began[:0], values[0]...)
	case t.sql.first:
		t.drawn, t.fence, t.claimedMS = true, integer(values[0]), integer(values[1])
	default:
		if s.describe {
			t.read(s).add(values)
		}
	}
}

func (t *transaction) done(s *statement, tag []byte) {
	switch n := t.nest; {
	case s.describe:
		t.read(s).tag = pgconn.NewCommandTag(string(tag))
	case n == nil:
		t.committed = t.committed || s == t.sql.commit && string(tag) == "COMMIT"
	case s == n.begin:
		n.set = true
	case s == n.release:
		n.set, t.committed = false, true
	case s == n.drop:
		n.set = false
	}
}

// Conflict implements [semel.Tx].
func (t *transaction) Conflict(err error) bool {
	return t.nest == nil && conflict(err) // a part of a transaction cannot run again
}

// conflict reports whether the database undid a transaction because of another
// one, whatever driver says so, or because the connection had lost a prepared
// statement, which is known by now.
func conflict(err error) bool {
	s := state(err)
	return s == codeSerialization || s == codeDeadlock || s == codeNoStatement
}

// Context implements [semel.Tx].
func (t *transaction) Context(ctx context.Context) context.Context {
	t.working, t.outer = true, txFrom(ctx)
	return context.WithValue(ctx, txKey{}, t)
}
