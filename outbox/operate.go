package outbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/verdict"
	"github.com/semel-dev/semel/operator"
)

const (
	// MaxList is the largest number of messages that [Outbox.List] returns.
	MaxList = 1000
	// MaxCounted bounds the messages that [Outbox.Stats] counts.
	MaxCounted = 100_000

	// verdictScope begins the scope of the records of verdicts.
	verdictScope = verdict.OwnScopes + "outbox-verdict:"
)

// ErrNotHeld says that no message with this id is held back, or that another one of its
// key is before it.
var ErrNotHeld = errors.New("outbox: no message with this id is held back")

// Held is a message that is held back, with the later ones of its key behind it. Times are the
// database's clock.
type Held struct {
	ID, Topic, Key string
	// State is "waiting" for the next attempt, "stopped" with its key until an operator
	// releases or skips it, or "skipped": its key goes on without it.
	State    string
	Attempts int64 // that failed
	Behind   int64 // messages of its key that wait for it
	Bytes    int64 // of the body
	Added    time.Time
	Since    time.Time // when it failed first
	// Next is the time of the next attempt of a waiting message; of a skipped one it is the
	// time at which it is deleted.
	Next     time.Time
	Error    string // of the last attempt
	Operator string // who gave the last verdict, if any did
	Reason   string
}

// List returns at most limit of the messages that are held back, those that failed first
// at the front; 0 means [MaxList].
func (o *Outbox) List(ctx context.Context, limit int) ([]Held, error) {
	if limit < 0 || limit > MaxList {
		return nil, fmt.Errorf("outbox: list: the limit %d is not between 1 and %d", limit, MaxList)
	}
	if limit == 0 {
		limit = MaxList
	}
	q := o.names.query(strings.TrimSpace(o.names.fill("list"))).add(" LIMIT ").int(int64(limit))
	found, err := o.db.QueryContext(ctx, q.text.String(), q.args...)
	if err != nil {
		return nil, fmt.Errorf("outbox: list: %w", dialect.Discreet(err))
	}
	defer func() { _ = found.Close() }()
	var all []Held
	for found.Next() {
		h, added, since, next := Held{}, int64(0), int64(0), int64(0)
		if err := found.Scan(&h.ID, &h.Topic, &h.Key, &h.State, &h.Attempts, &h.Behind, &h.Bytes, &added, &since, &next, &h.Error, &h.Operator, &h.Reason); err != nil {
			return nil, fmt.Errorf("outbox: list: %w", dialect.Discreet(err))
		}
		h.Added, h.Since = time.UnixMilli(added).UTC(), time.UnixMilli(since).UTC()
		if h.State != stateStopped {
			h.Next = time.UnixMilli(next).UTC()
		}
		all = append(all, h)
	}
	if err := found.Err(); err != nil {
		return nil, fmt.Errorf("outbox: list: %w", dialect.Discreet(err))
	}
	return all, nil
}

// Release has a message that is held back published again, with all its attempts before
// it: a stopped one with its key, a skipped one late, on its own. A relay begins within a second
// or two. by and the reason are written to the audit trail in the guard's store before anything is
// changed, and are kept with the message; the guard is that of the relays, or one of the same store.
//
// Errors: [operator.ErrVerdict]; [ErrNotHeld], perhaps after the entry was written, when the
// message is held no more; or those of the store and the database.
func (o *Outbox) Release(ctx context.Context, guard *semel.Guard, by operator.Identity, id, reason string) error {
	return o.verdict(ctx, guard, by, "release", id, reason, func(tx *sql.Tx, _ *row, h *hold) error {
		return o.names.query("UPDATE {{hold}} SET state = 'waiting', attempts = 0, next_ms = 0, operator = ").arg(by.Name).
			add(", reason = ").arg(reason).add(" WHERE hold = ").int(h.number).exec(ctx, tx)
	})
}

// Skip lets the key of a message that is held back go on without it. The message is kept
// as skipped for the time given, 0 for 7 days, and then deleted unless it was released;
// see [Outbox.Release] for the rest.
func (o *Outbox) Skip(ctx context.Context, guard *semel.Guard, by operator.Identity, id, reason string, keep time.Duration) error {
	if keep < 0 {
		return fmt.Errorf("outbox: skip: %v is negative", keep)
	}
	if keep == 0 {
		keep = defaultSkipped
	}
	return o.verdict(ctx, guard, by, "skip", id, reason, func(tx *sql.Tx, m *row, h *hold) error {
		return o.setAside(ctx, tx, m, &aside{stateSkipped, h.attempts, keep, h.text, by.Name, reason})
	})
}

