package mysqlstore

import (
	"context"
	"database/sql"
)

// Execer is a transaction as every library shows it in some way: *sql.Tx
// itself, *sqlx.Tx, GORM's ConnPool, ent's transaction, the *sql.Tx inside of
// bun.Tx, and what sqlc calls DBTX.
type Execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// txHandle is an open transaction in which statements are run.
type txHandle struct {
	execer Execer
	conn   *conn // where it is known to be a connection of this package
	// doubtful: it is not known whether a transaction is open.
	doubtful bool
}

// runAll runs statements in their order, in one round trip where that is possible,
// and returns for each how many rows it touched and the number it gave to one.
func (p txHandle) runAll(ctx context.Context, statements ...string) (rows, ids []int64, err error) {
	if p.conn != nil {
		st := &roundTrip{statements: statements}
		_, err := p.execer.ExecContext(st.in(ctx), "")
		return st.rows, st.ids, err
	}
	for _, statement := range statements {
		res, err := p.execer.ExecContext(ctx, statement)
		if err != nil {
			return nil, nil, err
		}
		n, err := res.RowsAffected()
		if err != nil {
			return nil, nil, err
		}
		id, err := res.LastInsertId()
		if err != nil {
			return nil, nil, err
		}
		rows, ids = append(rows, n), append(ids, id)
	}
	return rows, ids, nil
}
