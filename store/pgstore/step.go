package pgstore

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/semel-dev/semel/internal/pgcommit"
	"github.com/semel-dev/semel/internal/waiting"
	"github.com/semel-dev/semel/store/internal/verb"
)

// backoff bounds how often one verb asks the database, in addition to its context.
var backoff = waiting.Backoff{Tries: 32, First: time.Millisecond, Most: 100 * time.Millisecond} //nolint:gochecknoglobals // it is never changed.

// step runs one verb.
func (s *Store) step(ctx context.Context, act string, do func() error) error {
	return s.enter(ctx, act, verb.Reads, do)
}

// write is step for verbs that change something.
func (s *Store) write(ctx context.Context, act string, do func() error) error {
	return s.enter(ctx, act, verb.Writes, do)
}

func (s *Store) enter(ctx context.Context, act string, writes bool, do func() error) error {
	if err := s.gate.Enter(act, writes); err != nil {
		return err
	}
	defer s.gate.Leave()
	return translate(act, tries(ctx, do))
}

// commit runs a statement that changes something, on a connection of the pool. The
// server commits it as it ends, so the end of ctx does not cancel it.
func (s *Store) commit(ctx context.Context, do func(*pgxpool.Conn) error) error {
	return s.pool.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
		defer pgcommit.Shield(conn.Conn().PgConn())()
		return do(conn)
	})
}

// change is commit for a statement that returns no rows.
func (s *Store) change(ctx context.Context, text string, args ...any) (changed int64, err error) {
	err = s.commit(ctx, func(conn *pgxpool.Conn) error {
		tag, err := conn.Exec(ctx, text, args...)
		changed = tag.RowsAffected()
		return err
	})
	return changed, err
}

// tries runs a verb, and runs it again when the database says that nothing
// happened because of another transaction, and when nothing was sent yet.
func tries(ctx context.Context, do func() error) error {
	return backoff.Do(ctx, passes, do)
}
