package dbguard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/texts"
	"github.com/semel-dev/semel/outcomelog"
)

// Insert is a row to be inserted, unless it is there already.
type Insert struct {
	// Table is the table, qualified with its schema where it must be.
	Table string
	// Columns and Values are the row, in the same order. What makes the row the
	// same as another must be among them.
	Columns []string
	Values  []any
	// Unique says which row is the same thing.
	Unique Target
	// Returning are the columns that scan reads, in this order.
	Returning []string
	// Conflicts, when set, says which rule an error is about: of a row that is
	// another thing, and still has something in common with one that is there.
	// Default: a [*Conflict] without a rule.
	Conflicts *Translator
	// Log, when set, receives the outcome. In a transaction that is before the
	// commit.
	Log outcomelog.Sink
}

// CreateOrReuse inserts a row, or returns the one that is there already: find or
// create without the race between the two. However many callers send the same
// thing at the same moment, created is true for one of them and all get the same
// row. scan reads the columns of Returning from the current row; it may be
// called more than once.
//
// On a pool everything that was returned is committed. In a transaction the row
// that is found may be locked until its end, and created counts when it commits.
// READ COMMITTED and REPEATABLE READ are both right. Where the snapshot of a
// REPEATABLE READ transaction is older than the row, MySQL reads the row with a
// lock, as it is now; in PostgreSQL, and in MariaDB with
// innodb_snapshot_isolation, the error is [ErrSerialization].
//
// It is one round trip where the session pipelines (pgx). Otherwise it is
// one when the row was created and two when it is there, except on MySQL
// proper, which returns nothing from an insert: always two.
//
// It is right when the first row is as good an answer as the second would have
// been: customers by e-mail address, an import by its source's id. It is wrong
// where the second caller's values count (see [Upsert]), where the answer to the
// first request must be repeated literally (package semelhttp), or where a person
// should decide (insert, and translate the conflict). Every row that it finds
// uses up a value of a serial column.
//
// Errors: a [*Conflict] when the row runs into another unique index;
// [ErrSerialization]; those of the driver and of scan as they are.
func CreateOrReuse[T any](ctx context.Context, s Session, in *Insert, scan func(Rows) (T, error)) (row T, created bool, err error) {
	c, err := newCreation(s.Dialect(), in)
	if err != nil {
		return row, false, err
	}
	found, err := c.repeatRounds(ctx, s, func(rows Rows) error {
		row, err = scan(rows)
		return err
	})
	c.tell(ctx, found == inserted, err)
	if err != nil {
		var none T
		return none, false, err
	}
	return row, found == inserted, nil
}

// tell reports what the row came to.
func (c *creation) tell(ctx context.Context, wrote bool, err error) {
	t := told{sink: c.Log, rule: c.Unique.Rule, fields: c.Unique.Columns, outcome: outcomelog.ReturnedExisting}
	switch {
	case err != nil:
		t.outcome = outcomelog.Rejected
		if conflict, ok := errors.AsType[*Conflict](err); ok {
			t.rule, t.fields = conflict.Rule, conflict.Fields
		}
	case wrote:
		t.outcome = outcomelog.Created
	}
	t.tell(ctx)
}

func isConflict(err error) bool {
	_, ok := errors.AsType[*Conflict](err)
	return ok
}

// finding is the result of one round.
type finding uint8

const (
	nothing  finding = iota // neither inserted nor there: it came and went
	inserted                // by this round
	there                   // already
)

// repeatRounds repeats rounds until one finds something.
func (c *creation) repeatRounds(ctx context.Context, s Session, read func(Rows) error) (finding, error) {
	var last error
	for n := range maxRounds {
		found, err := c.round(ctx, s, read)
		if err == nil && found != nothing {
			return found, nil
		}
		// On MySQL the first conflict may be with the row itself, which was
		// deleted before it could be read.
		another := n == 0 && c.dialect == dialect.MySQL && isConflict(err)
		if err != nil && !another && !mayRepeat(s, err) {
			return nothing, err
		}
		last = err
		if err := c.learnTypes(ctx, s); err != nil { // it may be stored otherwise than it was sent
			return nothing, err
		}
	}
	if last == nil {
		last = fmt.Errorf("%w: the row in %s came and went, or a trigger keeps it out", ErrSerialization, c.Table)
	}
	return nothing, last
}

// round inserts, and reads what is there when that inserted nothing.
func (c *creation) round(ctx context.Context, s Session, read func(Rows) error) (finding, error) {
	switch p, pipelines := s.(pipeliner); {
	case c.dialect == dialect.MySQL:
		return c.roundMySQL(ctx, s, read)
	case pipelines:
		return c.roundAtOnce(ctx, p, read)
	}
	n, err := readRow(ctx, s, c.insert(), read)
	if err != nil {
		return nothing, c.fail(err)
	}
	if n > 0 {
		return inserted, nil
	}
	return c.look(ctx, s, read)
}

