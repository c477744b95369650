package outbox

import (
	"context"
	"database/sql"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/ids"
	"github.com/semel-dev/semel/internal/dialect"
)

const (
	// maxRows and maxStatementBytes bound one statement of Add.
	maxRows           = 500
	maxStatementBytes = 4 << 20

	columns = 6 // of a row that are parameters

	// addTries bounds how often Add looks at messages that others add or delete meanwhile.
	addTries = 3
)

// Execer is a transaction of database/sql, such as [*sql.Tx]; [Pgx] makes one of pgx's. On MySQL
// and MariaDB, a type of your own should have the methods QueryContext and QueryRowContext as well:
// without them Add locks the messages that wait already.
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
	rows := make([]added, 0, min(len(messages), maxRows))
	size, repeats := 0, false
	given := map[string]bool{}
	for i := range messages {
		m, known, err := o.prepared(ctx, messages[i], given)
		if err != nil {
			return fmt.Errorf("%w (message %d of %d)", err, i+1, len(messages))
		}
		if len(rows) == maxRows || size+m.size() > maxStatementBytes && len(rows) > 0 {
			if err := o.insert(ctx, tx, rows, repeats); err != nil {
				return err
			}
			rows, size, repeats = rows[:0], 0, false
		}
		rows = append(rows, m)
		size, repeats = size+m.size(), repeats || known
	}
	return o.insert(ctx, tx, rows, repeats)
}

