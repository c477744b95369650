package rerun

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/semel-dev/semel/internal/cli/opendb"
	"github.com/semel-dev/semel/internal/dialect"
)

// maxTemplateBytes is the largest database that is copied with its rows, which are removed then; of a larger one
// pg_dump copies the definitions.
const maxTemplateBytes = 256 << 20

// pgCopy is a copy on a server of PostgreSQL: a database with the definitions alone, and one made from it
// that the statements run on. The role owns both, and nothing else.
type pgCopy struct {
	dsn, name string
	role      string // empty: the user is not a superuser, and needs no other role
	path      string // the search path
	// The application_name of the session is that of the copy, and says that its owner lives.
	connections
}

func (c *pgCopy) master() string  { return c.name + "_m" }
func (c *pgCopy) scratch() string { return c.name + "_w" }

func copyPostgres(ctx context.Context, dsn string, original *opendb.Database) (_ *pgCopy, err error) {
	c := &pgCopy{dsn: dsn, name: newName()}
	var from string
	var size int64
	var super bool
	err = original.QueryRowContext(ctx, `SELECT current_database(), pg_database_size(current_database()), current_setting('search_path'),
		(SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname = current_user)`).Scan(&from, &size, &c.path, &super)
	if err != nil {
		return nil, fmt.Errorf("look at the database: %w", err)
	}
	if err := original.Close(); err != nil { // a template may have no connection
		return nil, err
	}
	if super {
		c.role = c.name
	}
	defer func() { //nolint:contextcheck // a copy is dropped after an interrupt as well
		if err != nil {
			err = errors.Join(err, c.drop())
		}
	}()
	if err := c.hold(ctx); err != nil {
		return nil, err
	}
	if err := c.sweep(ctx); err != nil {
		return nil, fmt.Errorf("remove the copies of processes that are gone: %w", err)
	}
	if err := c.fill(ctx, from, size); err != nil {
		return nil, err
	}
	return c, c.renew(ctx)
}

// hold connects apart from the database that is copied.
func (c *pgCopy) hold(ctx context.Context) (err error) {
	settings := map[string]string{"application_name": c.name, "default_transaction_read_only": "off", "statement_timeout": "0"}
	for _, name := range []string{"postgres", "template1", ""} {
		if c.admin, err = opendb.OpenAs(ctx, c.dsn, opendb.Login{Database: name, Settings: settings}); err == nil {
			break
		}
	}
	if err != nil {
		return err
	}
	c.session, err = c.admin.Conn(ctx)
	return err
}

// sweep drops the copies and roles whose owners are gone.
func (c *pgCopy) sweep(ctx context.Context) error {
	rows, err := c.session.QueryContext(ctx, `SELECT kind, name FROM (
			SELECT 'DATABASE' AS kind, datname::text AS name, left(datname, -2) AS owner FROM pg_catalog.pg_database
			UNION ALL SELECT 'ROLE', rolname::text, rolname FROM pg_catalog.pg_roles
		) AS found
		WHERE starts_with(name, $1) AND owner NOT IN (SELECT application_name FROM pg_catalog.pg_stat_activity WHERE application_name IS NOT NULL)
		ORDER BY kind`, prefix)
	if err != nil {
		return err
	}
	defer rows.Close() //nolint:errcheck // scan says what went wrong.
	_, lines, err := scan(rows)
	if err != nil {
		return err
	}
	for _, line := range lines {
		// Another run may remove it as well, or its owner be another user.
		_ = c.exec(ctx, "DROP "+line[0].String+" IF EXISTS "+dialect.PostgreSQL.Quote(line[1].String))
	}
	return nil
}

// fill makes the database with the definitions.
func (c *pgCopy) fill(ctx context.Context, from string, size int64) error {
	quote := dialect.PostgreSQL.Quote
	err := errTooMany
	if size <= maxTemplateBytes {
		//semel:safe a second run is refused: the copy is there
		err = c.exec(ctx, "CREATE DATABASE "+quote(c.master())+" TEMPLATE "+quote(from))
	}
	if err != nil { // it is large, or others use it, or the user does not own it
		//semel:safe a second run is refused: the copy is there
		if err := c.exec(ctx, "CREATE DATABASE "+quote(c.master())+" TEMPLATE template0"); err != nil {
			return fmt.Errorf("create the copy (the user of the DSN needs the right CREATEDB): %w", err)
		}
		if err := c.dump(ctx); err != nil {
			return err
		}
	}
	if c.role != "" {
		if err := c.exec(ctx, "CREATE ROLE "+quote(c.role)+" NOLOGIN"); err != nil {
			return fmt.Errorf("create the role of the copy: %w", err)
		}
	}
	db, err := opendb.OpenAs(ctx, c.dsn, opendb.Login{Database: c.master(), Settings: map[string]string{"semel.role": c.role, "lock_timeout": "0"}})
	if err != nil {
		return err
	}
	isolate, err := text(dialect.PostgreSQL, "isolate")
	if err == nil {
		_, err = db.ExecContext(ctx, isolate)
	}
	if err := errors.Join(err, db.Close()); err != nil {
		return fmt.Errorf("isolate the copy: %w", err)
	}
	return nil
}

