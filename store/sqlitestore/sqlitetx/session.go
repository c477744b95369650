package sqlitetx

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"strings"
)

// statement is one of the package's own.
type statement int

const (
	stmtLock statement = iota
	stmtClaim
	stmtRenew
	stmtSettle
	stmtSettleSooner
	stmtRelease
	stmtLookup
	stmtList
	stmtCount
	stmtDue
	stmtSweepCorrect
	stmtSweepDelete
	statements // how many there are
)

//go:embed sql/*.sql
var files embed.FS

// texts reads the statements, each without what stands around it: some drivers
// compile a text with a tail anew at every call.
func texts() (all [statements]string, err error) {
	for i, name := range [statements]string{
		"lock", "claim", "renew", "settle", "settle_sooner", "release",
		"lookup", "list", "count", "due", "sweep_correct", "sweep_delete",
	} {
		text, err := files.ReadFile("sql/" + name + ".sql")
		if err != nil {
			return all, err
		}
		all[i] = strings.TrimSpace(string(text))
	}
	return all, nil
}

// Execer is a transaction as every library shows it in some way: *sql.Tx
// itself, sqlx, GORM's ConnPool, ent and bun with the *sql.Tx inside of
// theirs, and what sqlc calls DBTX.
type Execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// session runs the package's statements in one place.
type session interface {
	exec(ctx context.Context, q statement, args ...any) (changed int64, err error)
	query(ctx context.Context, q statement, args ...any) (*sql.Rows, error)
	// text runs what is not worth preparing.
	text() Execer
}

// pooled is any connection of the pool, for statements that only read.
type pooled struct{ store *Store }

func (s pooled) exec(ctx context.Context, q statement, args ...any) (int64, error) {
	return changes(s.store.stmts[q].ExecContext(ctx, args...))
}

func (s pooled) query(ctx context.Context, q statement, args ...any) (*sql.Rows, error) {
	return s.store.stmts[q].QueryContext(ctx, args...)
}

func (s pooled) text() Execer { return s.store.db }

// bound is a transaction on the store's own pool.
type bound struct {
	store *Store
	tx    *sql.Tx
}

func (s bound) exec(ctx context.Context, q statement, args ...any) (int64, error) {
	return changes(s.tx.StmtContext(ctx, s.store.stmts[q]).ExecContext(ctx, args...)) //nolint:sqlclosecheck // the transaction's end closes it.
}

func (s bound) query(ctx context.Context, q statement, args ...any) (*sql.Rows, error) {
	return s.tx.StmtContext(ctx, s.store.stmts[q]).QueryContext(ctx, args...) //nolint:sqlclosecheck // the transaction's end closes it, the caller the rows.
}

func (s bound) text() Execer { return s.tx }

// foreign is a transaction of the caller's, of which nothing is known but that
// it runs statements.
type foreign struct {
	store  *Store
	execer Execer
}

func (s foreign) exec(ctx context.Context, q statement, args ...any) (int64, error) {
	return changes(s.execer.ExecContext(ctx, s.store.texts[q], args...))
}

func (s foreign) query(ctx context.Context, q statement, args ...any) (*sql.Rows, error) {
	return s.execer.QueryContext(ctx, s.store.texts[q], args...)
}

func (s foreign) text() Execer { return s.execer }

func changes(res sql.Result, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// each calls found for every row, and closes them.
func each(rows *sql.Rows, err error, found func(*sql.Rows) error) error {
	if err != nil {
		return err
	}
	for rows.Next() {
		if err := found(rows); err != nil {
			return joined(err, rows.Close())
		}
	}
	return joined(rows.Err(), rows.Close())
}

// joined keeps the first of two errors, which explains the second.
func joined(first, second error) error {
	if first != nil {
		return first
	}
	return second
}

// number returns the first column of the first row.
func number(ctx context.Context, in Execer, query string) (n int64, err error) {
	rows, err := in.QueryContext(ctx, query)
	found := false
	err = each(rows, err, func(rows *sql.Rows) error {
		found = true
		return rows.Scan(&n)
	})
	if err == nil && !found {
		err = fmt.Errorf("%s: got no row", query)
	}
	return n, err
}
