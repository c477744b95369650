package dbguard

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/refusal"
	"github.com/semel-dev/semel/internal/texts"
	"github.com/semel-dev/semel/rules"
)

// RefusedError says that a row is there whose values are others than those sent,
// in columns that must not change. Nothing was changed. It knows no value.
type RefusedError struct {
	Rule   *rules.Unique // nil where the target has no rule
	Table  string
	Fields []string // the columns with other values
}

// Error names the fields, without their values.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("dbguard: the row exists already, with other values that must not change: %s (%s)", e.Table, strings.Join(e.Fields, ", "))
}

func (e *RefusedError) problem(lang string) refusal.Problem {
	p := conflictProblem("upsert-refused", lang, e.Rule, e.Fields)
	p.Detail = wordsIn(p.Language).refused
	if e.Rule != nil && e.Rule.OnConflict == rules.Upsert {
		p.Detail = e.Rule.Message(lang, nil)
	}
	return p
}

// Upsertion is a row to be inserted, or made to be as it is sent.
type Upsertion struct {
	Insert

	// MayChange are the columns that a row that is there gets the values of;
	// MustNotChange those that must have the values already. Both must be among
	// Columns. A column in neither is written when the row is created only.
	// Default, for both together: those of the rule, as far as they are sent.
	MayChange, MustNotChange []string
}

// asText makes PostgreSQL compare texts, which every type has, without a collation.
const asText = `::text COLLATE "C"`

// Upserted reports what an upsert did. The zero value means that the row existed
// with these values, and nothing was written.
type Upserted struct{ Created, Updated bool }

// String returns unchanged, created or updated.
func (u Upserted) String() string {
	switch {
	case u.Created:
		return "created"
	case u.Updated:
		return "updated"
	}
	return "unchanged"
}

// Upsert inserts a row, or changes the one that is there, as far as it may be
// changed. Sent again it finds the row as it should be and writes nothing. All
// or nothing is changed, in one statement; values are compared as the database
// stores them, and NULL is the same as NULL.
//
// scan reads the columns of Returning; it may be called more than once. In a
// transaction, and for the rows of [ErrSerialization], what [CreateOrReuse] says
// is true here too. A row that is deleted at this very moment may be told as
// updated when it was created anew.
//
// It is one round trip on PostgreSQL through pgx when the row is created or is as
// it should be, and two when it is changed. On MariaDB it is one when the row is as
// it should be and two otherwise, on MySQL one and three; up to six where the
// row is refused, or has a value that is stored otherwise than it was sent. There,
// transactions that upsert one row at the same moment may deadlock, which is an
// [ErrSerialization]. A change is an insert that finds the row, except on
// SQLite: it fires triggers BEFORE INSERT as well, and uses up a value of a serial
// column. On MariaDB and MySQL, so does a row that is as it should be, where the sent
// value is stored in other words: send '5.00' to a decimal(10, 2), not 5.
//
// It is right for a state that the sender owns: a profile, a setting, an import
// of what another system has. It is wrong for sums and counters, where sending
// twice must not be the same as sending once; and it does not see that a
// late request overtakes a newer one: compare a version for that.
//
// Errors: a [*RefusedError] when a column that must not change has another
// value; otherwise as CreateOrReuse.
func Upsert[T any](ctx context.Context, s Session, in *Upsertion, scan func(Rows) (T, error)) (row T, change Upserted, err error) {
	u, err := newUpsert(s.Dialect(), in)
	if err != nil {
		return row, Upserted{}, err
	}
	read := func(rows Rows) error {
		row, err = scan(rows)
		return err
	}
	change, err = u.createOrChange(ctx, s, read)
	u.tell(ctx, change != Upserted{}, err)
	if err != nil {
		var none T
		return none, Upserted{}, err
	}
	return row, change, nil
}

// upsert is an upsertion, made ready for a dialect.
type upsert struct {
	*creation

	may, must []string
	exact     bool // what compares as different would be stored differently
	idle      int  // updates of a row that differs, and stayed as it was
}

