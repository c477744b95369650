package dedupe

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/texts"
	"github.com/semel-dev/semel/schema/catalog"
)

// Errors that callers distinguish.
var (
	// ErrBusy means that another process merges or undoes in this database.
	ErrBusy = errors.New("another semel dedupe is at work in this database")
	// ErrRefused means that the request, the plan or the database does not allow what was asked for; nothing was changed.
	ErrRefused = errors.New("refused")
	// ErrSQL means that SQL of the request is wrong, in the database's words.
	ErrSQL = errors.New("the database does not take the SQL of the request")
	// ErrVersion means that another version of this program made the plan.
	ErrVersion = errors.New("the plan has an unsupported version")
)

func refuse(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrRefused, fmt.Errorf(format, args...))
}

// Database is a database to merge in.
type Database struct {
	DB      *sql.DB
	Dialect dialect.Dialect
	// before is called with each statement of a run, in tests.
	before func(statement string)
}

// dbSession is one connection, with settings under which texts of values are exact and no row is hidden.
type dbSession struct {
	*Database
	engine

	conn *sql.Conn
	// stopped waits until the server has ended the statement that ran when ctx ended.
	stopped func()
	// forget leaves the connection alone when ctx ends; it may be nil.
	forget func() bool
	// release gives up the place of the only process that merges; nil without it.
	release func(context.Context) error
}

// openSession opens a connection with these settings.
func (d *Database) openSession(ctx context.Context) (*dbSession, error) {
	conn, err := d.DB.Conn(ctx)
	if err != nil {
		return nil, err
	}
	s := &dbSession{Database: d, engine: engineOf(d.Dialect), conn: conn}
	for _, setting := range s.settings() {
		if _, err := conn.ExecContext(ctx, setting); err != nil {
			return nil, errors.Join(err, s.close(ctx))
		}
	}
	if err := s.endWith(ctx); err != nil {
		return nil, errors.Join(err, s.close(ctx))
	}
	return s, nil
}

// endWith lets the server end a statement when ctx ends: it would go on with it, and hold its locks, after the driver has given
// the connection up.
func (s *dbSession) endWith(ctx context.Context) error {
	s.stopped = func() {}
	query := s.ending()
	if query == "" {
		return nil
	}
	var statement string
	if err := s.one(ctx, query, nil, &statement); err != nil {
		return err
	}
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		_, _ = s.DB.ExecContext(ctx, statement) // the driver has ended the connection where this cannot
	})
	s.forget = stop
	s.stopped = func() {
		if ctx.Err() != nil {
			<-done
		}
	}
	return nil
}

// close gives the connection up: it has settings and temporary tables.
func (s *dbSession) close(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	if s.forget != nil && !s.forget() {
		s.stopped()
	}
	if s.release != nil {
		err = s.release(ctx)
	}
	raw := s.conn.Raw(func(any) error { return driver.ErrBadConn }) // the pool forgets it
	if !errors.Is(raw, driver.ErrBadConn) {
		err = errors.Join(err, raw)
	}
	if closed := s.conn.Close(); !errors.Is(closed, sql.ErrConnDone) {
		err = errors.Join(err, closed)
	}
	return err
}

// closeTimeout bounds how long the end of a session may take.
const closeTimeout = 10 * time.Second

func (s *dbSession) lock(ctx context.Context) (err error) {
	s.release, err = s.own(ctx, s)
	return err
}

// keep makes the tables of runs, or refuses a user who may not write into them.
func (s *dbSession) keep(ctx context.Context) error {
	return s.makeLedger(ctx, s.ledger(), runTables())
}

// guardLedger does the same for the tables of guards and indexes.
func (s *dbSession) guardLedger(ctx context.Context) error {
	return s.makeLedger(ctx, s.keeper().ledger(), []column{{"semel_dedupe_guard", "name"}, {"semel_dedupe_index", "name"}})
}

// column is one of a table of the tool, which an UPDATE may change.
type column struct{ table, name string }

func runTables() []column {
	return []column{{"semel_dedupe_run", "name"}, {"semel_dedupe_map", "reason"}, {"semel_dedupe_audit", "kept"}}
}