// renew makes the database that statements run on.
func (c *pgCopy) renew(ctx context.Context) error {
	quote := dialect.PostgreSQL.Quote
	if c.work != nil {
		if err := c.work.Close(); err != nil {
			return err
		}
	}
	for _, text := range []string{"DROP DATABASE IF EXISTS " + quote(c.scratch()) + " WITH (FORCE)", "CREATE DATABASE " + quote(c.scratch()) + " TEMPLATE " + quote(c.master())} {
		if err := c.exec(ctx, text); err != nil {
			return fmt.Errorf("make the copy: %w", err)
		}
	}
	if c.role != "" {
		//semel:safe the owner is the same each time
		if err := c.exec(ctx, "ALTER DATABASE "+quote(c.scratch())+" OWNER TO "+quote(c.role)); err != nil {
			return err
		}
	}
	settings := map[string]string{
		"application_name": c.name, "search_path": c.path, "TimeZone": "UTC", "synchronous_commit": "off", "standard_conforming_strings": "on", "DateStyle": "ISO",
		"statement_timeout": "0", "lock_timeout": fmt.Sprint(statementTimeout.Milliseconds()), "default_transaction_read_only": "off",
	}
	if c.role != "" {
		settings["temp_file_limit"] = temporaryFiles
	}
	var err error
	c.work, err = opendb.OpenAs(ctx, c.dsn, opendb.Login{Database: c.scratch(), Settings: settings})
	return err
}

func (c *pgCopy) drop() error {
	var list []string
	for _, name := range []string{c.scratch(), c.master()} {
		list = append(list, "DROP DATABASE IF EXISTS "+dialect.PostgreSQL.Quote(name)+" WITH (FORCE)")
	}
	if c.role != "" {
		list = append(list, "DROP ROLE IF EXISTS "+dialect.PostgreSQL.Quote(c.role))
	}
	return c.end(list...)
}

func (c *pgCopy) read(ctx context.Context) (*layout, error) {
	return readLayout(ctx, c.work.DB, dialect.PostgreSQL)
}