func newUpsert(d Dialect, in *Upsertion) (*upsert, error) {
	c, err := newCreation(d, &in.Insert)
	if err != nil {
		return nil, err
	}
	u := &upsert{creation: c, may: in.MayChange, must: in.MustNotChange}
	if rule := in.Unique.Rule; rule != nil && len(u.may) == 0 && len(u.must) == 0 {
		unsent := func(column string) bool { return !slices.Contains(in.Columns, column) }
		u.may = slices.DeleteFunc(slices.Clone(rule.MayChange), unsent)
		u.must = slices.DeleteFunc(slices.Clone(rule.MustNotChange), unsent)
	}
	for _, column := range slices.Concat(u.may, u.must) {
		if !slices.Contains(in.Columns, column) {
			return nil, c.lacks(column)
		}
	}
	switch both := slices.IndexFunc(u.may, func(column string) bool { return slices.Contains(u.must, column) }); {
	case both >= 0:
		return nil, fmt.Errorf("dbguard: upsert into %s: %s may change and must not (leave it out of one)", in.Table, u.may[both])
	case len(u.may)+len(u.must) == 0:
		return nil, fmt.Errorf("dbguard: upsert into %s: no column may or must not change (use CreateOrReuse)", in.Table)
	}
	u.flag()
	return u, nil
}

// createOrChange creates the row, or reads it with what is different, and changes that.
func (u *upsert) createOrChange(ctx context.Context, s Session, read func(Rows) error) (Upserted, error) {
	for range maxRounds {
		differ := make([]int64, len(u.must)+len(u.may))
		found, err := u.reach(ctx, s, func(rows Rows) error { return read(flagged{rows, differ}) })
		switch {
		case err != nil:
			return Upserted{}, err
		case found == inserted:
			return Upserted{Created: true}, nil
		case !slices.ContainsFunc(differ, func(flag int64) bool { return flag != 0 }):
			return Upserted{}, nil
		}
		refused := different(u.must, differ)
		if len(refused) > 0 && u.exact {
			return Upserted{}, &RefusedError{Rule: u.Unique.Rule, Table: u.Table, Fields: refused}
		}
		if len(refused) == 0 {
			changed, err := u.change(ctx, s, read)
			if err != nil || changed {
				return Upserted{Updated: true}, err
			}
		}
		if err := u.learnTypes(ctx, s); err != nil {
			return Upserted{}, err
		}
		u.flag()
	}
	if u.idle == maxRounds-1 { // all but the first, before the types were known
		return Upserted{}, fmt.Errorf("dbguard: upsert into %s: no update makes the row what was sent (a server whose sql_mode is not strict cuts values, and triggers change them)", u.Table)
	}
	return Upserted{}, fmt.Errorf("%w: the row in %s changes all the time", ErrSerialization, u.Table)
}

// failing gives an error of the driver to the caller; none where the next round
// may end better.
func (u *upsert) failing(s Session, err error) error {
	if err == nil {
		return nil
	}
	if err = u.fail(err); mayRepeat(s, err) {
		return nil
	}
	return err
}

// reach creates the row or reads it. On MySQL it looks first; in a transaction with
// the lock that a change needs, because an insert that fails leaves a weaker one, and
// two transactions that hold it would wait for each other.
func (u *upsert) reach(ctx context.Context, s Session, read func(Rows) error) (finding, error) {
	if u.dialect == dialect.MySQL && !u.mayNotCount() {
		lock := " FOR UPDATE"
		if autocommits(s) {
			lock = ""
		}
		n, err := readRow(ctx, s, u.find(lock), read)
		if failed := u.failing(s, err); failed != nil {
			return nothing, failed
		}
		if n > 0 && err == nil {
			return there, nil
		}
	}
	return u.repeatRounds(ctx, s, read)
}

// change changes the row where it may be changed and reads it. It reports
// whether there was something to change.
func (u *upsert) change(ctx context.Context, s Session, read func(Rows) error) (bool, error) {
	switch {
	case u.dialect == dialect.MySQL && !u.exact:
		return u.insertToChange(ctx, s, read)
	case u.dialect != dialect.MySQL:
		n, err := readRow(ctx, s, u.update(), read)
		return n > 0 && err == nil, u.failing(s, err)
	}
	statement := u.update()
	//semel:safe it writes the values that were sent, which are there the second time
	n, err := s.Exec(ctx, statement.text, statement.args...)
	switch {
	case err != nil:
		return false, u.failing(s, err)
	case n == 0:
		u.idle++
		return false, nil
	}
	return u.changed(ctx, s, read)
}

// changed reads a row that was changed by a statement without RETURNING.
func (u *upsert) changed(ctx context.Context, s Session, read func(Rows) error) (bool, error) {
	found, err := readRow(ctx, s, u.find(" LOCK IN SHARE MODE"), func(rows Rows) error {
		return read(flagged{rows, make([]int64, len(u.must)+len(u.may))})
	})
	return found > 0 && err == nil, u.failing(s, err)
}

// different lists the columns whose flag is not 0.
func different(columns []string, flags []int64) []string {
	var found []string
	for i, column := range columns {
		if flags[i] != 0 {
			found = append(found, column)
		}
	}
	return found
}

