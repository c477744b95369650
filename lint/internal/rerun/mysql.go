package rerun

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/semel-dev/semel/internal/cli/opendb"
	"github.com/semel-dev/semel/internal/dialect"
)

// The clock of MySQL and MariaDB is set: to a time, and then to a day, an hour, a minute and a second later.
const (
	firstTime  = "1790000000.25"
	secondTime = "1790090061.75"
)

// myCopy is a copy on a server of MySQL or MariaDB: a database, and a user who may do everything there and nothing
// elsewhere.
type myCopy struct {
	dsn, name, password string
	definitions         []string
	// The session holds a lock with the name of the copy, which says that its owner lives.
	connections
}

func copyMySQL(ctx context.Context, dsn string, original *opendb.Database) (_ *myCopy, err error) {
	c := &myCopy{dsn: dsn, name: newName(), password: rand.Text()}
	if c.definitions, err = c.describe(ctx, original.DB); err != nil {
		return nil, fmt.Errorf("read the definitions: %w", err)
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
	return c, c.renew(ctx)
}

// hold connects, takes the lock, and makes the user.
func (c *myCopy) hold(ctx context.Context) (err error) {
	if c.admin, err = opendb.OpenAs(ctx, c.dsn, opendb.Login{}); err != nil {
		return err
	}
	if c.session, err = c.admin.Conn(ctx); err != nil {
		return err
	}
	var held sql.NullInt64
	//semel:safe the lock goes with its session, and that with the pool of the copy
	if err := c.session.QueryRowContext(ctx, "SELECT GET_LOCK(?, 0)", c.name).Scan(&held); err != nil || held.Int64 != 1 {
		return errors.Join(errors.New("the name of the copy is in use"), err)
	}
	user := c.user()
	for _, text := range []string{
		"CREATE DATABASE " + dialect.MySQL.Quote(c.name),
		"CREATE USER " + user + " IDENTIFIED BY " + quoted(dialect.MySQL, c.password),
		"GRANT ALL PRIVILEGES ON " + strings.ReplaceAll(dialect.MySQL.Quote(c.name), "_", `\_`) + ".* TO " + user,
	} {
		//semel:safe a second run is refused: the copy and its user are there
		if err := c.exec(ctx, text); err != nil {
			return fmt.Errorf("make the copy and its user (the user of the DSN needs the privileges CREATE, CREATE USER and GRANT OPTION on *.*): %w", err)
		}
	}
	return nil
}

func (c *myCopy) user() string { return "'" + c.name + "'@'%'" }

// sweep drops the copies and users whose owners are gone.
func (c *myCopy) sweep(ctx context.Context) error {
	rows, err := c.session.QueryContext(ctx, "SELECT SCHEMA_NAME FROM information_schema.SCHEMATA WHERE LEFT(SCHEMA_NAME, ?) = ? AND IS_FREE_LOCK(SCHEMA_NAME)", len(prefix), prefix)
	if err != nil {
		return err
	}
	defer rows.Close() //nolint:errcheck // scan says what went wrong.
	_, lines, err := scan(rows)
	if err != nil {
		return err
	}
	for _, line := range lines {
		name := line[0].String
		if strings.ContainsAny(name, "`'\\") {
			continue
		}
		// Another run may remove it as well, or this user may not.
		_ = c.exec(ctx, "DROP USER IF EXISTS '"+name+"'@'%'")
		_ = c.exec(ctx, "DROP DATABASE IF EXISTS "+dialect.MySQL.Quote(name))
	}
	return nil
}

var definer = regexp.MustCompile("DEFINER ?= ?`(?:[^`]|``)*`@`(?:[^`]|``)*` ?")

// describe returns the statements that make the definitions: tables, then what needs them.
func (c *myCopy) describe(ctx context.Context, db *sql.DB) (list []string, err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close() //nolint:errcheck // it only read.
	rows, err := conn.QueryContext(ctx, `SELECT 1, 'SEQUENCE', TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE = 'SEQUENCE'
		UNION ALL SELECT 2, 'TABLE', TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED')
		UNION ALL SELECT 3, ROUTINE_TYPE, ROUTINE_NAME FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = DATABASE() AND ROUTINE_TYPE IN ('FUNCTION', 'PROCEDURE')
		UNION ALL SELECT 4, 'VIEW', TABLE_NAME FROM information_schema.VIEWS WHERE TABLE_SCHEMA = DATABASE()
		UNION ALL SELECT 5, 'TRIGGER', TRIGGER_NAME FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = DATABASE() ORDER BY 1, 3`)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // scan says what went wrong.
	_, names, err := scan(rows)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		kind := name[1].String
		text, err := c.definition(ctx, conn, kind, name[2].String)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", strings.ToLower(kind), name[2].String, err)
		}
		list = append(list, definer.ReplaceAllLiteralString(text, "DEFINER="+c.user()+" "))
	}
	return list, nil
}

