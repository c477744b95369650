package mysqlstore

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"strings"
	"sync"
)

// nowSQL is the database's clock (promise 9) in Unix milliseconds, the same
// throughout a statement. It is taken from UTC: local time is ambiguous for an
// hour every autumn.
const nowSQL = "(TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6)) DIV 1000)"

//go:embed sql/*.sql
var statements embed.FS

// dialect fills the names of one store's tables, and its clock, into SQL.
type dialect struct{ names *strings.Replacer }

// newDialect names the tables of a database, or of the one that is in use.
func newDialect(o *Options, database string) dialect {
	within := ""
	if database != "" {
		within = "`" + strings.ReplaceAll(database, "`", "``") + "`."
	}
	return dialect{strings.NewReplacer(
		"{{record}}", within+"`"+o.TablePrefix+"record`",
		"{{migration}}", within+"`"+o.TablePrefix+"migration`",
		"{{now}}", o.now,
	)}
}

// sql is the statement of a file in the folder sql, by the file's name without
// its ending. Fragments are filled in first, by their names; a statement that
// takes a list gets one of n values.
func (d dialect) sql(name string, n int, fragments ...string) (string, error) {
	text, err := statements.ReadFile("sql/" + name + ".sql")
	if err != nil {
		return "", fmt.Errorf("mysqlstore: %w", err)
	}
	filled := strip(string(text))
	for i := 0; i+1 < len(fragments); i += 2 {
		filled = strings.ReplaceAll(filled, "{{"+fragments[i]+"}}", fragments[i+1])
	}
	if n > 0 {
		filled = strings.ReplaceAll(filled, "{{values}}", list("?", ", ", n))
		filled = strings.ReplaceAll(filled, "{{cases}}", list("WHEN ? THEN ?", " ", n))
	}
	return d.names.Replace(filled), nil
}

func list(item, separator string, n int) string {
	return strings.Repeat(item+separator, n-1) + item
}

// strip leaves out what the server need not read.
func strip(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "--") {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(line)
	}
	return b.String()
}

// prepared are the statements of a store, prepared once for each connection
// that runs them, which is faster than sending their text.
type prepared struct {
	db   *sql.DB
	text func(name string, n int) (string, error)

	mu    sync.Mutex // guards the fields below
	stmts map[statement]*sql.Stmt
	all   []*sql.Stmt
}

// statement is one of a file, for n rows.
type statement struct {
	name string
	n    int
}

// get returns a statement, and prepares it when it is needed first. That takes
// a connection, so nothing is locked meanwhile.
func (p *prepared) get(ctx context.Context, name string, n int) (*sql.Stmt, error) {
	key := statement{name, n}
	p.mu.Lock()
	stmt := p.stmts[key]
	p.mu.Unlock()
	if stmt != nil {
		return stmt, nil
	}
	text, err := p.text(name, n)
	if err != nil {
		return nil, err
	}
	if stmt, err = p.db.PrepareContext(ctx, text); err != nil { //nolint:sqlclosecheck // it is closed with the store.
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stmts[key], p.all = stmt, append(p.all, stmt)
	return stmt, nil
}

// ready prepares statements that are about to run in a transaction, whose
// connection is taken while another one is needed to prepare them.
func (p *prepared) ready(ctx context.Context, wanted ...statement) error {
	for _, w := range wanted {
		if _, err := p.get(ctx, w.name, w.n); err != nil { //nolint:sqlclosecheck // it is closed with the store.
			return err
		}
	}
	return nil
}

// exec runs a statement for n rows, in a transaction if one is given.
func (p *prepared) exec(ctx context.Context, tx *sql.Tx, name string, n int, args ...any) (sql.Result, error) {
	stmt, err := p.get(ctx, name, n)
	if err != nil {
		return nil, err
	}
	return within(ctx, tx, stmt).ExecContext(ctx, args...) //nolint:sqlclosecheck // see above.
}

// each runs a statement for n rows, and reads every row that it finds.
func (p *prepared) each(ctx context.Context, tx *sql.Tx, name string, n int, args []any, read func(*sql.Rows) error) error {
	stmt, err := p.get(ctx, name, n)
	if err != nil {
		return err
	}
	rows, err := within(ctx, tx, stmt).QueryContext(ctx, args...) //nolint:sqlclosecheck // see above.
	if err != nil {
		return err
	}
	return readAll(rows, func() error { return read(rows) })
}

func (p *prepared) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for _, stmt := range p.all {
		errs = append(errs, stmt.Close())
	}
	p.stmts, p.all = nil, nil
	return errors.Join(errs...)
}

// within is the statement in the transaction, if there is one.
func within(ctx context.Context, tx *sql.Tx, stmt *sql.Stmt) *sql.Stmt {
	if tx == nil {
		return stmt
	}
	return tx.StmtContext(ctx, stmt)
}

// readAll reads the rows and closes them. It reads up to the end of the answer:
// rows of a statement that writes come before its commit, which can still fail.
func readAll(rows *sql.Rows, read func() error) (err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := read(); err != nil {
			return err
		}
	}
	return rows.Err()
}

// single is readAll for the one row there is. It returns [sql.ErrNoRows] when
// there is none.
func single(rows *sql.Rows, read func() error) error {
	n := 0
	err := readAll(rows, func() error {
		n++
		return read()
	})
	if err == nil && n == 0 {
		return sql.ErrNoRows
	}
	return err
}

// batchSizes are the numbers of rows for which statements are prepared; what
// lies between is filled up with repetitions of the last row.
func batchSizes() []int { return []int{2, 4, 8, 16, 24, 32, 48, maxBatch} }

// maxBatch limits the steps that share a statement and a commit.
const maxBatch = 64

// batchSize is the size of statement that holds n rows.
func batchSize(n int) int {
	for _, size := range batchSizes() {
		if size >= n {
			return size
		}
	}
	return maxBatch
}