// update changes the row where it may be changed, if all else is as it must be.
// On PostgreSQL it is an insert again: only excluded has the values as they
// would be stored, such as rounded to the scale of the column.
func (u *upsert) update() query {
	if u.dialect == dialect.PostgreSQL {
		compared := func(operator string) func(string) string {
			return func(column string) string {
				name := u.dialect.Quote(column)
				return "kept." + name + asText + operator + "excluded." + name + asText
			}
		}
		assign := texts.Of(u.may, func(column string) string { return u.dialect.Quote(column) + " = excluded." + u.dialect.Quote(column) })
		same := append([]string{"true"}, texts.Of(u.must, compared(" IS NOT DISTINCT FROM "))...)
		return query{
			"INSERT INTO " + u.table + " AS kept (" + u.names(u.Columns) + ") VALUES (" + u.dialect.Placeholders(1, len(u.Columns)) + ") ON CONFLICT " +
				u.arbiter() + " DO UPDATE SET " + strings.Join(assign, ", ") + " WHERE " + strings.Join(same, " AND ") + " AND (" +
				strings.Join(texts.Of(u.may, compared(" IS DISTINCT FROM ")), " OR ") + ") RETURNING " + u.names(u.Returning), u.Values,
		}
	}
	same := func(column string) string { return u.same(column, "?") }
	assign := texts.Of(u.may, func(column string) string { return u.dialect.Quote(column) + " = ?" })
	conditions := append([]string{u.match}, texts.Of(u.must, same)...)
	text := "UPDATE " + u.table + " SET " + strings.Join(assign, ", ") + " WHERE " + strings.Join(conditions, " AND ") +
		" AND NOT (" + strings.Join(texts.Of(u.may, same), " AND ") + ")"
	if u.dialect == dialect.SQLite {
		text += " RETURNING " + u.names(u.Returning)
	}
	return query{text, slices.Concat(u.values(u.may), u.args, u.values(u.must), u.values(u.may))}
}

// same is the condition that a column has the value of an argument, as it would
// be stored. NULL is the same as NULL, and nothing else that a collation takes for
// the same: who sends Ada for ada wants it changed. As long as the types of the
// columns are not known, some that are the same are not told to be.
func (u *upsert) same(column, placeholder string) string {
	name, t := u.dialect.Quote(column), u.types[column]
	switch u.dialect {
	case dialect.SQLite:
		return name + " COLLATE BINARY IS " + placeholder
	case dialect.PostgreSQL:
		sent := castTo(t, placeholder) + asText
		if t == "" { // the union has the type, without its length and scale
			sent = "(SELECT " + name + asText + " FROM (SELECT " + name + " FROM " + u.table + " WHERE false UNION ALL SELECT " + placeholder + ") AS sent)"
		}
		return name + asText + " IS NOT DISTINCT FROM " + sent
	case dialect.MySQL:
	}
	switch {
	case u.types == nil:
		return "CAST(" + name + " AS BINARY) <=> CAST(" + placeholder + " AS BINARY)"
	case t == typeChar: // stored without spaces at its end
		placeholder = "TRIM(TRAILING ' ' FROM " + placeholder + ")"
	case t != typeText:
		return name + " <=> " + castTo(t, placeholder)
	}
	return "CAST(CONVERT(" + name + " USING utf8mb4) AS BINARY) <=> CAST(CONVERT(" + placeholder + " USING utf8mb4) AS BINARY)"
}

// values are those of the columns.
func (u *upsert) values(columns []string) []any {
	values := make([]any, len(columns))
	for i, column := range columns {
		values[i] = u.Values[slices.Index(u.Columns, column)]
	}
	return values
}

// flag makes the statement that reads the row say what is different.
func (u *upsert) flag() {
	u.exact = u.types != nil || u.dialect == dialect.SQLite
	columns := slices.Concat(u.must, u.may)
	u.flags, u.flagArgs, u.noFlags = "", u.values(columns), strings.Repeat(", 0", len(columns))
	for i, column := range columns {
		u.flags += ", CASE WHEN " + u.same(column, u.dialect.Placeholder(len(u.args)+i+1)) + " THEN 0 ELSE 1 END"
	}
}

// flagged are rows with columns at the end that tell what is different.
type flagged struct {
	Rows

	differ []int64
}

// Columns implements [Rows].
func (r flagged) Columns() ([]string, error) {
	names, err := r.Rows.Columns()
	return names[:max(0, len(names)-len(r.differ))], err
}

// Scan implements [Rows].
func (r flagged) Scan(dest ...any) error {
	dest = slices.Clone(dest)
	for i := range r.differ {
		dest = append(dest, &r.differ[i])
	}
	return r.Rows.Scan(dest...)
}
