package outbox

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/semel-dev/semel/internal/dialect"
)

// maxReadBytes bounds the bodies of one read, but for the last one.
const maxReadBytes = 16 << 20

// row is a message in the table.
type row struct {
	Message

	seq    int64
	age    time.Duration
	source *source
}

// query is a statement that is being written. Numbers are parameters in PostgreSQL, which
// plans each text once, and literals elsewhere, where that saves a round trip.
type query struct {
	names names
	text  strings.Builder
	args  []any
}

func (n names) query(text string) *query {
	q := &query{names: n}
	return q.add(text)
}

func (q *query) add(text string) *query {
	q.text.WriteString(q.names.text(text))
	return q
}

// int adds a number.
func (q *query) int(n int64) *query {
	if q.names.dialect == dialect.PostgreSQL {
		return q.arg(n)
	}
	q.text.WriteString(strconv.FormatInt(n, 10))
	return q
}

// arg adds a parameter.
func (q *query) arg(v any) *query {
	q.args = append(q.args, v)
	q.text.WriteString(q.names.dialect.Placeholder(len(q.args)))
	return q
}

// list adds parameters.
func (q *query) list(values ...any) *query {
	for i, v := range values {
		if i > 0 {
			q.add(", ")
		}
		q.arg(v)
	}
	return q
}

// these adds a condition on the rows.
func (q *query) these(rows []*row) *query {
	postgres := q.names.dialect == dialect.PostgreSQL
	var list strings.Builder
	for i, m := range rows {
		if i > 0 {
			list.WriteString(map[bool]string{true: "\n", false: ","}[postgres])
		}
		if postgres {
			list.WriteString(m.ID)
		} else {
			list.WriteString(strconv.FormatInt(m.seq, 10))
		}
	}
	if postgres { // by its primary key
		return q.add("id = ANY (string_to_array(").arg(list.String()).add(", E'\\n'))")
	}
	return q.add("seq IN (" + list.String() + ")")
}

// execer runs statements: a pool or a transaction.
type execer interface {
	Execer
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func (q *query) exec(ctx context.Context, e Execer) error {
	_, err := e.ExecContext(ctx, q.text.String(), q.args...)
	return err
}

// number runs a query for one number.
func (q *query) number(ctx context.Context, e execer) (n int64, err error) {
	err = e.QueryRowContext(ctx, q.text.String(), q.args...).Scan(&n)
	return n, err
}

// tx runs work in a transaction, in which PostgreSQL uses the indexes: its plans are kept, and one
// that was made while the table was empty would read all of it later. The price that this puts on reading a small table without
// an index would have PostgreSQL compile such a query each time, which takes longer than the query.
func (o *Outbox) tx(ctx context.Context, work func(tx *sql.Tx) error) error {
	return o.begin(ctx, false, work)
}

// reading runs work in a transaction that only reads, and does not wait for one that writes: a file of SQLite has one writer at a
// time, which a caller that counts often would be for most of the time.
func (o *Outbox) reading(ctx context.Context, work func(tx *sql.Tx) error) error {
	return o.begin(ctx, true, work)
}

func (o *Outbox) begin(ctx context.Context, readOnly bool, work func(tx *sql.Tx) error) error {
	options := &sql.TxOptions{ReadOnly: readOnly}
	if o.names.dialect != dialect.SQLite { // it has one level
		options.Isolation = sql.LevelReadCommitted // without it, MySQL locks the gaps in which others add
	}
	tx, err := o.db.BeginTx(ctx, options)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after a commit it does nothing; otherwise the first error counts.
	if o.names.dialect == dialect.PostgreSQL {
		//semel:safe settings that end with the transaction
		if _, err := tx.ExecContext(ctx, "SELECT set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true), set_config('enable_sort', 'off', true), set_config('jit', 'off', true)"); err != nil {
			return err
		}
	}
	if err := work(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// read deletes what was published, and reads the next messages of the sources.
func (l *lane) read(ctx context.Context, sources []*source) (rows []*row, err error) {
	o := l.r.out
	if len(l.acked) == 0 && (len(sources) == 0 || o.names.dialect != dialect.PostgreSQL) {
		return l.rows(ctx, o.db, sources)
	}
	err = o.tx(ctx, func(tx *sql.Tx) error {
		if len(l.acked) > 0 {
			if err := o.names.query("DELETE FROM {{table}} WHERE ").these(l.acked).exec(ctx, tx); err != nil {
				return err
			}
		}
		rows, err = l.rows(ctx, tx, sources)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read: %w", err)
	}
	l.acked = nil
	return rows, nil
}

// rows reads the messages of the sources.
func (l *lane) rows(ctx context.Context, e execer, sources []*source) (rows []*row, err error) {
	if len(sources) == 0 {
		return nil, nil
	}
	q := l.r.out.selection(sources)
	found, err := e.QueryContext(ctx, q.text.String(), q.args...)
	if err != nil {
		return nil, fmt.Errorf("read: %w", err)
	}
	defer func() { _ = found.Close() }()
	size := 0
	for size < maxReadBytes && found.Next() {
		m, at, age, header := &row{}, 0, int64(0), ""
		if err := found.Scan(&at, &m.seq, &m.ID, &age, &m.Topic, &m.Key, &header, &m.Body); err != nil {
			return nil, fmt.Errorf("read: %w", err)
		}
		m.source, m.age = sources[at], time.Duration(age)*time.Millisecond
		if err := m.restore(header); err != nil {
			return nil, fmt.Errorf("read the header of %s: %w", m.ID, err)
		}
		m.source.rows++
		size += len(m.Body) + len(header)
		rows = append(rows, m)
	}
	if err := found.Err(); err != nil {
		return nil, fmt.Errorf("read: %w", err)
	}
	if err := found.Close(); err != nil {
		return nil, fmt.Errorf("read: %w", err)
	}
	if size >= maxReadBytes {
		l.limit = max(1, len(rows))
	} else {
		l.limit = min(2*l.limit, l.r.o.Batch)
	}
	for _, s := range sources {
		if s.hold == nil {
			s.part.full = s.rows == s.limit
		}
	}
	return rows, nil
}

// selection is the query for the messages of the sources, each by the index of its part.
func (o *Outbox) selection(sources []*source) *query {
	q := o.names.query("")
	open, shut := "(", ")"
	if o.names.dialect == dialect.SQLite {
		open, shut = "SELECT * FROM (", ")"
	}
	for i, s := range sources {
		if i > 0 {
			q.add(" UNION ALL ")
		}
		q.add(open + "SELECT " + strconv.Itoa(i) + ", seq, id, {{now}} - added_ms AS age, topic, message_key, header, body FROM {{table}} WHERE part = ").
			int(s.place()).add(" ORDER BY seq LIMIT ").int(int64(s.limit)).add(shut)
	}
	return q
}
