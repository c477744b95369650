package outbox

import (
	"context"
	"database/sql"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/ids"
	"github.com/semel-dev/semel/internal/dialect"
)

const (
	// maxRows and maxStatementBytes bound one statement of Add.
	maxRows           = 500
	maxStatementBytes = 4 << 20

	columns = 6 // of a row that are parameters
)

// Execer is a transaction of database/sql, such as [*sql.Tx]; [Pgx] makes one of pgx's.
type Execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// Pgx makes an [Execer] of a transaction of pgx, such as a pgx.Tx.
func Pgx[Tag interface{ RowsAffected() int64 }](tx interface {
	Exec(ctx context.Context, sql string, args ...any) (Tag, error)
},
) Execer {
	return pgxTx[Tag]{tx.Exec}
}

type pgxTx[Tag interface{ RowsAffected() int64 }] struct {
	exec func(ctx context.Context, sql string, args ...any) (Tag, error)
}

// ExecContext implements [Execer].
func (t pgxTx[Tag]) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	tag, err := t.exec(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return affected(tag.RowsAffected()), nil
}

// affected is the result of a statement of pgx.
type affected int64

// LastInsertId implements [sql.Result].
func (affected) LastInsertId() (int64, error) { return 0, nil }

// RowsAffected implements [sql.Result].
func (n affected) RowsAffected() (int64, error) { return int64(n), nil }

// Add writes messages in the caller's transaction: they are published if and only if it
// commits, those of one key in their order here. Many messages take one statement. tx
// is a transaction of the database that [Open] was given.
//
// A message without an ID gets one: a UUID of version 7, or, where ctx works under an
// intent ([semel.ClaimFrom], [semel.TxClaimFrom]), one derived from the intent and a
// running number. Work that is executed again thus adds the same ids, in whatever transaction; one
// that still waits is not added twice. It must add its messages in the same order then. A key
// that is used again after the retention of its record gives the same ids once more: set ID there.
//
// The error wraps [ErrInvalid] or [ErrConflict], or is the database's own: roll back.
func (o *Outbox) Add(ctx context.Context, tx Execer, messages ...Message) error {
	rows := make([]any, 0, columns*min(len(messages), maxRows))
	size := 0
	given := map[string]bool{}
	for i := range messages {
		m := messages[i]
		if err := m.check(o.maxBody); err != nil {
			return fmt.Errorf("%w (message %d of %d)", err, i+1, len(messages))
		}
		switch {
		case m.ID == "":
			m.ID = o.newID(ctx)
		case given[m.ID]:
			return fmt.Errorf("%w: two have the id %s (message %d of %d)", ErrInvalid, m.ID, i+1, len(messages))
		default:
			given[m.ID] = true
		}
		header, err := m.header()
		if err != nil {
			return fmt.Errorf("%w: %w", ErrInvalid, err)
		}
		body := m.Body
		if body == nil {
			body = []byte{}
		}
		bytes := len(body) + len(header) + len(m.Topic)
		if len(rows) == columns*maxRows || size+bytes > maxStatementBytes && len(rows) > 0 {
			if err := o.insert(ctx, tx, rows); err != nil {
				return err
			}
			rows, size = rows[:0], 0
		}
		rows = append(rows, m.ID, m.partition(), m.Topic, m.Key, header, body)
		size += bytes
	}
	if len(rows) == 0 {
		return nil
	}
	return o.insert(ctx, tx, rows)
}

// insert writes rows in one statement.
func (o *Outbox) insert(ctx context.Context, tx Execer, rows []any) error {
	n := len(rows) / columns
	var text strings.Builder
	text.WriteString(o.names.text("INSERT INTO {{table}} (id, part, topic, message_key, header, body, added_ms) VALUES "))
	for i := range n {
		if i > 0 {
			text.WriteString(", ")
		}
		text.WriteString("(" + o.names.dialect.Placeholders(i*columns+1, columns) + ", " + nowOf(o.names.dialect) + ")")
	}
	text.WriteString(o.names.fill("add_again_" + o.again()))
	result, err := tx.ExecContext(ctx, text.String(), rows...)
	if isNull(err) {
		return ErrConflict
	}
	if err != nil {
		return fmt.Errorf("outbox: add: %w", err)
	}
	if o.names.dialect == dialect.MySQL {
		return nil
	}
	written, err := result.RowsAffected()
	if err != nil {
		return fmt.Errorf("outbox: add: %w", err)
	}
	if written != int64(n) {
		return ErrConflict
	}
	return nil
}

func (o *Outbox) again() string {
	if o.names.dialect == dialect.MySQL {
		return "mysql"
	}
	return "sql"
}

// isNull reports whether MySQL or MariaDB refused a NULL. The driver's error has a field
// Number, and this package does not import the driver.
func isNull(err error) bool {
	const errNull, errCheck, errCheckMariaDB = 1048, 3819, 4025
	value := reflect.Indirect(reflect.ValueOf(err))
	if err == nil || value.Kind() != reflect.Struct {
		return false
	}
	number := value.FieldByName("Number")
	if !number.IsValid() || number.Kind() != reflect.Uint16 {
		return false
	}
	n := number.Uint()
	return n == errNull || n == errCheck || n == errCheckMariaDB
}

// newID returns the id of a message that has none.
func (o *Outbox) newID(ctx context.Context) string {
	var claim interface{ Context() context.Context }
	var digest semel.Digest
	if c := semel.TxClaimFrom(ctx); c != nil {
		claim, digest = c, c.Digest()
	} else if c := semel.ClaimFrom(ctx); c != nil {
		claim, digest = c, c.Digest()
	}
	if claim == nil || claim.Context().Err() != nil { // what goes on behind the end of its claim has no number
		return o.uuids.New().String()
	}
	return ids.Derive(nil, "semel outbox", o.names.table, digest.String(), strconv.Itoa(o.count(claim))) //nolint:contextcheck // a claim has a context of its own
}

// count returns the number of the next message of an execution, from 0.
func (o *Outbox) count(claim interface{ Context() context.Context }) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	n, known := o.counts[claim]
	o.counts[claim] = n + 1
	if !known {
		context.AfterFunc(claim.Context(), func() {
			o.mu.Lock()
			defer o.mu.Unlock()
			delete(o.counts, claim)
		})
	}
	return n
}
