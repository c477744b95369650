package pgstore

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/internal/verb"
)

// transaction is one transaction for one intent. There are two ways to hold
// the intent, of which a transaction uses one:
//
//   - the lock: a lock on the intent's number, then a look for the record,
//     which is inserted with its outcome at the end. It writes once.
//   - the row: the record is inserted at once and updated at the end. It is for
//     snapshots that are older than the lock (see tx_first.sql).
type transaction struct {
	store     *Store
	sql       *txStatements
	isolation string // asked for; "" is the default
	rowFirst  bool   // the way of the row
	pooled    *pgxpool.Conn
	wire      wire
	nest      *nest        // of a transaction inside of another one
	outer     *transaction // the one in the context around the work's, of whatever store
	within    *turn        // of the transaction that it is nested in
	turn      turn         // of what is nested in it
	depth     int          // how many are around it
	first     *first

	state  txState
	params semel.ClaimParams
	work   work

	// What the last round trip said.
	locked, drawn    bool
	fence, claimedMS int64
	began            []byte // when the transaction began, as the server says it
	found            memRows
	won              bool // the claim: the work had its turn
	working          bool // the work has its turn
	tried            bool // to commit
	committed        bool
	left             bool // the store's gate
	adopted          bool // the claim was committed before

	// The memory of parameters.
	numbers [3][8]byte
	memory  [192]byte
	scratch []byte
}

type txState uint8

const (
	txIdle    txState = iota // nothing was sent, or all was undone
	txBegun                  // the server has a transaction, or may have one
	txClaimed                // the work's turn
	txEnded                  // Commit was tried, or Rollback called
)

// minWait is a wait that is not worth a round trip.
const minWait = 2 * time.Millisecond

var errTxUsed = errors.New("pgstore: claim: the transaction was used before")

// Claim implements [semel.Tx].
func (t *transaction) Claim(ctx context.Context, p semel.ClaimParams, wait time.Duration) (semel.Record, bool, error) {
	if err := validate(&p); err != nil {
		return semel.Record{}, false, err
	}
	if t.state != txIdle {
		return semel.Record{}, false, errTxUsed
	}
	if t.first != nil {
		if err := t.first.belongs(p.Digest); err != nil {
			return semel.Record{}, false, translate("claim", err)
		}
	}
	t.params = p
	until := time.Now().Add(wait)
	var rec semel.Record
	var won bool
	err := t.tries(ctx, func() (err error) {
		rec, won, err = t.claim(ctx, time.Until(until))
		return err
	})
	switch {
	case err != nil:
		return semel.Record{}, false, translate("claim", err)
	case won:
		t.state, t.won = txClaimed, true
		return claimedRecord(&p, t.fence, t.claimedMS), true, nil
	}
	return rec, false, nil
}

// Adopt begins the transaction for a claim that was committed before, whose record
// Commit settles as it does in the way of the row.
func (t *transaction) Adopt(ctx context.Context, d semel.Digest, f semel.Fence) error {
	if t.state != txIdle || t.nest != nil {
		return errTxUsed
	}
	t.params.Digest, t.fence, t.rowFirst, t.adopted = d, verb.Column(f), true, true
	err := t.tries(ctx, func() error {
		return t.trip(ctx, func() {
			t.queueBegin()
			t.wire.queue(t.sql.began)
		})
	})
	if err != nil {
		return translate("begin", err)
	}
	t.state, t.won = txClaimed, true
	return nil
}

// tries begins the transaction, if need be several times or on another connection.
func (t *transaction) tries(ctx context.Context, begin func() error) error {
	var reconnected error
	return backoff.Do(ctx, func(err error) bool {
		if errors.Is(err, semel.ErrInFlight) || t.nest != nil || reconnected != nil || !t.passes(ctx, err) {
			return false
		}
		t.undo() //nolint:contextcheck // what runs here must not end with the context.
		return true
	}, func() error {
		if reconnected = t.reconnect(ctx); reconnected != nil {
			return reconnected
		}
		return begin()
	})
}

// passes reports whether a claim can succeed at once when it is tried again:
// whatever went wrong, nothing has happened.
func (t *transaction) passes(ctx context.Context, err error) bool {
	return ctx.Err() == nil && (passes(err) || code(err) == codeNoStatement || t.wire.conn.IsClosed())
}

// reconnect takes another connection in the place of one that broke.
func (t *transaction) reconnect(ctx context.Context) error {
	if !t.wire.conn.IsClosed() {
		return nil
	}
	t.disconnect()
	return t.connect(ctx)
}

// claim is one try.
func (t *transaction) claim(ctx context.Context, wait time.Duration) (semel.Record, bool, error) {
	if t.rowFirst {
		return t.claimRow(ctx, wait)
	}
	return t.claimLock(ctx, wait)
}

