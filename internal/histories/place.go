package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/semel-dev/semel/internal/mayhem"
	"github.com/semel-dev/semel/internal/testserver/dbserver"
)

// place is one store to ask, with what can be done to it.
type place struct {
	dsn   string
	clock string                    // the file of a [hostClock], or empty
	set   func(time.Duration) error // moves the store's clock; nil where that is the machine's
	db    *mayhem.Database          // nil for a file
}

// places opens stores, and keeps the servers for the scenarios that come.
type places struct {
	home   *dbserver.Home
	dir    string
	report func(error)
	opened map[string]*place
}

type opener func(context.Context, *dbserver.Home, *mayhem.Options) (*mayhem.Database, error)

// stores are the stores with a server.
func servers() map[string]opener {
	return map[string]opener{"postgres": mayhem.OpenPostgres, "mysql": mayhem.OpenMySQL, redis: mayhem.OpenRedis}
}

const (
	sqlite = "sqlite"
	redis  = "redis"
)

// of returns the store, with a clock of its own where the fault needs one.
func (ps *places) of(ctx context.Context, store, fault string) (*place, error) {
	jumps := fault == faultClock
	name := store
	if jumps {
		name += "-clock"
	}
	if p := ps.opened[name]; p != nil {
		return p, nil
	}
	p, err := ps.open(ctx, store, name, jumps)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	ps.opened[name] = p
	return p, nil
}

func (ps *places) open(ctx context.Context, store, name string, jumps bool) (*place, error) {
	p := &place{}
	if store == sqlite {
		p.dsn = "sqlite:" + filepath.Join(ps.dir, name+".db")
		if jumps {
			p.clock = filepath.Join(ps.dir, name)
			p.set = hostClock{p.clock}.set
			return p, p.set(0)
		}
		return p, nil
	}
	o := &mayhem.Options{Report: ps.report}
	if jumps {
		clock, err := ps.home.Clock()
		if err != nil {
			return nil, err
		}
		o.Clock, p.set = clock, clock.Set
	}
	var err error
	if p.db, err = servers()[store](ctx, ps.home, o); err != nil {
		return nil, err
	}
	p.dsn = p.db.DSN()
	return p, nil
}

func (ps *places) close() {
	for _, p := range ps.opened {
		if p.db != nil {
			p.db.Proxy.Close() // the home ends the servers
		}
	}
}
