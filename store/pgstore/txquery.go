package pgstore

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"
)

// maxQueries bounds how many different queries of callers a connection keeps
// prepared for [Run] and [Exec].
const maxQueries = 128

var errManyQueries = errors.New("the connection has prepared too many different statements")

// Query is a statement with its arguments, as [pgx.Conn.Query] takes them.
type Query struct {
	SQL  string
	Args []any
}

// boundQuery is a query of a caller's as a [wire] sends it.
type boundQuery struct {
	statement *statement
	bind      pgproto3.Bind
}

// size is that of the arguments, in bytes.
func (b *boundQuery) size() int {
	n := 0
	for _, p := range b.bind.Parameters {
		n += len(p)
	}
	return n
}

// bindQuery prepares a query and encodes its arguments.
func bindQuery(ctx context.Context, w *wire, sql string, args []any) (*boundQuery, error) {
	name, ok := w.known.queries[sql]
	if !ok {
		if len(w.known.queries) >= maxQueries {
			return nil, errManyQueries
		}
		name = preparedName(sql)
	}
	described, err := w.conn.Prepare(ctx, name, sql)
	if err != nil {
		return nil, err
	}
	w.known.queries[sql] = name
	var build pgx.ExtendedQueryBuilder
	if err := build.Build(w.conn.TypeMap(), described, args); err != nil {
		return nil, err
	}
	return &boundQuery{
		statement: &statement{name: name, describe: true},
		bind: pgproto3.Bind{
			PreparedStatement: name, Parameters: build.ParamValues,
			ParameterFormatCodes: build.ParamFormats, ResultFormatCodes: build.ResultFormats,
		},
	}, nil
}