// roundAtOnce sends both statements before it reads: the second sees what the
// first has waited for, because it has a snapshot of its own.
func (c *creation) roundAtOnce(ctx context.Context, p pipeliner, read func(Rows) error) (finding, error) {
	found := nothing
	insert, find := c.insert(), c.find("")
	err := p.Pipeline(ctx, []string{insert.text, find.text}, [][]any{insert.args, find.args}, func(nth int, rows Rows) error {
		if found != nothing {
			return nil // the row that was just inserted
		}
		n, err := readFirst(rows, read)
		if n > 0 {
			found = []finding{inserted, there}[nth]
		}
		return err
	})
	if err != nil {
		return nothing, c.fail(err)
	}
	return found, nil
}

// roundMySQL inserts without saying what else to do: ON DUPLICATE KEY UPDATE
// would hide which of the indexes it was.
func (c *creation) roundMySQL(ctx context.Context, s Session, read func(Rows) error) (finding, error) {
	n, err := readRow(ctx, s, c.insert(), read)
	_, duplicate := violationOf(err)
	switch {
	case err != nil && !duplicate:
		return nothing, c.fail(err)
	case err == nil && n > 0:
		return inserted, nil
	case err == nil: // MySQL, which does not know RETURNING
		found, err := c.look(ctx, s, read)
		if found == there {
			found = inserted
		}
		return found, err
	}
	// Locked, so that a snapshot from before the row was there does not count.
	found, lookErr := readRow(ctx, s, c.find(" LOCK IN SHARE MODE"), read)
	if lookErr != nil {
		return nothing, c.fail(lookErr)
	}
	if found == 0 {
		return nothing, c.fail(err) // of another index
	}
	return there, nil
}

// look reads the row that is there.
func (c *creation) look(ctx context.Context, s Session, read func(Rows) error) (finding, error) {
	n, err := readRow(ctx, s, c.find(""), read)
	if err != nil {
		return nothing, c.fail(err)
	}
	if n == 0 {
		return nothing, nil
	}
	return there, nil
}

// insert is the statement that inserts the row unless it is there.
func (c *creation) insert() query {
	text := "INSERT INTO " + c.table + " (" + c.names(c.Columns) + ") VALUES (" + c.dialect.Placeholders(1, len(c.Columns)) + ")"
	if c.dialect == dialect.MySQL {
		return query{text + c.returning(), c.Values}
	}
	return query{text + " ON CONFLICT " + c.arbiter() + " DO NOTHING RETURNING " + c.names(c.Returning) + c.noFlags, c.Values}
}

// returning is the end of an insert that returns the row on MariaDB, which MySQL
// takes for a comment. It must not hold a value: one with */ in it would end it.
func (c *creation) returning() string {
	return " /*M!100500 RETURNING " + c.names(c.Returning) + c.noFlags + " */"
}

// arbiter names the index of the target.
func (c *creation) arbiter() string {
	text := "(" + strings.Join(c.terms, ", ") + ")"
	if c.where != "" {
		text += " WHERE " + c.where
	}
	return text
}

// find is the statement that reads the row that is the same thing.
func (c *creation) find(lock string) query {
	text := "SELECT " + c.names(c.Returning) + c.flags + " FROM " + c.table + " WHERE " + c.match + lock
	if c.dialect != dialect.PostgreSQL { // their placeholders have no numbers
		return query{text, slices.Concat(c.flagArgs, c.args)}
	}
	return query{text, slices.Concat(c.args, c.flagArgs)}
}

func (c *creation) names(columns []string) string {
	return strings.Join(texts.Of(columns, c.dialect.Quote), ", ")
}

// fail gives an error of the driver to the caller.
func (c *creation) fail(err error) error {
	const noSuchIndex = "42P10"
	if code, ok, _ := driverError(err); ok && code.state == noSuchIndex {
		return fmt.Errorf("dbguard: insert into %s: no unique index is on %s (make one, for example with semel rules plan): %w", c.Table, c.arbiter(), err)
	}
	translator := c.Conflicts
	if translator == nil {
		translator = NewTranslator(nil)
		if rule := c.Unique.Rule; rule != nil {
			translator.rules = append(translator.rules, rule)
		}
	}
	return translator.For(c.Table).Translate(serialization(err))
}

// readRow runs a statement and reads its first row, if it has one.
func readRow(ctx context.Context, s Session, statement query, read func(Rows) error) (int, error) {
	//semel:safe a unique key, which the caller names, refuses the second row
	rows, err := s.Query(ctx, statement.text, statement.args...)
	if err != nil {
		return 0, err
	}
	n, err := readFirst(rows, read)
	return n, errors.Join(err, rows.Close())
}

// readFirst reads the first row, and the rest without looking at it: only then
// has the statement ended well.
func readFirst(rows Rows, read func(Rows) error) (int, error) {
	n := 0
	for rows.Next() {
		if n++; n > 1 {
			continue
		}
		if err := read(rows); err != nil {
			return n, err
		}
	}
	return n, rows.Err()
}
