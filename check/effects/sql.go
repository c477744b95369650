package effects

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/check/internal/place"
	"github.com/semel-dev/semel/internal/dialect"
)

// queryTimeout bounds one count in a database.
const queryTimeout = 30 * time.Second

// query is a query that counts.
type query struct {
	db      *sql.DB
	dialect dialect.Dialect
	text    string   // with placeholders
	places  []string // the places behind the placeholders, in order
}

// SQL counts with a query that returns one row with one number, such as SELECT count(*) FROM orders WHERE number =
// {{n}}. Places, including {{var:NAME}}, become parameters of the statement and are written without quotes. They are
// texts, except that SQLite and MySQL get {{n}} as a number: compare with CAST where that matters.
//
// The query runs in a transaction that is read-only, if the database supports that, and that is always rolled back.
// Reports use name for the database; it must not contain secrets. The caller closes the database.
func SQL(name string, db *sql.DB, d dialect.Dialect, text string) (check.Counter, error) {
	q := &query{db: db, dialect: d}
	perIntent, err := ofIntent(text)
	if err != nil {
		return nil, err
	}
	if err := unquoted(text); err != nil {
		return nil, err
	}
	q.text = regexp.MustCompile(placePattern).ReplaceAllStringFunc(text, func(found string) string {
		q.places = append(q.places, found)
		return d.Placeholder(len(q.places))
	})
	q.text = strings.TrimRight(strings.TrimSpace(q.text), ";")
	if q.text == "" {
		return nil, errors.New("the query is empty: write it as SELECT count(*) FROM orders")
	}
	return &counter{"the query in " + name, perIntent, q.count}, nil
}

// placePattern finds one {{…}}.
const placePattern = `\{\{[^{}]*\}\}`

// unquoted rejects places inside quotes, which cannot hold parameters, and in comments. It knows the quotes that all
// dialects share.
func unquoted(query string) error {
	tokens := regexp.MustCompile(`'(?:[^']|'')*'|"(?:[^"]|"")*"|` + "`[^`]*`" + `|--[^\n]*|(?s:/\*.*?\*/)`)
	for _, token := range tokens.FindAllString(query, -1) {
		if places := place.Names(token); len(places) > 0 {
			return fmt.Errorf("{{%s}} is in quotes or in a comment of the query: it becomes a parameter, so write it without quotes, and concatenate texts in SQL", places[0])
		}
	}
	return nil
}

func (q *query) count(ctx context.Context, fill func(string) string) (int64, error) {
	values := make([]any, len(q.places))
	for i, at := range q.places {
		value, err := filled(fill, at)
		if err != nil {
			return 0, err
		}
		values[i] = value
		if whole, err := strconv.ParseInt(value, 10, 64); err == nil && q.dialect != dialect.PostgreSQL && place.Names(at)[0] == "n" {
			values[i] = whole
		}
	}
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	tx, err := q.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return 0, fmt.Errorf("begin the count: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // nothing was written
	rows, err := tx.QueryContext(ctx, q.text, values...)
	if err != nil {
		return 0, fmt.Errorf("run the count: %w", err)
	}
	defer func() { _ = rows.Close() }() // its error is that of rows.Err
	return single(rows)
}

// single reads the only column of the only row.
func single(rows *sql.Rows) (int64, error) {
	columns, err := rows.Columns()
	switch {
	case err != nil:
		return 0, fmt.Errorf("read the count: %w", err)
	case len(columns) != 1:
		return 0, fmt.Errorf("the query returns %d columns instead of one number: write SELECT count(*) FROM …", len(columns))
	case !rows.Next():
		if err := rows.Err(); err != nil {
			return 0, fmt.Errorf("read the count: %w", err)
		}
		return 0, errors.New("the query returns no row instead of one number: write SELECT count(*) FROM …")
	}
	var value sql.NullString
	if err := rows.Scan(&value); err != nil {
		return 0, fmt.Errorf("read the count: %w", err)
	}
	switch {
	case !value.Valid:
		return 0, errors.New("the query returns NULL instead of a number: write count(*), or coalesce(sum(…), 0)")
	case rows.Next():
		return 0, errors.New("the query returns several rows instead of one number: write SELECT count(*) FROM …")
	case rows.Err() != nil:
		return 0, fmt.Errorf("read the count: %w", rows.Err())
	}
	n, err := number(value.String)
	if err != nil {
		return 0, fmt.Errorf("the query returns no count: %w", err)
	}
	return n, nil
}