func (c *pgCopy) begin(ctx context.Context) (copySession, error) {
	conn, err := c.work.Conn(ctx)
	if err != nil {
		return nil, err
	}
	s := &pgSession{conn: conn}
	// What an earlier statement may have left in the session. The catalogue was read without the bound: that takes long on a
	// busy server.
	clean := "CLOSE ALL; DEALLOCATE ALL; DISCARD TEMP; UNLISTEN *; SELECT pg_advisory_unlock_all(); RESET ROLE; SET statement_timeout = " + fmt.Sprint(statementTimeout.Milliseconds())
	if c.role != "" {
		clean += "; SET ROLE " + dialect.PostgreSQL.Quote(c.role)
	}
	//semel:safe a second run finds nothing left in the session
	err = s.use(func(pg *pgconn.PgConn) error { return pg.Exec(ctx, clean).Close() })
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// pgSession is a session on the copy. It speaks in texts, so that no type has to be known.
type pgSession struct{ conn *sql.Conn }

func (s *pgSession) close() { _ = s.conn.Close() }

// clear deletes the rows, or truncates, which is slower, where triggers stop or refill that.
func (s *pgSession) clear(ctx context.Context, tables []*table) error {
	if len(tables) == 0 {
		return nil
	}
	var names, deletes, counts []string
	for _, t := range slices.Backward(tables) {
		names = append(names, t.path)
		deletes = append(deletes, "DELETE FROM "+t.path)
		counts = append(counts, "EXISTS (SELECT 1 FROM "+t.path+")")
	}
	if err := s.simple(ctx, strings.Join(deletes, "; ")); err == nil {
		_, lines, err := s.query(ctx, "SELECT "+strings.Join(counts, " OR "))
		if err != nil || len(lines) == 1 && lines[0][0].String == "f" {
			return err
		}
	}
	return s.simple(ctx, "TRUNCATE "+strings.Join(names, ", ")+" RESTART IDENTITY CASCADE")
}

func (s *pgSession) simple(ctx context.Context, text string) error {
	return s.use(func(pg *pgconn.PgConn) error { return pg.Exec(ctx, text).Close() })
}

// insert runs all statements in one block. Sequences are set behind the rows, where they would not be in use otherwise.
func (s *pgSession) insert(ctx context.Context, list []string, tables []*table) error {
	for _, t := range tables {
		for i := range t.Columns {
			c := &t.Columns[i]
			column, literal := dialect.PostgreSQL.Quote(c.Name), func(s string) string { return quoted(dialect.PostgreSQL, s) }
			sequence := "pg_get_serial_sequence(" + literal(t.path) + ", " + literal(c.Name) + ")"
			if _, rest, found := strings.Cut(c.Default, "nextval('"); found {
				sequence = literal(strings.Split(rest, "'::")[0])
			}
			if c.Minted && familyOf(dialect.PostgreSQL, c, "") == whole {
				list = append(list, "PERFORM setval("+sequence+", (SELECT greatest(1000, max("+column+")) FROM "+t.path+"))")
			}
		}
	}
	var b strings.Builder
	tag := "$semel" + fmt.Sprint(len(list)) + "$"
	for slices.ContainsFunc(list, func(text string) bool { return strings.Contains(text, tag) }) {
		tag = "$x" + tag[1:]
	}
	b.WriteString("DO " + tag + " BEGIN\n")
	for _, text := range list {
		b.WriteString("BEGIN " + text + "; EXCEPTION WHEN OTHERS THEN NULL; END;\n")
	}
	b.WriteString("END " + tag)
	//semel:safe the tables of the copy are emptied before they are filled again
	return s.simple(ctx, b.String())
}

func (s *pgSession) use(work func(*pgconn.PgConn) error) error { return withPgConn(s.conn, work) }

// arguments asks the server for the types of the arguments.
func (s *pgSession) arguments(ctx context.Context, text string, _ []string) (all []parameter, err error) {
	err = s.use(func(pg *pgconn.PgConn) error {
		all, err = parameters(ctx, pg, text)
		return err
	})
	return all, err
}

func (s *pgSession) execute(ctx context.Context, text string, args []string) (answer string, err error) {
	values := make([][]byte, len(args))
	for i, arg := range args {
		values[i] = []byte(arg)
	}
	err = s.use(func(pg *pgconn.PgConn) error {
		result := pg.ExecParams(ctx, text, values, nil, nil, nil)
		var rows int64
		for result.NextRow() {
			rows++
		}
		tag, err := result.Close()
		answer = rowsAnswer(max(rows, tag.RowsAffected()))
		return err
	})
	switch code := pgCode(err); {
	case code == "57014":
		return "", errSlow
	case code == "53400": // temp_file_limit, which a fast disk meets before the time is over
		return "", errLarge
	case code != "":
		return "error " + code, err
	}
	return answer, err
}

func pgCode(err error) string {
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		return refused.Code
	}
	return ""
}

// tick does nothing for fine clocks: each run is a transaction of its own, and the clock shows microseconds.
func (s *pgSession) tick(ctx context.Context, n int, coarse bool) error {
	if n == 0 || !coarse {
		return nil
	}
	return wait(ctx, true)
}

func (s *pgSession) query(ctx context.Context, text string) (names []string, lines [][]sql.NullString, err error) {
	err = s.use(func(pg *pgconn.PgConn) error {
		result := pg.ExecParams(ctx, text, nil, nil, nil, nil)
		for _, f := range result.FieldDescriptions() {
			names = append(names, f.Name)
		}
		for result.NextRow() {
			if len(lines) == maxRows {
				_, _ = result.Close()
				return errTooMany
			}
			line := make([]sql.NullString, len(names))
			for i, v := range result.Values() {
				line[i] = sql.NullString{String: string(v), Valid: v != nil}
			}
			lines = append(lines, line)
		}
		_, err := result.Close()
		return err
	})
	return names, lines, err
}

func (s *pgSession) counters(ctx context.Context) ([]string, [][]sql.NullString, error) {
	query, err := text(dialect.PostgreSQL, "sequences")
	if err != nil {
		return nil, nil, err
	}
	return s.query(ctx, query)
}

func (s *pgSession) columns(*table) string { return "*" }
