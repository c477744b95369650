package pgstore

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/semel-dev/semel"
)

// first is a query that travels with the claim, and runs only if that is won.
type first struct {
	query *Query
	sent  bool
	err   error
}

// starter opens transactions whose claim takes a query along.
type starter struct {
	store *Store
	query *Query
	last  *transaction
}

// Transaction implements [semel.Transactor]. What follows work that was undone
// records what is known of it, and takes nothing along.
func (s *starter) Transaction(ctx context.Context) (semel.Tx, error) {
	t, err := s.store.transaction(ctx, "")
	if err != nil {
		return nil, err
	}
	if s.last == nil || s.last.tried {
		t.first = &first{query: s.query}
	}
	s.last = t
	return t, nil
}

// claimWith is the first try of claimLock with a query behind the claim. sent
// is false when the claim has to be made without: there is a twin or a record,
// or the query cannot travel.
func (t *transaction) claimWith(ctx context.Context) (sent bool, err error) {
	f := t.first
	if f == nil || f.sent || t.nest != nil || t.sql.lock.name == "" {
		return false, nil
	}
	if err := t.wire.ready(ctx); err != nil {
		return false, err
	}
	b, err := bindQuery(ctx, &t.wire, f.query.SQL, f.query.Args)
	if err != nil {
		return false, nil //nolint:nilerr // whatever is wrong with the query, its failure belongs to the work.
	}
	t.found = memRows{typeMap: t.wire.conn.TypeMap(), conn: t.wire.conn}
	err = t.trip(ctx, func() {
		t.queueBegin()
		t.wire.queue(t.sql.lockElse, t.number(0, t.store.lockNumber(t.params.Digest)))
		t.wire.queue(t.sql.drawElse, t.params.Digest[:])
		t.wire.queueBind(b.statement, &b.bind)
	})
	failed, ok := errors.AsType[*failure](err)
	switch {
	case ok && failed.at == b.statement && code(err) == codeNoStatement:
		t.wire.hangUp() //nolint:contextcheck // the driver does not know that it has lost it.
		return false, err
	case ok && failed.at == b.statement:
		f.sent, f.err = true, failed.err
		return true, nil
	case ok && failed.at != nil && code(err) == codeInvalidText:
		t.undo() //nolint:contextcheck // what runs here must not end with the context.
		return false, nil
	}
	f.sent = err == nil
	return f.sent, err
}

// rows are those of the query: read already, or asked for now.
func (t *transaction) rows(ctx context.Context, q *Query) (pgx.Rows, error) {
	if f := t.first; f != nil && f.sent {
		return &t.found, f.err
	}
	return t.work.Query(ctx, q.SQL, q.Args...)
}
