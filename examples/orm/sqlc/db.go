package sqlc

import (
	"context"
	"database/sql"
)

// DBTX is a pool or a transaction. This file, models.go and query.sql.go have
// the shape of what sqlc generates from schema.sql and query.sql.
type DBTX interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
	PrepareContext(context.Context, string) (*sql.Stmt, error)
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
	QueryRowContext(context.Context, string, ...any) *sql.Row
}

// NewQueries is called New in what sqlc generates.
func NewQueries(db DBTX) *Queries {
	return &Queries{db: db}
}

// Queries are the statements of query.sql.
type Queries struct {
	db DBTX
}

// WithTx returns the queries in a transaction.
func (q *Queries) WithTx(tx *sql.Tx) *Queries {
	return &Queries{db: tx}
}
