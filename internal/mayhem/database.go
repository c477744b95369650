package mayhem

import (
	"context"
	"fmt"
	"time"

	"github.com/semel-dev/semel/internal/testserver/dbserver"
)

// crashLimit bounds how long a killed server may take to come back.
const crashLimit = time.Minute

// server is what the database servers have in common.
type server interface {
	Addr() string
	Kill() error
	Start(ctx context.Context) error
	Close() error
}

// Options are the options of a [Database]. Nil means all defaults.
type Options struct {
	// Clock, when not nil, is the server's clock instead of the machine's.
	Clock *dbserver.Clock
	// Report is told what goes wrong in the proxy. Default: nobody is.
	Report func(error)
}

// Database is a durable server behind a proxy: what it acknowledged survives
// its death.
type Database struct {
	// Proxy stands between the store and the server.
	Proxy *dbserver.Proxy
	// Direct is the driver's DSN, past the proxy; host:port for Redis.
	Direct string

	server server
	dsn    string // with %s for the address
}

// OpenPostgres starts a PostgreSQL server in the home.
func OpenPostgres(ctx context.Context, home *dbserver.Home, o *Options) (*Database, error) {
	o = o.orDefault()
	srv, err := home.Postgres(ctx, &dbserver.PostgresOptions{Fsync: true, Clock: o.Clock})
	if err != nil {
		return nil, err
	}
	return serve(srv, o, "postgres://postgres@%s/postgres?sslmode=disable", srv.DSN()) //nolint:contextcheck // the proxy ends by Close.
}

// OpenMySQL starts a MariaDB server in the home.
func OpenMySQL(ctx context.Context, home *dbserver.Home, o *Options) (*Database, error) {
	o = o.orDefault()
	// With a binary log what others see survives a crash; without one InnoDB shows a commit before it is in the log.
	conf := map[string]string{"log-bin": "binlog", "sync-binlog": "1", "server-id": "1"}
	srv, err := home.MySQL(ctx, &dbserver.MySQLOptions{Fsync: true, Conf: conf, Clock: o.Clock})
	if err != nil {
		return nil, err
	}
	if err := srv.Exec(ctx, "CREATE DATABASE semel"); err != nil {
		return nil, err
	}
	return serve(srv, o, "mysql://root@%s/semel", srv.DSN()+"semel") //nolint:contextcheck // the proxy ends by Close.
}

// OpenRedis starts a Redis server in the home that writes every step to its
// append-only file before it answers.
func OpenRedis(ctx context.Context, home *dbserver.Home, o *Options) (*Database, error) {
	o = o.orDefault()
	srv, err := home.Redis(ctx, &dbserver.RedisOptions{AppendOnly: true, Clock: o.Clock})
	if err != nil {
		return nil, err
	}
	return serve(srv, o, "redis://%s", srv.Addr()) //nolint:contextcheck // the proxy ends by Close.
}

func (o *Options) orDefault() *Options {
	full := Options{}
	if o != nil {
		full = *o
	}
	if full.Report == nil {
		full.Report = func(error) {}
	}
	return &full
}

func serve(srv server, o *Options, dsn, direct string) (*Database, error) {
	proxy, err := dbserver.OpenProxy(srv.Addr(), o.Report)
	if err != nil {
		return nil, err
	}
	return &Database{Proxy: proxy, Direct: direct, server: srv, dsn: dsn}, nil
}

// DSN is the DSN of the store, through the proxy. It stays the same.
func (d *Database) DSN() string { return fmt.Sprintf(d.dsn, d.Proxy.Addr()) }

// Crash kills all processes of the server and starts it again.
func (d *Database) Crash(ctx context.Context) error {
	if err := d.server.Kill(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, crashLimit)
	defer cancel()
	return d.server.Start(ctx)
}

// Close ends the proxy and the server, and removes its data.
func (d *Database) Close() error {
	d.Proxy.Close()
	return d.server.Close()
}
