package pgstore

import (
	"context"
	"errors"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/semel-dev/semel"
)

var (
	errNoQueries  = errors.New("pgstore: the work has no statements (name them in TxOptions.Queries)")
	errUnread     = errors.New("the work has not asked for the rows of its statements (call pgstore.RowsFrom)")
	errTwoIntents = errors.New("the transactor's statements belong to another intent (make one with TxOptions.Queries for each)")
)

// first are queries that travel with the claim, and run only if that is won.
type first struct {
	*starter

	bound []*boundQuery
	rows  []memRows // by query
	sent  bool
	late  bool // they do not travel: the transaction may be one that only records
	asked bool // the work has its rows
	err   error
}

// starter opens transactions whose queries travel with the claim, for one call of [semel.DoTx].
type starter struct {
	store     *Store
	isolation string
	queries   []Query
	shares    bool // the first transaction, with others
	must      bool // the work has to ask for the rows

	mu   sync.Mutex   // guards the fields below
	last *transaction // the one before
	of   semel.Digest // whose queries these are, once one has claimed
}

// Nested joins a transaction around it, as [transactor] does.
func (s *starter) Nested(ctx context.Context) semel.Transactor {
	return s.store.nestedOr(ctx, s, s)
}

// Transaction implements [semel.Transactor]. What follows work that was undone may
// only record what is known of it, so there the queries wait until the work asks for them.
func (s *starter) Transaction(ctx context.Context) (semel.Tx, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shares && s.last == nil && s.isolation == "" && s.store.shares(s.queries) {
		r, err := s.store.sharedTx(s)
		if err != nil {
			return nil, err
		}
		s.last = r.transaction
		return r, nil
	}
	t, err := s.store.transaction(ctx, s.isolation)
	if err != nil {
		return nil, err
	}
	t.first = &first{starter: s, late: s.last != nil && s.last.won && !s.last.tried}
	s.last = t
	return t, nil
}

// belongs refuses the claim of another intent: these are not its queries.
func (s *starter) belongs(d semel.Digest) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch s.of {
	case semel.Digest{}:
		s.of = d
	case d:
	default:
		return errTwoIntents
	}
	return nil
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
// or the queries cannot be sent with the claim.
func (t *transaction) claimWith(ctx context.Context) (sent bool, err error) {
	f := t.first
	if f == nil || f.sent || f.late || t.nest != nil || t.sql.lock.name == "" {
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

// RowsFrom returns the rows of the statements in [TxOptions].Queries of the transaction
// in ctx: one [pgx.Rows] for each, in order, read into memory. The error is that of the
// first statement that failed; return it.
func RowsFrom(ctx context.Context) ([]pgx.Rows, error) {
	t := txFrom(ctx)
	if t == nil || t.first == nil {
		return nil, errNoQueries
	}
	return t.all(ctx, t.first.queries)
}

// unread reports work that has not asked for the rows of its statements, which may not have been made.
func (t *transaction) unread() error {
	if f := t.first; f != nil && f.must && t.working && !f.asked {
		return errUnread
	}
	return nil
}

// all are the rows of the queries: read already, or asked for now.
func (t *transaction) all(ctx context.Context, queries []Query) ([]pgx.Rows, error) {
	all := make([]pgx.Rows, len(queries))
	if f := t.first; f != nil {
		f.asked = true
		for i := range f.rows {
			all[i] = &f.rows[i]
		}
		if f.sent {
			return all, f.err
		}
	}
	for i, q := range queries {
		rows, err := t.work.Query(ctx, q.SQL, q.Args...)
		if err != nil {
			return nil, err
		}
		read := &memRows{typeMap: t.wire.conn.TypeMap(), conn: t.wire.conn, fields: rows.FieldDescriptions()}
		for rows.Next() {
			read.add(rows.RawValues())
		}
		if rows.Close(); rows.Err() != nil {
			return nil, rows.Err()
		}
		read.tag, all[i] = rows.CommandTag(), read
	}
	return all, nil
}
