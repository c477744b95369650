package mysqlstore

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/recent"
	"github.com/semel-dev/semel/store/internal/txn"
	"github.com/semel-dev/semel/store/internal/verb"
)

var (
	_ semel.Store   = (*Store)(nil)
	_ semel.Lister  = (*Store)(nil)
	_ semel.Sweeper = (*Store)(nil)
	_ semel.Batcher = (*Store)(nil)
)

// maxIdleTime is after what time an unused connection is closed.
const maxIdleTime = 5 * time.Minute

// Store keeps records in two tables of a MySQL or MariaDB database. [Open] and [New] are the only doors. It is safe for
// concurrent use, and any number of processes may share the tables.
type Store struct {
	db           *sql.DB
	txDB         *sql.DB // for transactions; the same one as db, or a second one
	txOurs       bool    // connections of txDB are of this package
	tx           txTexts
	slow         time.Duration // what a claim may take without having waited
	transactions txn.Transactions[txHandle]
	runs         *runQueue // nil without Options.Together
	ownDB        bool      // both pools are closed with the store
	log          *slog.Logger
	dialect      dialect
	server       server
	ways         ways
	stmts        prepared
	seen         recent.Set
	// claimTogether is the text of claim_together.sql.
	claimTogether string

	gate verb.Gate
}

// Open connects to the database that the DSN names and opens the store there:
// mysql://user:password@host:3306/database?param=value (or mariadb://), or the driver's own form,
// user:password@tcp(host:3306)/database?param=value. The parameters are the driver's in both. The database must exist; tables
// that are missing or of an older schema are migrated. What the store cannot keep its promises with is refused with an error that
// says what to do; a wrong DSN or option has an error with a method Misconfigured(). Close the store to free its connections.
func Open(ctx context.Context, dsn string, o *Options) (*Store, error) {
	opts, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	cfg, err := ParseDSN(dsn)
	if err != nil {
		return nil, err
	}
	db, err := openPool(cfg, &opts)
	if err != nil {
		return nil, err
	}
	txDB, err := openTxPool(cfg, &opts)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	s, err := open(ctx, db, txDB, &opts)
	if err != nil {
		_, _ = db.Close(), txDB.Close() // the error of the connection is the news
		return nil, err
	}
	s.ownDB = true
	return s, nil
}

// New opens the store in the database of a pool that the caller has opened with driver github.com/go-sql-driver/mysql, and that
// Close leaves open. Whatever its parameters are, the store keeps its promises or says what it needs: autocommit, for example,
// and an isolation level that shows nothing uncommitted. Two parameters save it round trips: interpolateParams=true and
// multiStatements=true.
func New(ctx context.Context, db *sql.DB, o *Options) (*Store, error) {
	opts, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	return open(ctx, db, db, &opts)
}

func open(ctx context.Context, db, txDB *sql.DB, opts *Options) (*Store, error) {
	s := &Store{db: db, txDB: txDB, log: opts.Logger, dialect: newDialect(opts, "")}
	s.gate.Name, s.gate.ReadOnly = "mysqlstore", opts.ReadOnly
	s.prepareTransactions()
	var err error
	if s.server, err = inspect(ctx, db, s.dialect); err != nil {
		return nil, err
	}
	if err := verb.Unfit(s.server.refuse(opts.ReadOnly)); err != nil {
		return nil, err
	}
	if err := s.prepareSchema(ctx, opts); err != nil {
		return nil, err
	}
	if err := s.stayIn(ctx, opts); err != nil {
		return nil, err
	}
	if err := s.prepare(ctx, opts); err != nil {
		return nil, errors.Join(err, s.stmts.close())
	}
	if err := s.prepareTx(ctx, opts); err != nil {
		return nil, errors.Join(err, s.stmts.close())
	}
	if err := s.prepareTogether(ctx, opts); err != nil {
		return nil, errors.Join(err, s.stmts.close())
	}
	for _, warning := range s.server.warnings() {
		s.log.LogAttrs(ctx, slog.LevelWarn, "the server does not keep every promise", slog.String("advice", warning.text),
			slog.String("variable", warning.variable), slog.String("value", warning.value))
	}
	return s, nil
}

// stayIn names the database in every statement from here on, so that work which
// changes the one in use (USE) takes no claim with it.
func (s *Store) stayIn(ctx context.Context, opts *Options) error {
	var database sql.NullString
	if err := s.db.QueryRowContext(ctx, "SELECT DATABASE()").Scan(&database); err != nil {
		return translate("open", err)
	}
	s.dialect = newDialect(opts, database.String)
	return nil
}

// prepare finds the shortest ways, and prepares the usual statements, so that a missing privilege or a strange table is met now,
// and no transaction that holds a connection needs a second one.
func (s *Store) prepare(ctx context.Context, opts *Options) (err error) {
	s.ways.returning = s.server.returning() && !opts.deny.returning
	s.ways.together = !s.ways.returning && !opts.deny.together && sendsTwo(ctx, s.db)
	s.stmts = prepared{db: s.db, text: s.text, stmts: map[statement]*sql.Stmt{}}
	if s.claimTogether, err = s.text("claim_together", 1); err != nil {
		return err
	}
	names := []string{"find"}
	if !opts.ReadOnly {
		names = append(names, "claim", "claimed", "renew", "settle", "release", "replace_absent", "replace_former")
	}
	for _, name := range names {
		if _, err := s.stmts.get(ctx, name, 1); err != nil { //nolint:sqlclosecheck // it is closed with the store.
			return translate("prepare "+name, err)
		}
	}
	return nil
}

// sendsTwo reports whether the pool sends two statements with arguments in one round trip.
func sendsTwo(ctx context.Context, db *sql.DB) bool {
	var n int
	return db.QueryRowContext(ctx, "SELECT ?; SELECT ?", 1, 2).Scan(&n) == nil && n == 1
}

// Close waits for the verbs that were begun, and closes the connections of a store that was opened by [Open]. Verbs begun
// afterwards return [semel.ErrClosed]. It does not wait for transactions: shut the guard down first, which does.
func (s *Store) Close() error {
	if !s.gate.Close() {
		return nil
	}
	s.gate.Wait()
	// The error of a broken connection does not matter: it is closed, and the server frees what was prepared on it.
	_ = s.stmts.close()
	s.runs.close()
	if s.ownDB {
		_, _ = s.db.Close(), s.txDB.Close()
	}
	return nil
}
