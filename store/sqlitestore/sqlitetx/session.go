package sqlitetx

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"

	"github.com/semel-dev/semel/store/sqlitestore/internal/table"
)

// names are the tables next to the application's own.
var names = table.Names{Package: "sqlitetx", Record: "semel_record", Meta: "semel_meta"} //nolint:gochecknoglobals // it is never changed.

// Execer is a transaction in the form that every library has: *sql.Tx itself,
// sqlx, GORM's ConnPool, ent and bun with the *sql.Tx inside of theirs, and
// DBTX of sqlc.
type Execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// sqlSession runs the engine's statements with one handle.
type sqlSession struct {
	Execer // runs SQL that is not worth preparing
	store  *Store
	// prepared returns a statement of the handle; nil for a handle of the
	// caller's, which runs the texts.
	prepared func(context.Context, table.Statement) *sql.Stmt
}

// pooled is any connection of the pool, for statements that only read.
func (s *Store) pooled() sqlSession {
	return sqlSession{s.db, s, func(_ context.Context, q table.Statement) *sql.Stmt { return s.stmts[q] }}
}

// bound is a transaction on the store's own pool, whose end closes the
// statements.
func (s *Store) bound(tx *sql.Tx) sqlSession {
	return sqlSession{tx, s, func(ctx context.Context, q table.Statement) *sql.Stmt { return tx.StmtContext(ctx, s.stmts[q]) }}
}

// Exec implements [table.Session].
func (s sqlSession) Exec(ctx context.Context, q table.Statement, args ...any) (driver.Result, error) {
	if s.prepared == nil {
		return s.ExecContext(ctx, s.store.texts[q], args...)
	}
	return s.prepared(ctx, q).ExecContext(ctx, args...) //nolint:sqlclosecheck // it is closed with the store.
}

// Each implements [table.Session].
func (s sqlSession) Each(ctx context.Context, q table.Statement, found func(table.Row) error, args ...any) error {
	if s.prepared == nil {
		return each(ctx, s, s.store.texts[q], found, args...)
	}
	rows, err := s.prepared(ctx, q).QueryContext(ctx, args...) //nolint:sqlclosecheck // it is closed with the store.
	return readAll(rows, err, found)
}

// each calls found for every row of a query.
func each(ctx context.Context, in Execer, query string, found func(table.Row) error, args ...any) error {
	rows, err := in.QueryContext(ctx, query, args...)
	return readAll(rows, err, found)
}

func readAll(rows *sql.Rows, err error, found func(table.Row) error) error {
	if err != nil {
		return err
	}
	for rows.Next() {
		if err := found(rows); err != nil {
			return cmp.Or(err, rows.Close())
		}
	}
	return cmp.Or(rows.Err(), rows.Close())
}

// number returns the first column of the first row.
func number(ctx context.Context, in Execer, query string) (n int64, err error) {
	found := false
	err = each(ctx, in, query, func(row table.Row) error {
		found = true
		return row.Scan(&n)
	})
	if err == nil && !found {
		err = fmt.Errorf("%s: got no row", query)
	}
	return n, err
}