// claimLock claims in the way of the lock: in one round trip when the
// intent is new.
func (t *transaction) claimLock(ctx context.Context, wait time.Duration) (semel.Record, bool, error) {
	if sent, err := t.claimWith(ctx); sent || err != nil {
		return semel.Record{}, sent, err
	}
	err := t.trip(ctx, func() {
		t.queueBegin()
		t.wire.queue(t.sql.lock, t.number(0, t.store.lockNumber(t.params.Digest)))
		t.wire.queue(t.sql.draw, t.params.Digest[:])
	})
	if err == nil && !t.locked {
		err = t.await(ctx, wait, func() { t.wire.queue(t.sql.draw, t.params.Digest[:]) })
	}
	if err != nil || t.drawn {
		return semel.Record{}, t.drawn, err
	}
	rec, there, err := t.look(ctx, true)
	if err != nil || there {
		return rec, false, err
	}
	// A row that is a record no more was left behind.
	err = t.trip(ctx, func() {
		t.queueBegin()
		t.wire.queue(t.sql.lock, t.number(0, t.store.lockNumber(t.params.Digest)))
		t.wire.queue(t.sql.clear, t.params.Digest[:])
		t.wire.queue(t.sql.draw, t.params.Digest[:])
	})
	if err == nil && (!t.locked || !t.drawn) {
		err = errOvertaken
	}
	return semel.Record{}, err == nil, err
}

// claimRow claims in the way of the row: in one round trip when the
// intent is new.
func (t *transaction) claimRow(ctx context.Context, wait time.Duration) (semel.Record, bool, error) {
	err := t.trip(ctx, func() {
		t.queueBegin()
		t.queueFirst()
	})
	if err != nil || t.drawn {
		return semel.Record{}, t.drawn, err
	}
	rec, there, err := t.look(ctx, false)
	if err != nil || there {
		return rec, false, err
	}
	// There is a twin, or a row that is a record no more.
	err = t.trip(ctx, func() { t.wire.queue(t.sql.lock, t.number(0, t.store.lockNumber(t.params.Digest))) })
	again := func() {
		t.wire.queue(t.sql.clear, t.params.Digest[:])
		t.queueFirst()
	}
	switch {
	case err != nil:
		return semel.Record{}, false, err
	case t.locked:
		err = t.trip(ctx, again)
	default:
		err = t.await(ctx, wait, again)
	}
	if err != nil || t.drawn {
		return semel.Record{}, t.drawn, err
	}
	rec, there, err = t.look(ctx, false)
	if err == nil && !there {
		err = errOvertaken
	}
	return rec, false, err
}

// trip is one round trip with what fill queues.
func (t *transaction) trip(ctx context.Context, fill func()) error {
	if err := t.wire.ready(ctx); err != nil {
		return err
	}
	t.locked, t.drawn = false, false
	fill()
	t.state = txBegun
	return t.wire.roundTrip(ctx)
}

// await waits for the twin's lock, and goes on with what fill queues.
func (t *transaction) await(ctx context.Context, wait time.Duration, fill func()) error {
	if wait < minWait {
		return fmt.Errorf("%w: its lock is held", semel.ErrInFlight)
	}
	err := t.trip(ctx, func() {
		t.wire.queue(t.sql.patience, strconv.AppendInt(nil, max(1, wait.Milliseconds()), 10))
		t.wire.queue(t.sql.wait, t.number(0, t.store.lockNumber(t.params.Digest)))
		t.wire.queue(t.sql.patienceEnd)
		fill()
	})
	if f, ok := errors.AsType[*failure](err); ok && f.at == t.sql.wait && code(err) == codeLockTimeout {
		return fmt.Errorf("%w: its lock was held for %v", semel.ErrInFlight, wait)
	}
	return err
}

// look reads the record. end rolls back in the same round trip.
func (t *transaction) look(ctx context.Context, end bool) (rec semel.Record, there bool, err error) {
	t.found = memRows{typeMap: t.wire.conn.TypeMap()}
	err = t.trip(ctx, func() {
		t.wire.queue(t.sql.lookup, t.params.Digest[:])
		if end {
			t.queueUndo()
		}
	})
	if err != nil {
		return rec, false, err
	}
	if end {
		t.state = txIdle
	}
	if !t.found.Next() {
		return rec, false, nil
	}
	rec, _, err = scanRecord(&t.found)
	return rec, err == nil, err
}

func (t *transaction) queueFirst() {
	p := &t.params
	t.wire.queue(t.sql.first, p.Digest[:], p.Owner[:], p.Fingerprint[:], t.number(0, p.Retention.Milliseconds()),
		[]byte(p.Scope), []byte(p.Name), t.number(1, t.store.lockNumber(t.params.Digest)))
}

// lockNumber is the number of an intent's lock. Applications count theirs from
// small numbers; a number that is used twice makes two wait that
// need not.
func (s *Store) lockNumber(d semel.Digest) int64 {
	return int64(binary.BigEndian.Uint64(d[:8])) ^ s.transactions().locks //nolint:gosec // any 64 bits will do.
}

// number is a parameter; i is the place of its memory.
func (t *transaction) number(i int, n int64) []byte {
	return binary.BigEndian.AppendUint64(t.numbers[i][:0], uint64(n)) //nolint:gosec // the same bits.
}

// claimedRecord is the record as it would be seen now, if it were to be seen.
func claimedRecord(p *semel.ClaimParams, fence, claimedMS int64) semel.Record {
	unleased := *p
	unleased.Lease = 0
	return verb.Won(&unleased, fence, claimedMS, 1)
}
