package main

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/mysqlstore"
)

const insertMySQL = `INSERT INTO bench_row (body) VALUES (?)`

// mysqlBench is one database of one server, and all that works in it.
type mysqlBench struct {
	drop     func() // removes its database
	wire     wire
	db       *sql.DB // as an application has it
	store    *mysqlstore.Store
	plain    *semel.Guard
	group    *semel.Guard
	together *semel.Guard // calls that share a transaction
	keys     keys
	body     string
}

func openMySQLBench(ctx context.Context) (*mysqlBench, error) {
	b := &mysqlBench{keys: keys{prefix: "k"}, body: strings.Repeat("x", rowBytes)}
	config, drop, err := mysqlDatabase(ctx)
	if err != nil {
		return nil, err
	}
	b.drop = drop
	mysql.RegisterDialContext("bench", func(ctx context.Context, address string) (net.Conn, error) {
		return b.wire.dial(ctx, "tcp", address)
	})
	config.Net, config.InterpolateParams = "bench", true
	return b, b.prepare(ctx, config)
}

// mysqlDatabase makes a database on the server that the environment names; drop removes it.
func mysqlDatabase(ctx context.Context) (config *mysql.Config, drop func(), err error) {
	dsn := os.Getenv("SEMEL_TEST_MYSQL")
	if dsn == "" {
		return nil, nil, fmt.Errorf("SEMEL_TEST_MYSQL: %w", errNoServer)
	}
	if config, err = mysql.ParseDSN(dsn); err != nil {
		return nil, nil, err
	}
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		return nil, nil, err
	}
	config.DBName = "bench_" + strings.ToLower(rand.Text()[:8])
	if _, err := db.ExecContext(ctx, "CREATE DATABASE "+config.DBName); err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	return config, func() {
		if _, err := db.ExecContext(context.WithoutCancel(ctx), "DROP DATABASE "+config.DBName); err != nil { //nolint:gosec // made above.
			say(os.Stderr, "bench: %v\n", err)
		}
		shut(db)
	}, nil
}

func (b *mysqlBench) prepare(ctx context.Context, config *mysql.Config) error {
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return err
	}
	b.db = sql.OpenDB(connector)
	b.db.SetMaxOpenConns(benchConns)
	b.db.SetMaxIdleConns(benchConns)
	if b.store, err = mysqlstore.Open(ctx, config.FormatDSN(), &mysqlstore.Options{MaxConns: benchConns}); err != nil {
		return err
	}
	if _, err := b.db.ExecContext(ctx, "CREATE TABLE bench_row (id bigint AUTO_INCREMENT PRIMARY KEY, body varchar(300) NOT NULL)"); err != nil {
		return err
	}
	if b.plain, b.group, err = guards(b.store); err != nil {
		return err
	}
	shared, err := mysqlstore.Open(ctx, config.FormatDSN(), &mysqlstore.Options{MaxConns: benchConns, Together: true})
	if err != nil {
		return err
	}
	b.together, err = semel.New(shared, &semel.Options{SweepEvery: -1})
	return err
}

func (b *mysqlBench) close() {
	_ = b.together.Close() // only measured
	shut(b.together.Store())
	_ = b.group.Close()
	_ = b.plain.Close()
	shut(b.store)
	shut(b.db)
	b.drop()
}

func (b *mysqlBench) meter(ctx context.Context) ([]counter, error) {
	writes := b.wire.writes.Load()
	var name string
	var log float64
	err := b.db.QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE 'Innodb_os_log_written'").Scan(&name, &log)
	return []counter{{Name: "round trips", Value: float64(writes)}, {Name: "bytes of redo log", Value: log}}, err
}

// sqlExecer is a pool or a transaction.
type sqlExecer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

func (b *mysqlBench) insertBy(ctx context.Context, db sqlExecer) (invoice, error) {
	inv := invoice{Body: b.body}
	res, err := db.ExecContext(ctx, insertMySQL, b.body)
	if err != nil {
		return inv, err
	}
	inv.ID, err = res.LastInsertId()
	return inv, err
}

func (b *mysqlBench) one(ctx context.Context) error {
	_, err := b.insertBy(ctx, b.db)
	return err
}

func (b *mysqlBench) transaction(ctx context.Context) error {
	tx, err := b.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if _, err := b.insertBy(ctx, tx); err != nil {
		_ = tx.Rollback() // the error of the insert is the news
		return err
	}
	return tx.Commit()
}

func (b *mysqlBench) do(ctx context.Context) error {
	_, err := mysqlstore.Do(ctx, b.plain, b.keys.next(), semel.Fingerprint{1}, func(ctx context.Context, tx *sql.Tx) (invoice, error) {
		return b.insertBy(ctx, tx)
	})
	return err
}

func (b *mysqlBench) exec(g *semel.Guard) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := mysqlstore.Exec(ctx, g, b.keys.next(), semel.Fingerprint{1}, insertMySQL, b.body)
		return err
	}
}

func (b *mysqlBench) run(g *semel.Guard) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := mysqlstore.Run(ctx, g, b.keys.next(), semel.Fingerprint{1}, []mysqlstore.Query{{SQL: insertMySQL, Args: []any{b.body}}},
			func(results []mysqlstore.Result) (invoice, error) {
				return invoice{ID: results[0].LastInsertID, Body: b.body}, nil
			})
		return err
	}
}

func (b *mysqlBench) twoPhases(g *semel.Guard) func(context.Context) error {
	return twoPhases(g, &b.keys, func(ctx context.Context) (invoice, error) { return b.insertBy(ctx, b.db) })
}

// benchMySQL compares every way to make a row once with the bare row.
func benchMySQL(ctx context.Context, s *settings) (*table, error) {
	b, err := openMySQLBench(ctx)
	if err != nil {
		return nil, err
	}
	defer b.close()
	t := &table{Title: fmt.Sprintf("MySQL/MariaDB: %d callers, %d connections, %d-byte rows, durable commits", manyCallers, benchConns, rowBytes)}
	err = (&contest{Callers: manyCallers, Meter: b.meter, Entries: []entry{
		{Name: "bare INSERT", One: b.one},
		{Name: bareTransaction, One: b.transaction},
		{Name: "Do", One: b.do, Rival: bareTransaction, Aim: aimDoMySQL},
		{Name: "Exec, together", One: b.exec(b.together), Rival: "bare INSERT", Aim: aimTogether},
		{Name: "Run, together", One: b.run(b.together), Rival: bareTransaction, Aim: aimRunTogether},
		{Name: "two phases, group commit", One: b.twoPhases(b.group), Rival: "bare INSERT", Aim: aimTwoPhasesMySQL},
		{Name: "two phases, one commit each", One: b.twoPhases(b.plain), Rival: "bare INSERT"},
	}}).Run(ctx, s, t)
	if err != nil {
		return nil, err
	}
	inv, err := b.insertBy(ctx, b.db)
	if err != nil {
		return nil, err
	}
	return t, replays(ctx, s, t, b.store, b.meter, "bare SELECT", func(ctx context.Context) error {
		var body string
		return b.db.QueryRowContext(ctx, "SELECT body FROM bench_row WHERE id = ?", inv.ID).Scan(&body)
	})
}
