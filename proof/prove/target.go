package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/semel-dev/semel/internal/cli/openstore"
	"github.com/semel-dev/semel/internal/testserver/dbserver"
)

// target is a store, with the means to harm it.
type target struct {
	dsn    string
	driver string                    // of the business rows
	rows   string                    // their DSN, past the proxy
	clock  string                    // the file of a [hostClock], or empty
	set    func(time.Duration) error // moves the store's clock; nil where that is the machine's
	server server                    // nil for a file, as the proxy
	files  string                    // the folder of the server, or what the names of its files begin with
	proxy  *dbserver.Proxy
}

// server has what the database servers have in common.
type server interface {
	Addr() string
	Dir() string
	Kill() error
	Start(ctx context.Context) error
}

// crashLimit bounds how long a killed server may take to come back.
const crashLimit = time.Minute

// crash kills all processes of the server and starts it again.
func (p *target) crash(ctx context.Context) error {
	if err := p.server.Kill(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, crashLimit)
	defer cancel()
	return p.server.Start(ctx)
}

// targets opens stores, which the scenarios share.
type targets struct {
	home   *dbserver.Home
	dir    string
	report func(error)
	opened map[string]*target
}

// open opens the store of a scenario, with a clock of its own where the kind
// needs one. What a server acknowledges survives its death.
func (ps *targets) open(ctx context.Context, sc scenario) (*target, error) {
	p := &target{}
	if sc.inFiles() {
		return p, ps.openFile(p, sc)
	}
	var clock *dbserver.Clock
	if sc.kind == kindClock {
		var err error
		if clock, err = ps.home.Clock(); err != nil {
			return nil, err
		}
		p.set = clock.Set
	}
	dsn, err := ps.start(ctx, p, sc.store, clock)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", sc.target(), err)
	}
	if p.proxy, err = dbserver.OpenProxy(p.server.Addr(), ps.report); err != nil { //nolint:contextcheck // the proxy ends by close.
		return nil, err
	}
	p.dsn, p.files = fmt.Sprintf(dsn, p.proxy.Addr()), p.server.Dir()
	store, err := openstore.Open(ctx, p.dsn, nil) // makes the schema, before a process is killed over it
	if err != nil {
		return nil, err
	}
	return p, store.Close()
}

// start starts a server and returns its DSN, with %s for the address.
func (ps *targets) start(ctx context.Context, p *target, store string, clock *dbserver.Clock) (dsn string, err error) {
	switch store {
	case postgres:
		srv, err := ps.home.Postgres(ctx, &dbserver.PostgresOptions{Fsync: true, Clock: clock})
		if err != nil {
			return "", err
		}
		p.server, p.driver, p.rows = srv, "pgx", srv.DSN()
		return "postgres://postgres@%s/postgres?sslmode=disable", nil
	case mysql:
		// With a binary log what others see survives a crash; without one InnoDB shows a commit before it is in the log.
		conf := map[string]string{"log-bin": "binlog", "sync-binlog": "1", "server-id": "1"}
		srv, err := ps.home.MySQL(ctx, &dbserver.MySQLOptions{Fsync: true, Conf: conf, Clock: clock})
		if err != nil {
			return "", err
		}
		p.server, p.driver, p.rows = srv, "mysql", srv.DSN()+"semel"
		//semel:safe a second run is refused: the database is there
		return "mysql://root@%s/semel", srv.Exec(ctx, "CREATE DATABASE semel")
	case redis:
		srv, err := ps.home.Redis(ctx, &dbserver.RedisOptions{AppendOnly: true, Clock: clock})
		if err != nil {
			return "", err
		}
		p.server = srv
		return "redis://%s", nil
	}
	return "", fmt.Errorf("no server is known for %q", store)
}

func (ps *targets) openFile(p *target, sc scenario) error {
	name := filepath.Join(ps.dir, sc.kind)
	p.files = name + "." + sc.store
	p.dsn = sc.store + ":" + p.files
	switch sc.kind {
	case kindTransaction:
		p.driver, p.rows = "sqlite", "file:"+name+".sqlite?_pragma=journal_mode(wal)&_pragma=synchronous(full)&_pragma=busy_timeout(10000)"
		p.dsn = p.rows // records and rows are in one file
	case kindClock:
		p.clock = name + "." + sc.store + ".clock"
		p.set = hostClock{p.clock}.set
		return p.set(0)
	}
	return nil
}

func (ps *targets) close() {
	for _, p := range ps.opened {
		if p.proxy != nil {
			p.proxy.Close() // the home ends the servers
		}
	}
}
