package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	_ "github.com/go-sql-driver/mysql" // the driver of business rows
	_ "github.com/jackc/pgx/v5/stdlib" // the driver of business rows
	_ "modernc.org/sqlite"             // the driver of business rows

	"github.com/semel-dev/semel/internal/mayhem"
	"github.com/semel-dev/semel/internal/testserver/dbserver"
)

// backend is one database under torture.
type backend interface {
	// dsn is the store's, through the proxy where there is one.
	dsn() string
	// business is the driver and the DSN of the business rows, past the proxy.
	business() (driver, dsn string)
	// crash kills the server and starts it again; false where there is none.
	crash(ctx context.Context) (bool, error)
	// cut breaks all connections; false where there are none.
	cut() bool
	close() error
}

const createRows = "CREATE TABLE business (id %s, name VARCHAR(64) NOT NULL, body VARCHAR(300) NOT NULL)"

// makeRows makes the business table. It has no unique rule on purpose: what
// happens twice must show.
func makeRows(ctx context.Context, b backend) error {
	driver, dsn := b.business()
	id := map[string]string{
		"pgx": "BIGSERIAL PRIMARY KEY", "mysql": "BIGINT AUTO_INCREMENT PRIMARY KEY", "sqlite": "INTEGER PRIMARY KEY AUTOINCREMENT",
	}[driver]
	db, err := sql.Open(driver, dsn)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, fmt.Sprintf(createRows, id))
	if closeErr := db.Close(); err == nil {
		err = closeErr
	}
	return err
}

// readRows returns the ids of the rows of every key, once the server is up.
func readRows(ctx context.Context, b backend) (map[string][]int64, error) {
	driver, dsn := b.business()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		return nil, err
	}
	defer func() { _ = db.Close() }() // only read from
	rows, err := db.QueryContext(ctx, "SELECT name, id FROM business ORDER BY id")
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }() // its error is that of Err
	out := map[string][]int64{}
	for rows.Next() {
		var name string
		var id int64
		if err := rows.Scan(&name, &id); err != nil {
			return nil, err
		}
		out[name] = append(out[name], id)
	}
	return out, rows.Err()
}

// served is a backend with a server behind a proxy.
type served struct {
	*mayhem.Database

	driver string
	rows   string // DSN
}

// serve opens a database and makes the business table: in it where a driver is
// named, else in a file beside it.
func serve(ctx context.Context, s *settings, driver string,
	open func(context.Context, *dbserver.Home, *mayhem.Options) (*mayhem.Database, error),
) (backend, error) {
	db, err := open(ctx, s.home, &mayhem.Options{Report: func(err error) { say(s.log, "torture: %v\n", err) }})
	if err != nil {
		return nil, err
	}
	b := &served{Database: db, driver: driver, rows: db.Direct}
	if driver == "" {
		b.driver, b.rows = "sqlite", rowsFile(s, "rows")
	}
	if err := makeRows(ctx, b); err != nil {
		return nil, errors.Join(err, b.close()) //nolint:contextcheck // it is freed whatever became of ctx.
	}
	return b, nil
}

func (b *served) dsn() string                    { return b.DSN() }
func (b *served) business() (driver, dsn string) { return b.driver, b.rows }
func (b *served) close() error                   { return b.Close() }

func (b *served) cut() bool {
	b.Proxy.Cut()
	return true
}

func (b *served) crash(ctx context.Context) (bool, error) {
	err := b.Crash(ctx)
	return err == nil, err
}

func openPostgres(ctx context.Context, s *settings) (backend, error) {
	return serve(ctx, s, "pgx", mayhem.OpenPostgres)
}

func openMySQL(ctx context.Context, s *settings) (backend, error) {
	return serve(ctx, s, "mysql", mayhem.OpenMySQL)
}

func openRedis(ctx context.Context, s *settings) (backend, error) {
	return serve(ctx, s, "", mayhem.OpenRedis)
}

func rowsFile(s *settings, name string) string {
	return "file:" + filepath.Join(s.dir, fmt.Sprintf("%s-%d.db", name, time.Now().UnixNano())) +
		"?_pragma=journal_mode(wal)&_pragma=synchronous(full)&_pragma=busy_timeout(10000)"
}

// file is a backend without a server.
type file struct{ store, rows string }

func openSQLite(ctx context.Context, s *settings) (backend, error) {
	b := &file{rows: rowsFile(s, "business")}
	b.store = "sqlite:" + filepath.Join(s.dir, fmt.Sprintf("store-%d.db", time.Now().UnixNano()))
	return b, makeRows(ctx, b)
}

func (b *file) dsn() string                         { return b.store }
func (b *file) business() (driver, dsn string)      { return "sqlite", b.rows }
func (b *file) crash(context.Context) (bool, error) { return false, nil }
func (b *file) cut() bool                           { return false }
func (b *file) close() error                        { return nil }
