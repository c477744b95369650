package pgstore

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/semel-dev/semel"
)

// first are queries that travel with the claim, and run only if that is won.
type first struct {
	queries []Query
	bound   []*boundQuery
	rows    []memRows // by query
	sent    bool
	err     error
}

// starter opens transactions whose claim takes queries along.
type starter struct {
	store   *Store
	queries []Query
	shares  bool // the first transaction, with others
	begun   bool
	tried   func() bool // whether the last transaction tried to commit
}

// Transaction implements [semel.Transactor]. What follows work that was undone
// records what is known of it, and takes nothing along.
func (s *starter) Transaction(ctx context.Context) (semel.Tx, error) {
	if s.shares && !s.begun {
		r, err := s.store.ride(s.queries)
		if err != nil {
			return nil, err
		}
		s.begun, s.tried = true, func() bool { return r.tried }
		return r, nil
	}
	t, err := s.store.transaction(ctx, "")
	if err != nil {
		return nil, err
	}
	if !s.begun || s.tried() {
		t.first = &first{queries: s.queries}
	}
	s.begun, s.tried = true, func() bool { return t.tried }
	return t, nil
}

// bind prepares the queries and encodes their arguments.
func (f *first) bind(ctx context.Context, w *wire) error {
	f.bound, f.rows = f.bound[:0], make([]memRows, len(f.queries))
	for i := range f.queries {
		b, err := bindQuery(ctx, w, f.queries[i].SQL, f.queries[i].Args)
		if err != nil {
			return err
		}
		f.bound = append(f.bound, b)
		f.rows[i] = memRows{typeMap: w.conn.TypeMap(), conn: w.conn}
	}
	return nil
}

// size is that of all arguments, in bytes.
func (f *first) size() (n int) {
	for _, b := range f.bound {
		n += b.size()
	}
	return n
}

// of is the query that a statement executes, or -1.
func (f *first) of(s *statement) int {
	if f != nil {
		for i, b := range f.bound {
			if b.statement == s {
				return i
			}
		}
	}
	return -1
}

// queueFirstQueries adds the lock, the look for the record, and the queries to a round trip.
func (t *transaction) queueFirstQueries(w *wire) {
	w.queue(t.sql.lockElse, t.number(0, t.store.lockNumber(t.params.Digest)))
	w.queue(t.sql.drawElse, t.params.Digest[:])
	for _, b := range t.first.bound {
		w.queueBind(b.statement, &b.bind)
	}
}

// claimWith is the first try of claimLock with queries behind the claim. sent
// is false when the claim has to be made without: there is a twin or a record,
// or the queries cannot travel.
func (t *transaction) claimWith(ctx context.Context) (sent bool, err error) {
	f := t.first
	if f == nil || f.sent || t.nest != nil || t.sql.lock.name == "" {
		return false, nil
	}
	if err := t.wire.ready(ctx); err != nil {
		return false, err
	}
	if f.bind(ctx, &t.wire) != nil {
		return false, nil //nolint:nilerr // whatever is wrong with a query, its failure belongs to the work.
	}
	if len(f.bound) > 1 && f.size() > togetherBytes { // all are sent before an answer is read
		return false, nil
	}
	err = t.trip(ctx, func() {
		t.queueBegin()
		t.queueFirstQueries(&t.wire)
	})
	failed, ok := errors.AsType[*failure](err)
	of := -1
	if ok && failed.at != nil {
		of = f.of(failed.at)
	}
	switch {
	case of >= 0 && code(err) == codeNoStatement:
		t.wire.hangUp() //nolint:contextcheck // the driver does not know that it has lost it.
		return false, err
	case of >= 0:
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
		return &f.rows[0], f.err
	}
	return t.work.Query(ctx, q.SQL, q.Args...)
}