// prepared returns the message as the table keeps it, and whether its ID was perhaps added
// before. given holds the IDs of the same call.
func (o *Outbox) prepared(ctx context.Context, from Message, given map[string]bool) (m added, known bool, err error) {
	m = added{Message: from}
	if err := m.check(o.maxBody); err != nil {
		return m, false, err
	}
	known = true
	switch {
	case m.ID == "":
		m.ID, known = o.newID(ctx)
	case given[m.ID]:
		return m, false, fmt.Errorf("%w: two have the id %s", ErrInvalid, m.ID)
	default:
		given[m.ID] = true
	}
	if m.head, err = m.header(); err != nil {
		return m, false, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if m.Body == nil {
		m.Body = []byte{}
	}
	return m, known, nil
}

// added is a message to be added.
type added struct {
	Message

	head string // the header as the table keeps it
}

func (m *added) size() int { return len(m.Body) + len(m.head) + len(m.Topic) }

// values are the columns that make two messages the same.
func (m *added) values() []any { return []any{m.ID, m.Topic, m.Key, m.head, m.Body} }

// insert writes rows in one statement, or a few more when some are there already, which repeats
// says is possible.
func (o *Outbox) insert(ctx context.Context, tx Execer, rows []added, repeats bool) (err error) {
	if e, ok := tx.(execer); ok && repeats && o.names.dialect == dialect.MySQL {
		if rows, err = o.leaveOut(ctx, e, rows); err != nil {
			return err
		}
	}
	if len(rows) == 0 {
		return nil
	}
	n := int64(len(rows))
	for range addTries {
		if written, err := o.write(ctx, tx, rows); err != nil || written == n {
			return err
		}
		if o.names.dialect == dialect.SQLite {
			break
		}
		// The others are there, or were: a relay may have deleted them since.
		if same, err := o.same(ctx, tx, rows); err != nil || same == n {
			return err
		}
	}
	return ErrConflict
}

// write inserts the rows and returns their number, in PostgreSQL without those of which the id is
// there, in SQLite without those of another message.
func (o *Outbox) write(ctx context.Context, tx Execer, rows []added) (int64, error) {
	text, args := o.statement(rows, "add_again_"+o.names.dialect.String())
	//semel:safe the id is a key, and a message that waits is not added twice (add_again_*.sql)
	result, err := tx.ExecContext(ctx, text, args...)
	if isNull(err) {
		return 0, ErrConflict
	}
	written := int64(len(rows))
	if err == nil && o.names.dialect != dialect.MySQL { // which counts otherwise
		written, err = result.RowsAffected()
	}
	if err != nil {
		return 0, fmt.Errorf("outbox: add: %w", dialect.Discreet(err))
	}
	return written, nil
}

// statement returns the INSERT of the rows. again names the SQL file that says what happens to existing rows; "" for none.
func (o *Outbox) statement(rows []added, again string) (text string, args []any) {
	var b strings.Builder
	b.WriteString(o.names.text("INSERT INTO {{table}} (id, topic, message_key, header, body, part, added_ms) VALUES "))
	args = make([]any, 0, columns*len(rows))
	for i := range rows {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString("(" + o.names.dialect.Placeholders(len(args)+1, columns) + ", " + o.names.dialect.Now() + ")")
		args = append(append(args, rows[i].values()...), rows[i].partition())
	}
	if again != "" {
		b.WriteString(o.names.fill(again))
	}
	return b.String(), args
}

// same counts the rows that are there, as the same messages. An [Execer] of PostgreSQL has the
// number of rows of a SELECT.
func (o *Outbox) same(ctx context.Context, tx Execer, rows []added) (int64, error) {
	q := o.names.query("SELECT 1 FROM {{table}} WHERE (id, topic, message_key, header, body) IN (")
	for i := range rows {
		if i > 0 {
			q.add(", ")
		}
		q.add("(").list(rows[i].values()...).add(")")
	}
	result, err := tx.ExecContext(ctx, q.add(")").text.String(), q.args...)
	if err != nil {
		return 0, fmt.Errorf("outbox: add: %w", dialect.Discreet(err))
	}
	return result.RowsAffected()
}

// leaveOut returns the rows that are not there. It only reads: an INSERT of MySQL and MariaDB
// locks the rows that are there, and no relay could delete them before the transaction ends.
func (o *Outbox) leaveOut(ctx context.Context, tx execer, rows []added) ([]added, error) {
	ids := make([]string, len(rows))
	for i := range rows {
		ids[i] = fmt.Sprintf("x'%x'", rows[i].ID)
	}
	found, err := tx.QueryContext(ctx, o.names.text("SELECT id, topic, message_key, header, body FROM {{table}} WHERE id IN ("+strings.Join(ids, ", ")+")"))
	if err != nil {
		return nil, fmt.Errorf("outbox: add: %w", dialect.Discreet(err))
	}
	defer func() { _ = found.Close() }()
	there := map[string]added{}
	for found.Next() {
		var m added
		if err := found.Scan(&m.ID, &m.Topic, &m.Key, &m.head, &m.Body); err != nil {
			return nil, fmt.Errorf("outbox: add: %w", dialect.Discreet(err))
		}
		there[m.ID] = m
	}
	if err := found.Err(); err != nil {
		return nil, fmt.Errorf("outbox: add: %w", dialect.Discreet(err))
	}
	var left []added
	for i := range rows {
		have, ok := there[rows[i].ID]
		switch {
		case !ok:
			left = append(left, rows[i])
		case !reflect.DeepEqual(have.values(), rows[i].values()):
			return nil, ErrConflict
		}
	}
	return left, nil
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

// newID returns the id of a message that has none, and whether it was perhaps given before.
func (o *Outbox) newID(ctx context.Context) (id string, known bool) {
	var claim interface{ Context() context.Context }
	var digest semel.Digest
	if c := semel.TxClaimFrom(ctx); c != nil {
		claim, digest = c, c.Digest()
	} else if c := semel.ClaimFrom(ctx); c != nil {
		claim, digest = c, c.Digest()
	}
	if claim == nil || claim.Context().Err() != nil { // what goes on behind the end of its claim has no number
		return o.uuids.New().String(), false
	}
	number := execution{claim, o.names.table}.number() //nolint:contextcheck // a claim has a context of its own
	return ids.Derive(nil, "semel outbox", o.names.table, digest.String(), strconv.Itoa(number)), true
}

// execution identifies the numbers of an execution's messages in one table.
type execution struct {
	claim interface{ Context() context.Context }
	table string
}

// executions belong to the process, since work may open its table more than once.
//
//nolint:gochecknoglobals // see above
var executions = struct {
	sync.Mutex // guards the field below

	next map[execution]int
}{next: map[execution]int{}}

// number returns the number of the next message, from 0.
func (e execution) number() int {
	executions.Lock()
	defer executions.Unlock()
	n, known := executions.next[e]
	executions.next[e] = n + 1
	if !known {
		context.AfterFunc(e.claim.Context(), func() {
			executions.Lock()
			defer executions.Unlock()
			delete(executions.next, e)
		})
	}
	return n
}