// makeLedger makes those tables that are missing. Where another user owns them, PostgreSQL does not even let this one ask for them.
func (s *dbSession) makeLedger(ctx context.Context, ledger string, tables []column) error {
	var may bool
	if err := s.one(ctx, s.mayMake(tables[len(tables)-1].table), nil, &may); err != nil {
		return err
	}
	if may {
		for statement := range strings.SplitSeq(ledger, ";\n") {
			if strings.TrimSpace(statement) == "" {
				continue
			}
			if _, err := s.exec(ctx, statement); err != nil {
				return s.ungranted(ctx, "make the tables semel_dedupe_…", err, tables)
			}
		}
	}
	return s.mayWrite(ctx, tables)
}

// mayWrite refuses a user who lacks a right on tables of the tool, which are there.
func (s *dbSession) mayWrite(ctx context.Context, tables []column) error {
	for _, c := range tables {
		for _, statement := range []string{
			"SELECT * FROM " + c.table + " WHERE 1 = 0",
			s.insert(c.table) + " SELECT * FROM " + c.table + " WHERE 1 = 0",
			"UPDATE " + c.table + " SET " + c.name + " = " + c.name + " WHERE 1 = 0",
		} {
			err := s.each(ctx, "EXPLAIN "+statement, nil, func(*sql.Rows) error { return nil })
			if err != nil {
				return s.ungranted(ctx, "write into "+c.table, err, tables)
			}
		}
	}
	return nil
}

// ungranted adds to a refusal of the server which rights this user needs on tables of the tool.
func (s *dbSession) ungranted(ctx context.Context, act string, err error, tables []column) error {
	if _, isRefused := dialect.Refused(err); !isRefused {
		return fmt.Errorf("%s: %w", act, err)
	}
	var user string
	if asked := s.one(ctx, "SELECT current_user", nil, &user); asked != nil {
		return errors.Join(err, asked)
	}
	names := texts.Of(tables, func(c column) string { return c.table })
	return refuse("%s: %w (the user %s needs SELECT, INSERT and UPDATE on each of %s, and CREATE in the schema where they are missing; GRANT that, or call as the user who made them)",
		act, err, user, strings.Join(names, ", "))
}

// kept reports whether the tool has tables here.
func (s *dbSession) kept(ctx context.Context) (has bool, err error) {
	err = s.one(ctx, s.hasLedger(), nil, &has)
	return has, err
}

// exec runs a statement, which may leave its arguments out.
func (s *dbSession) exec(ctx context.Context, statement string, args ...any) (int64, error) {
	s.notice(statement)
	statement, args = s.bound(statement, args)
	result, err := s.conn.ExecContext(ctx, statement, args...)
	if err != nil {
		return 0, dialect.Discreet(err)
	}
	return result.RowsAffected()
}

func (s *dbSession) bound(statement string, args []any) (string, []any) {
	if !strings.Contains(statement, "$1") {
		return statement, nil
	}
	return s.bind(statement, args)
}