// verdict finds the hold of a message, writes the verdict to the audit trail, changes the hold, and
// tells relays of it. The store is not asked within the transaction, for they may share a file.
func (o *Outbox) verdict(ctx context.Context, guard *semel.Guard, by operator.Identity, act, id, reason string, change func(tx *sql.Tx, m *row, h *hold) error) error {
	records, err := operator.New(guard, nil)
	if err != nil {
		return err
	}
	if _, _, err = o.first(ctx, o.db, id); err == nil {
		key := semel.Key{Scope: verdictScope + o.names.table, Name: fmt.Sprintf("%.200s %s", id, o.uuids.New())}
		_, err = records.Decide(ctx, by, act, key, semel.Settlement{State: semel.StateCompleted, Note: reason})
	}
	if err == nil {
		err = o.tx(ctx, func(tx *sql.Tx) error {
			// One verdict at a time: it locks the row.
			if err := o.names.query("UPDATE {{meta}} SET value = value + 1 WHERE name = 'verdicts'").exec(ctx, tx); err != nil {
				return err
			}
			m, h, err := o.first(ctx, tx, id)
			if err != nil {
				return err
			}
			return change(tx, m, h)
		})
	}
	if err != nil && !errors.Is(err, ErrNotHeld) {
		return fmt.Errorf("outbox: %s: %w", act, dialect.Discreet(err))
	}
	return err
}

// first returns the message with this id if it is the first one of a hold.
func (o *Outbox) first(ctx context.Context, e execer, id string) (*row, *hold, error) {
	m, h := &row{}, &hold{}
	q := o.names.query("SELECT m.seq, m.id, m.message_key, h.hold, h.attempts, h.error FROM {{table}} m JOIN {{hold}} h ON h.hold = -m.part WHERE m.id = ").arg(id).
		add(" AND NOT EXISTS (SELECT 1 FROM {{table}} b WHERE b.part = m.part AND b.seq < m.seq)")
	err := e.QueryRowContext(ctx, q.text.String(), q.args...).Scan(&m.seq, &m.ID, &m.Key, &h.number, &h.attempts, &h.text)
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrNotHeld
	}
	m.source = &source{hold: h}
	return m, h, err
}

// Stats are the numbers of an outbox at one time.
type Stats struct {
	// Waiting counts the messages that were not acknowledged, but none beyond 100,000.
	Waiting int64
	// Oldest is the age of the oldest message that waits for no operator, by the database's clock.
	Oldest time.Duration
	// Held counts the keys, and messages without one, that wait after a failure; Stopped
	// those that wait for an operator, and Skipped the messages put aside.
	Held, Stopped, Skipped int64
}

// Stats counts, for metrics. It reads the index of at most 100,000 messages, and waits for no transaction that writes.
func (o *Outbox) Stats(ctx context.Context) (s Stats, err error) {
	var heads []*source
	for number := range partitions {
		heads = append(heads, &source{part: &part{number: int64(number)}, limit: 1})
	}
	oldest := int64(0)
	err = o.reading(ctx, func(tx *sql.Tx) error {
		q := o.names.query("SELECT COUNT(*) FROM (SELECT 1 FROM {{table}} LIMIT ").int(MaxCounted).add(") counted")
		if s.Waiting, err = q.number(ctx, tx); err != nil {
			return err
		}
		q = o.selection(heads)
		text := "SELECT COALESCE(MAX(age), 0) FROM (" + q.text.String() + ") heads"
		if err := tx.QueryRowContext(ctx, text, q.args...).Scan(&oldest); err != nil {
			return err
		}
		q = o.names.query(o.names.fill("stats"))
		held := int64(0)
		if err := tx.QueryRowContext(ctx, q.text.String()).Scan(&s.Held, &s.Stopped, &s.Skipped, &held); err != nil {
			return err
		}
		oldest = max(oldest, held)
		return nil
	})
	if err != nil {
		return Stats{}, fmt.Errorf("outbox: count: %w", dialect.Discreet(err))
	}
	s.Oldest = time.Duration(oldest) * time.Millisecond
	return s, nil
}

// cut shortens a text for the table, and replaces what PostgreSQL does not keep in one.
func cut(text string) string {
	return verdict.CutNote(strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", "?"), "?"), maxErrorBytes)
}