// definition is the statement that makes one thing. Its column has a name of its own for each kind.
func (c *myCopy) definition(ctx context.Context, conn *sql.Conn, kind, name string) (string, error) {
	rows, err := conn.QueryContext(ctx, "SHOW CREATE "+kind+" "+dialect.MySQL.Quote(name))
	if err != nil {
		return "", err
	}
	defer rows.Close() //nolint:errcheck // scan says what went wrong.
	columns, lines, err := scan(rows)
	if err != nil {
		return "", err
	}
	at := slices.IndexFunc(columns, func(column string) bool {
		return strings.HasPrefix(column, "Create ") || column == "SQL Original Statement" || column == "Table" && kind == "SEQUENCE"
	})
	if kind == "SEQUENCE" {
		at = len(columns) - 1
	}
	if at < 0 || len(lines) != 1 || lines[0][at].String == "" {
		return "", errors.New("the user of the DSN may not see its definition")
	}
	return lines[0][at].String, nil
}

// renew makes the database again.
func (c *myCopy) renew(ctx context.Context) error {
	if c.work != nil {
		if err := c.work.Close(); err != nil {
			return err
		}
	}
	quoted := dialect.MySQL.Quote(c.name)
	for _, text := range []string{"DROP DATABASE IF EXISTS " + quoted, "CREATE DATABASE " + quoted, "USE " + quoted, "SET SESSION foreign_key_checks = 0"} {
		if err := c.exec(ctx, text); err != nil {
			return fmt.Errorf("make the copy: %w", err)
		}
	}
	left := c.definitions
	for len(left) > 0 { // a view may need another one
		var failed []string
		var last error
		for _, text := range left {
			if err := c.exec(ctx, text); err != nil {
				failed, last = append(failed, text), err
			}
		}
		if len(failed) == len(left) {
			return fmt.Errorf("copy the definitions: %w", last)
		}
		left = failed
	}
	var err error
	if c.work, err = opendb.OpenAs(ctx, c.dsn, opendb.Login{Database: c.name, User: c.name, Password: c.password}); err != nil {
		return err
	}
	c.work.SetMaxIdleConns(-1) // a session is of one filling
	return nil
}

func (c *myCopy) drop() error {
	return c.end("DROP USER IF EXISTS "+c.user(), "DROP DATABASE IF EXISTS "+dialect.MySQL.Quote(c.name))
}

func (c *myCopy) read(ctx context.Context) (*layout, error) {
	return readLayout(ctx, c.work.DB, dialect.MySQL)
}

