package sqlitetx

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/internal/txn"
	"github.com/semel-dev/semel/store/internal/verb"
	"github.com/semel-dev/semel/store/sqlitestore/internal/clock"
	"github.com/semel-dev/semel/store/sqlitestore/internal/table"
)

var (
	_ semel.Store   = (*Store)(nil)
	_ semel.Lister  = (*Store)(nil)
	_ semel.Sweeper = (*Store)(nil)
	_ semel.Counter = (*Store)(nil)
)

// Store keeps records inside of an application's SQLite database. [Open] is
// the only door. It is safe for concurrent use, and several processes may use
// the same file.
type Store struct {
	db           *sql.DB
	name         string // of the file, for messages
	synchronous  int64  // as it was found
	clock        *clock.Clock
	log          *slog.Logger
	busy         time.Duration
	gate         verb.Gate
	transactions txn.Transactions[*txHandle]
	seat         *queue
	given        atomic.Int64 // the greatest fence given by this process
	engine       table.Engine
	texts        [table.Statements]string
	stmts        [table.Statements]*sql.Stmt
}

// Open opens the store in the database that db is connected to, and creates or
// migrates its tables there. It refuses a SQLite that is too old, settings
// under which answers could be lost (see [Options.AcceptLoss]), tables of a
// newer schema and what cannot be written, each with an error that says what
// to do. The database stays the caller's: Close leaves it open.
//
// A database in memory belongs to one connection, so db needs
// SetMaxOpenConns(1), and lives no longer than that.
func Open(ctx context.Context, db *sql.DB, o *Options) (*Store, error) {
	opts, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Store{
		db:    db,
		name:  "the database",
		clock: clock.New(opts.Now),
		log:   opts.Logger,
		busy:  opts.BusyTimeout,
		gate:  verb.Gate{Name: names.Package},
		seat:  newQueue(),
	}
	s.engine = table.Engine{Names: names, Clock: s.clock, Write: s.write, Read: s.read}
	s.transactions = txn.Transactions[*txHandle]{DB: txDB{s}, Store: s, Name: names.Package, Log: s.log, Timeout: s.busy}
	if s.texts, err = names.Texts(); err != nil {
		return nil, err
	}
	if err := s.open(ctx, &opts); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Store) open(ctx context.Context, opts *Options) error {
	if err := s.inspect(ctx, opts.AcceptLoss); err != nil {
		return err
	}
	for i, text := range s.texts {
		var err error
		if s.stmts[i], err = s.db.PrepareContext(ctx, text); err != nil { //nolint:sqlclosecheck // Close closes them.
			return s.translate("open", err)
		}
	}
	return nil
}

// inspect looks at the database through one connection, before and after the
// tables are made.
func (s *Store) inspect(ctx context.Context, acceptLoss bool) error {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return s.translate("open", err)
	}
	defer conn.Close() //nolint:errcheck // it only gives it back.
	inMemory, err := s.settings(ctx, conn, acceptLoss)
	if err != nil {
		return err
	}
	floor, err := s.migrate(ctx, conn)
	if err != nil {
		return s.translate("open", err)
	}
	if behind := s.clock.Behind(floor); behind > time.Second {
		s.log.LogAttrs(ctx, slog.LevelWarn, "the wall clock is behind the store's clock, which goes on from where it was",
			slog.String("database", s.name), slog.Duration("behind", behind))
	}
	s.clock.Read(floor)
	if inMemory {
		return s.oneDatabase(ctx)
	}
	return nil
}

// oneDatabase refuses a pool each of whose connections has a database in
// memory of its own.
func (s *Store) oneDatabase(ctx context.Context) error {
	if s.db.Stats().MaxOpenConnections == 1 {
		return nil
	}
	other, err := s.db.Conn(ctx)
	if err != nil {
		return s.translate("open", err)
	}
	defer other.Close() //nolint:errcheck // it only gives it back.
	if n, err := number(ctx, other, "SELECT COUNT(*) FROM sqlite_schema WHERE name = 'semel_meta'"); err != nil || n == 1 {
		return err
	}
	return fmt.Errorf("sqlitetx: every connection has a database in memory of its own (call SetMaxOpenConns(1), or use a file)")
}

// begun starts a verb, which gate.Leave ends.
func (s *Store) begun(ctx context.Context, act string) error {
	if ctx.Err() != nil {
		return fmt.Errorf("sqlitetx: %s: not executed: %w", act, context.Cause(ctx))
	}
	return s.gate.Enter(act, verb.Writes)
}

// Close waits for the verbs that were begun. Verbs begun afterwards return
// [semel.ErrClosed]; a transaction that was begun can still be committed. The
// database stays open.
func (s *Store) Close() error {
	if !s.gate.Close() {
		return nil
	}
	s.gate.Wait()
	var errs []error
	for _, stmt := range s.stmts {
		if stmt != nil {
			errs = append(errs, stmt.Close())
		}
	}
	if err := errors.Join(errs...); err != nil {
		return s.translate("close", err)
	}
	return nil
}
