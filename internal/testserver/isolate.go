package testserver

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/redis/rueidis"

	"github.com/semel-dev/semel/internal/testserver/dbserver"
)

const cleanupTimeout = time.Minute

// PostgresDatabase makes an empty database on the shared server and returns its DSN. It is dropped after the test, even
// with open connections.
func PostgresDatabase(tb testing.TB) string {
	tb.Helper()
	server, name := Postgres(tb), freshName()
	//semel:safe a second run is refused: the name is new, and then taken
	if err := postgresExec(tb.Context(), server, "CREATE DATABASE "+name); err != nil {
		tb.Fatalf("make a database: %v", err)
	}
	cleanup(tb, func(ctx context.Context) error {
		return postgresExec(ctx, server, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)")
	})
	dsn, err := url.Parse(server)
	if err != nil {
		tb.Fatalf("%s is not a URL: %v", dbserver.EnvPostgres, err)
	}
	dsn.Path = "/" + name
	return dsn.String()
}

// PostgresSchema returns the name of a schema that does not exist in the database of [Postgres]. Whatever the test makes
// under that name is dropped afterwards.
func PostgresSchema(tb testing.TB) string {
	tb.Helper()
	server, name := Postgres(tb), freshName()
	cleanup(tb, func(ctx context.Context) error {
		return postgresExec(ctx, server, "DROP SCHEMA IF EXISTS "+name+" CASCADE")
	})
	return name
}

// MySQLDatabase makes an empty database on the shared server and returns its DSN. It is dropped after the test.
func MySQLDatabase(tb testing.TB) string {
	tb.Helper()
	server, name := MySQL(tb), freshName()
	//semel:safe a second run is refused: the name is new, and then taken
	if err := mysqlExec(tb.Context(), server, "CREATE DATABASE "+name); err != nil {
		tb.Fatalf("make a database: %v", err)
	}
	cleanup(tb, func(ctx context.Context) error {
		return mysqlExec(ctx, server, "DROP DATABASE IF EXISTS "+name)
	})
	config, err := mysql.ParseDSN(server)
	if err != nil {
		tb.Fatalf("%s is not a DSN: %v", dbserver.EnvMySQL, err)
	}
	config.DBName = name
	return config.FormatDSN()
}

// RedisPrefix returns a prefix that no key has on the servers with these addresses, which are the shared server when
// none is given. Keys with the prefix are removed after the test; a hash tag may enclose it.
func RedisPrefix(tb testing.TB, addrs ...string) string {
	tb.Helper()
	if len(addrs) == 0 {
		addrs = []string{Redis(tb)}
	}
	prefix := freshName() + ":"
	cleanup(tb, func(ctx context.Context) error {
		var errs []error
		for _, addr := range addrs {
			errs = append(errs, redisRemove(ctx, addr, "*"+prefix+"*"))
		}
		return errors.Join(errs...)
	})
	return prefix
}

// freshName is a name for a database or schema, in lower case, as every database takes it without quotes.
func freshName() string { return "semel_" + strings.ToLower(rand.Text()) }

// cleanup runs f after the test.
func cleanup(tb testing.TB, f func(context.Context) error) {
	tb.Helper()
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), cleanupTimeout)
		defer cancel()
		if err := f(ctx); err != nil {
			tb.Errorf("clean up after the test: %v", err)
		}
	})
}

func postgresExec(ctx context.Context, dsn, statement string) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, statement)
	return errors.Join(err, conn.Close(ctx))
}

func mysqlExec(ctx context.Context, dsn, statement string) error {
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, statement)
	return errors.Join(err, db.Close())
}

// redisRemove removes the keys of one server that match the pattern.
func redisRemove(ctx context.Context, addr, pattern string) error {
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}, ForceSingleClient: true, DisableCache: true})
	if err != nil {
		return err
	}
	defer client.Close()
	for cursor := uint64(0); ; {
		page, err := client.Do(ctx, client.B().Scan().Cursor(cursor).Match(pattern).Count(1000).Build()).AsScanEntry()
		if err != nil {
			return err
		}
		for _, key := range page.Elements { // one by one: a cluster refuses keys of several slots
			if err := client.Do(ctx, client.B().Unlink().Key(key).Build()).Error(); err != nil {
				return err
			}
		}
		if cursor = page.Cursor; cursor == 0 {
			return nil
		}
	}
}