func (c *myCopy) begin(ctx context.Context) (copySession, error) {
	conn, err := c.work.Conn(ctx)
	if err != nil {
		return nil, err
	}
	s := &mySession{sqlSession: sqlSession{conn}, admin: c.session}
	err = conn.QueryRowContext(ctx, "SELECT CONNECTION_ID()").Scan(&s.id)
	if err == nil {
		err = s.all(ctx, "SET SESSION time_zone = '+00:00', SESSION innodb_lock_wait_timeout = 2")
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	seconds := statementTimeout.Seconds()
	if _, err := conn.ExecContext(ctx, fmt.Sprintf("SET SESSION max_statement_time = %g", seconds)); err != nil { // MySQL has it for SELECT alone
		_, _ = conn.ExecContext(ctx, fmt.Sprintf("SET SESSION max_execution_time = %d", statementTimeout.Milliseconds()))
	}
	return s, nil
}

// mySession is a session on the copy.
type mySession struct {
	sqlSession

	admin     *sql.Conn
	id        int64
	slow      bool
	sequences []string
	asked     bool
}

func (s *mySession) close() {
	if s.slow { // the server goes on otherwise
		ctx, cancel := ending()
		defer cancel()
		_, _ = s.admin.ExecContext(ctx, "KILL "+strconv.FormatInt(s.id, 10))
	}
	_ = s.conn.Close()
}

func (s *mySession) all(ctx context.Context, list ...string) error {
	for _, text := range list {
		if _, err := s.conn.ExecContext(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

// clear deletes the rows, or truncates where triggers stop or refill that.
func (s *mySession) clear(ctx context.Context, tables []*table) error {
	if err := s.all(ctx, "SET SESSION foreign_key_checks = 0", "BEGIN"); err != nil {
		return err
	}
	var deletes, counts, truncates []string
	for _, t := range slices.Backward(tables) {
		deletes = append(deletes, "DELETE FROM "+t.path)
		counts = append(counts, "EXISTS (SELECT 1 FROM "+t.path+")")
		truncates = append(truncates, "TRUNCATE "+t.path)
	}
	err := s.all(ctx, append(deletes, "COMMIT")...)
	left := err != nil
	if !left && len(counts) > 0 {
		if err := s.conn.QueryRowContext(ctx, "SELECT "+strings.Join(counts, " OR ")).Scan(&left); err != nil {
			return err
		}
	}
	if left {
		if err := s.all(ctx, append([]string{"ROLLBACK"}, truncates...)...); err != nil {
			return err
		}
	}
	return s.all(ctx, "SET SESSION foreign_key_checks = 1")
}

func (s *mySession) insert(ctx context.Context, list []string, _ []*table) error {
	if err := s.all(ctx, "SET timestamp = "+firstTime); err != nil {
		return err
	}
	return s.sqlSession.insert(ctx, list, nil)
}

func (s *mySession) execute(ctx context.Context, text string, args []string) (string, error) {
	result, err := s.conn.ExecContext(ctx, text, typed(args)...)
	if err != nil {
		var refused *mysql.MySQLError
		switch {
		case ctx.Err() != nil:
			s.slow = true
		case errors.As(err, &refused) && (refused.Number == 1969 || refused.Number == 3024): // max_statement_time, max_execution_time
			return "", errSlow
		case refused != nil:
			return "error " + strconv.Itoa(int(refused.Number)), err
		}
		return "error", err
	}
	n, err := result.RowsAffected()
	return rowsAnswer(n), err
}

func (s *mySession) tick(ctx context.Context, n int, _ bool) error {
	return s.all(ctx, "SET timestamp = "+[]string{firstTime, secondTime}[n])
}

// counters asks what this session has taken last from each sequence of MariaDB, and where each of them starts again:
// how far one is cannot be read otherwise.
func (s *mySession) counters(ctx context.Context) ([]string, [][]sql.NullString, error) {
	if !s.asked {
		_, lines, err := s.query(ctx, "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE = 'SEQUENCE'")
		if err != nil {
			return nil, nil, err
		}
		for _, line := range lines {
			s.sequences = append(s.sequences, line[0].String)
		}
		s.asked = true
	}
	var all [][]sql.NullString
	for _, name := range s.sequences {
		_, lines, err := s.query(ctx, "SELECT "+quoted(dialect.MySQL, name)+", CONCAT_WS('/', LASTVAL("+dialect.MySQL.Quote(name)+"), next_not_cached_value) FROM "+dialect.MySQL.Quote(name))
		if err != nil {
			return nil, nil, err
		}
		all = append(all, lines...)
	}
	return []string{"sequence", "value"}, all, nil
}

func (s *mySession) columns(*table) string { return "*" }
