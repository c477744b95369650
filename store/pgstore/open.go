package pgstore

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"math"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/recent"
	"github.com/semel-dev/semel/store/internal/verb"
)

var (
	_ semel.Store    = (*Store)(nil)
	_ semel.Lister   = (*Store)(nil)
	_ semel.Sweeper  = (*Store)(nil)
	_ semel.Batcher  = (*Store)(nil)
	_ semel.Notifier = (*Store)(nil)
)

// Store keeps records in one schema of a PostgreSQL database. [Open] and [New]
// are the only doors. It is safe for concurrent use, and any number of
// processes may have the same schema open.
type Store struct {
	pool     *pgxpool.Pool
	own      bool // the pool is ours to close
	schema   string
	sql      texts
	log      *slog.Logger
	plain    bool // the server has no NOTIFY, advisory locks or row addresses
	gate     verb.Gate
	listener listener
	tx       txShared
	seen     recent.Set
	execs    *execQueue // of Exec; nil without Options.Together
	runs     *runQueue  // of Run; the same

	background sync.WaitGroup
	life       context.Context //nolint:containedctx // it ends with Close.
	end        context.CancelFunc
}

// Open connects to the database that the DSN names (a postgres:// URL or
// key=value pairs, with pgx's own settings among them; connecting may take ten
// seconds, unless connect_timeout says otherwise), checks whether it can hold
// records, and creates or migrates the schema. Every error says what to change,
// and none shows the DSN; a wrong DSN or option has an error with a method Misconfigured().
// Close the store to free it.
func Open(ctx context.Context, dsn string, o *Options) (*Store, error) {
	opts, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil || strings.HasPrefix(dsn, "postgres") && !strings.Contains(dsn, "://") { // no URL, and no key begins so
		return nil, errDSN // the driver's own error may hold a part of the password
	}
	if opts.MaxConns > 0 {
		config.MaxConns = int32(min(opts.MaxConns, math.MaxInt32))
	}
	if config.ConnConfig.ConnectTimeout == 0 { // a peer that accepts a connection may not be a server, or may stall
		config.ConnConfig.ConnectTimeout = connectTimeout
	}
	if params := config.ConnConfig.RuntimeParams; params["application_name"] == "" {
		params["application_name"] = "semel"
	}
	if !opts.ReadOnly {
		leaveReadOnly(config.ConnConfig)
	}
	s := &Store{own: true}
	if err := s.open(ctx, &opts, config); err != nil {
		return nil, translate("open", err)
	}
	return s, nil
}

// New is [Open] with a pool of the caller's, which Close leaves open.
func New(ctx context.Context, pool *pgxpool.Pool, o *Options) (*Store, error) {
	opts, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if pool == nil {
		return nil, errors.New("pgstore: New needs a pool")
	}
	s := &Store{pool: pool}
	if err := s.prepare(ctx, &opts); err != nil {
		return nil, translate("open", err)
	}
	return s, nil
}

// open connects, a second time where the server's settings do not suit; a
// pooler may refuse to change them.
func (s *Store) open(ctx context.Context, o *Options, config *pgxpool.Config) (err error) {
	if s.sql, err = render(o); err != nil {
		return err
	}
	if s.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return err
	}
	srv, err := askServer(ctx, s.pool, s.sql)
	settings := srv.overrides()
	if config.ConnConfig.RuntimeParams[isolationSetting] != "" {
		delete(settings, isolationSetting) // the DSN asks for it
	}
	if err == nil && len(settings) > 0 {
		if settings[isolationSetting] != "" {
			s.tx.isolation = srv.isolation
		}
		err = s.reopen(ctx, config, settings)
	}
	if err == nil {
		err = s.prepare(ctx, o)
	}
	if err != nil {
		s.pool.Close()
	}
	return err
}

// reopen connects with other settings, and keeps the pool when that works.
func (s *Store) reopen(ctx context.Context, config *pgxpool.Config, settings map[string]string) error {
	config = config.Copy()
	maps.Copy(config.ConnConfig.RuntimeParams, settings)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return err
	}
	if _, err := askServer(ctx, pool, s.sql); err != nil {
		pool.Close()
		return ctx.Err()
	}
	s.pool.Close()
	s.pool = pool
	return nil
}

// prepare looks at the server, and brings the schema up to date.
func (s *Store) prepare(ctx context.Context, o *Options) (err error) {
	s.schema, s.log = o.Schema, o.Logger
	s.gate.Name, s.gate.ReadOnly = "pgstore", o.ReadOnly
	if s.sql, err = render(o); err != nil {
		return err
	}
	srv, err := askServer(ctx, s.pool, s.sql)
	if err != nil {
		return err
	}
	if err := verb.Unfit(srv.check(o.ReadOnly)); err != nil {
		return err
	}
	if err := s.checkTransactions(ctx); err != nil {
		return err
	}
	srv.warn(ctx, s.log)
	o.plain = o.plain || srv.plain()
	s.plain, s.listener.retryAfter = o.plain, o.retryListenAfter
	if o.Together {
		s.execs, s.runs = s.newExecQueue(), s.newRunQueue()
	}
	if s.sql, err = render(o); err != nil {
		return err
	}
	if !o.SkipMigrations && !o.ReadOnly {
		if err := migrate(ctx, s.pool, o, s.sql); err != nil {
			return err
		}
	}
	for _, check := range []func(context.Context) error{s.checkSchema, s.checkRights, s.checkFences} {
		if err := check(ctx); err != nil {
			return err
		}
	}
	s.life, s.end = context.WithCancel(context.WithoutCancel(ctx))
	return nil
}

// Close waits for the steps that were begun, and closes the pool that Open
// made. Steps begun afterwards return [semel.ErrClosed].
func (s *Store) Close() error {
	if !s.gate.Close() {
		s.gate.Wait()
		return nil
	}
	s.end()
	s.gate.Wait()
	s.background.Wait()
	if s.own {
		s.pool.Close()
	}
	return nil
}