func (s *dbSession) execAll(ctx context.Context, statements []string) error {
	for _, statement := range statements {
		if _, err := s.exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// apply runs statements that change rows, each of which ends with a condition, as one where the server checks references at
// the end of a statement. It returns the number of rows that each changed, and the values of numbers.
func (s *dbSession) apply(ctx context.Context, statements, numbers []string, args ...any) (counts, values []int64, err error) {
	counts, values = make([]int64, len(statements)), make([]int64, len(numbers))
	if len(statements) == 0 {
		return counts, values, nil
	}
	into := func(all []int64) (into []any) {
		for i := range all {
			into = append(into, &all[i])
		}
		return into
	}
	if s.enforces() {
		return counts, values, s.one(ctx, together(statements, numbers), args, append(into(counts), into(values)...)...)
	}
	for i, statement := range statements {
		if counts[i], err = s.exec(ctx, statement, args...); err != nil {
			return nil, nil, err
		}
	}
	if len(numbers) > 0 {
		err = s.one(ctx, "SELECT "+list(numbers), nil, into(values)...)
	}
	return counts, values, err
}

func (s *dbSession) notice(statement string) {
	if s.before != nil {
		s.before(statement)
	}
}

// each calls scan for every row of a query.
func (s *dbSession) each(ctx context.Context, query string, args []any, scan func(*sql.Rows) error) error {
	s.notice(query)
	query, args = s.bound(query, args)
	rows, err := s.conn.QueryContext(ctx, query, args...)
	if err != nil {
		return dialect.Discreet(err)
	}
	defer rows.Close() //nolint:errcheck // Err says what went wrong.
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return dialect.Discreet(rows.Err())
}

// scanned reads the only column of a query.
func scanned[T any](ctx context.Context, s *dbSession, query string, args ...any) (all []T, err error) {
	err = s.each(ctx, query, args, func(rows *sql.Rows) error {
		var one T
		err := rows.Scan(&one)
		all = append(all, one)
		return err
	})
	return all, err
}

// one reads the only row of a query.
func (s *dbSession) one(ctx context.Context, query string, args []any, into ...any) error {
	found := false
	err := s.each(ctx, query, args, func(rows *sql.Rows) error {
		found = true
		return rows.Scan(into...)
	})
	if err == nil && !found {
		return sql.ErrNoRows
	}
	return err
}

// within runs work in a transaction, which ends with it.
func (s *dbSession) within(ctx context.Context, work func() error) error {
	if _, err := s.conn.ExecContext(ctx, s.begin()); err != nil {
		return err
	}
	err := work()
	if err == nil {
		s.notice("COMMIT")
		_, err = s.conn.ExecContext(ctx, "COMMIT") // it can be the one that checks a row
		err = dialect.Discreet(err)
	}
	if err == nil {
		s.notice("committed")
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	s.stopped()
	_, _ = s.conn.ExecContext(ctx, "ROLLBACK") // SQLite may have done it, and a connection that cannot is not used again
	return err
}

// survey collects what a request touches.
func (s *dbSession) survey(ctx context.Context, schema *catalog.Schema, q *Request) (*site, error) {
	links, err := s.references(ctx, schema)
	if err != nil {
		return nil, err
	}
	found, err := survey(schema, s.engine, links, q)
	if err != nil {
		return nil, refuse("%w", err)
	}
	err = s.fires(ctx, s, func(table, what string) {
		for _, t := range found.tables {
			if t.name == table {
				found.triggers = append(found.triggers, what+" on "+t.name)
			}
		}
	})
	if err != nil {
		return nil, err
	}
	hidden, err := s.hidden(ctx, s, found)
	if err == nil && hidden != "" {
		err = refuse("%s", hidden)
	}
	for _, t := range found.tables {
		values := texts.Of(slices.Concat(t.id, t.moves, t.refs), quote)
		for _, k := range t.keys {
			values = append(values, k.parts...)
		}
		if err == nil {
			err = s.strange(ctx, t, values)
		}
	}
	if err == nil && q.Known && s.Dialect == dialect.PostgreSQL {
		switch strange := s.strange(ctx, found.tables[0], q.Terms); {
		case strange == nil:
			found.hashed = true
		case !errors.Is(strange, ErrRefused):
			err = fmt.Errorf("look for duplicates: %w", s.written(strange))
		}
	}
	return found, err
}

// clock is the time of the server, for the tables of the tool.
func (s *dbSession) clock() string { return s.now(&catalog.Column{Type: "timestamptz"}) }

// references are the foreign keys of the application.
func (s *dbSession) references(ctx context.Context, schema *catalog.Schema) ([]link, error) {
	links, err := s.links(ctx, s, schema)
	for i := range links {
		links[i].cast(schema)
		links[i].source, links[i].path = pathOf(links[i].child), pathOf(links[i].parent)
	}
	return slices.DeleteFunc(links, func(l link) bool {
		_, child, _ := strings.Cut(l.child, ".")
		return strings.HasPrefix(child, "semel_dedupe_")
	}), err
}

// pathOf is the full name of a table in SQL.
func pathOf(name string) string {
	space, bare, _ := strings.Cut(name, ".")
	return quote(space) + "." + quote(bare)
}

// written says of an error in a query with SQL of the operator, which holds no other fault, that the SQL is wrong.
func (s *dbSession) written(err error) error {
	if c := s.classify(err); c == ofSQL || c == ofRows {
		return fmt.Errorf("%w: %w", ErrSQL, s.explain(err))
	}
	return s.explain(err)
}

// class sorts an error of the server by what to do about it.
type class int

const (
	fatal     class = iota
	transient       // try again
	ofRows          // a group of rows is the cause
	ofSQL           // the statement is wrong
)
