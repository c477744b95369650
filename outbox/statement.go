package outbox

import (
	"context"
	"fmt"

	"github.com/semel-dev/semel/internal/dialect"
)

// Statement is [Outbox.Add] for callers that send their statements together: it returns the
// statement that adds the messages, to travel in the same round trip as those of the caller: in a
// pgx.Batch, in the statements of pgstore.Run or mysqlstore.Run, or in those of a transaction that an inbox
// opens. Like a call of Add, it belongs after the statement that locks the row its key names.
//
// The statement fails where Add returns [ErrConflict], and where another transaction
// adds the same ID at the same moment: roll back. At most 500 messages, of 4 MiB together.
func (o *Outbox) Statement(ctx context.Context, messages ...Message) (query string, args []any, err error) {
	rows := make([]added, 0, len(messages))
	size, repeats := 0, false
	given := map[string]bool{}
	for i := range messages {
		m, known, err := o.prepared(ctx, messages[i], given)
		if err != nil {
			return "", nil, fmt.Errorf("%w (message %d of %d)", err, i+1, len(messages))
		}
		rows = append(rows, m)
		size, repeats = size+m.size(), repeats || known
	}
	if n := len(rows); n == 0 || n > maxRows || size > maxStatementBytes && n > 1 {
		return "", nil, fmt.Errorf("%w: %d messages of %d bytes do not fit into one statement (1 to %d messages, %d bytes; call Add)", ErrInvalid, n, size, maxRows, maxStatementBytes)
	}
	switch d := o.names.dialect; {
	case !repeats:
		query, args = o.statement(rows, "")
	case d == dialect.PostgreSQL:
		query, args = o.statementOrFail(rows)
	case d == dialect.MySQL:
		query, args = o.statement(rows, "add_again_mysql")
	case d == dialect.SQLite:
		query, args = o.statement(rows, "add_or_fail_sqlite")
	}
	return query, args, nil
}

// statementOrFail neither writes nor locks messages that wait already, and fails when an ID
// belongs to a different message.
func (o *Outbox) statementOrFail(rows []added) (text string, args []any) {
	q := o.names.query("WITH given (id, topic, message_key, header, body, part) AS (VALUES ")
	for i := range rows {
		if i > 0 {
			q.add(", ")
		}
		q.add("(")
		for j, v := range append(rows[i].values(), rows[i].partition()) {
			if j > 0 {
				q.add(", ")
			}
			q.arg(v).add([...]string{"::text", "::text", "::text", "::text", "::bytea", "::bigint"}[j])
		}
		q.add(")")
	}
	q.text.WriteString(o.names.fill("add_or_fail_postgresql"))
	return q.text.String(), q.args
}
