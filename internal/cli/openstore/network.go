package openstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/cli/outcomecache"
	"github.com/semel-dev/semel/store/groupcommit"
	"github.com/semel-dev/semel/store/mysqlstore"
	"github.com/semel-dev/semel/store/pgstore"
	"github.com/semel-dev/semel/store/redisstore"
)

// asDSN marks an error that the DSN as written causes.
func asDSN(err error) error {
	if _, wrong := errors.AsType[interface {
		error
		Misconfigured()
	}](err); wrong {
		return fmt.Errorf("%w: %w", ErrDSN, err)
	}
	return err
}

func openPostgres(ctx context.Context, scheme, rest string, o *Options) (semel.Store, error) {
	rest, p, err := takeParameters(rest, paramSchema, paramCache, paramGroupCommit)
	if err != nil {
		return nil, err
	}
	store, err := pgstore.Open(ctx, scheme+":"+rest, &pgstore.Options{
		Schema: p.schema, ReadOnly: o.Use == Inspect, SkipMigrations: o.Use != Serve, Logger: o.Logger,
	})
	if err != nil {
		return nil, asDSN(err)
	}
	return p.wrap(store, o) //nolint:contextcheck // what it starts ends by Close.
}

func openMySQL(ctx context.Context, rest string, o *Options) (semel.Store, error) {
	rest, p, err := takeParameters(rest, paramPrefix, paramCache, paramGroupCommit, paramMaxConns)
	if err != nil {
		return nil, err
	}
	store, err := mysqlstore.Open(ctx, "mysql:"+rest, &mysqlstore.Options{
		TablePrefix: p.prefix, MaxConns: p.maxConns, ReadOnly: o.Use == Inspect, SkipMigrations: o.Use != Serve, Logger: o.Logger,
	})
	if err != nil {
		return nil, asDSN(err)
	}
	return p.wrap(store, o) //nolint:contextcheck // what it starts ends by Close.
}

func openRedis(ctx context.Context, scheme, rest string, o *Options) (semel.Store, error) {
	rest, p, err := takeParameters(rest, paramPrefix, paramCache, paramGroupCommit, paramReplicas)
	if err != nil {
		return nil, err
	}
	if _, nodes := cut(rest, "cluster"); nodes != "" {
		p.groupCommit = false // no script has keys of two nodes
	}
	if p.prefix != "" {
		rest, _ = cut(rest, "prefix") // the store's own name for it, which would win
	}
	store, err := redisstore.Open(ctx, scheme+":"+rest, &redisstore.Options{
		Prefix: p.prefix, Replicas: p.replicas, ReadOnly: o.Use == Inspect, Logger: o.Logger,
	})
	if err != nil {
		return nil, asDSN(err)
	}
	return p.wrap(store, o) //nolint:contextcheck // what it starts ends by Close.
}

// wrap adds group commit and the cache to a store that serves.
func (p *parameters) wrap(store semel.Store, o *Options) (semel.Store, error) {
	if o.Use != Serve {
		return store, nil
	}
	if p.groupCommit {
		grouped, err := groupcommit.New(store, nil)
		if err != nil {
			return nil, errors.Join(err, store.Close())
		}
		store = grouped
	}
	if p.cacheBytes > 0 {
		cached, err := outcomecache.New(store, &outcomecache.Options{MaxBytes: p.cacheBytes})
		if err != nil {
			return nil, errors.Join(err, store.Close())
		}
		store = cached
	}
	return store, nil
}
