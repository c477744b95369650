package mysqlstore_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/mysqlstore"
	"github.com/semel-dev/semel/store/storetest"
)

// txConns limits the connections that one store has for transactions in a test.
const txConns = 4

// door is a way to get a store with transactions.
type door struct {
	params string // of the pool
	// pool is nil for mysqlstore.Open.
	pool func(tb testing.TB, dsn string) *sql.DB
	with func(*mysqlstore.Options) *mysqlstore.Options
	// notHeldUp: no claim counts as one that has waited, however slow the machine is.
	notHeldUp bool
	// all asks for all rules; the others are those about isolation, texts and ends.
	all bool
	// together: calls of Run share transactions.
	together bool
	// long is for the long form alone.
	long bool
}

// doors are all ways that a server and a pool allow.
func doors() map[string]door {
	return map[string]door{
		"open":                         {all: true},
		"any pool":                     {pool: quietPool, all: true},
		"any pool, several statements": {params: "?" + fast, pool: quietPool, long: true},
		"as on MySQL, open":            {with: mysqlstore.WithoutBounds, long: true},
		"as on MySQL, any pool":        {pool: quietPool, with: mysqlstore.WithoutBounds, all: true},
		"connector, interpolating, modes": {
			params: "?interpolateParams=true&clientFoundRows=true&sql_mode=%27ANSI_QUOTES%2CNO_BACKSLASH_ESCAPES%2CORACLE%27", pool: ourPool, long: true,
		},
		"open, read committed and latin1": {params: "?charset=latin1&tx_isolation=%27READ-COMMITTED%27", long: true},
		"open, snapshots":                 {params: "?" + snapshots, long: true},
		"open, serializable snapshots":    {params: "?tx_isolation=%27SERIALIZABLE%27&" + snapshots},
		"as on MySQL, serializable snapshots": {
			params: "?tx_isolation=%27SERIALIZABLE%27&" + snapshots, pool: quietPool, with: mysqlstore.WithoutBounds, long: true,
		},
	}
}

// ourPool is a pool over mysqlstore's connector.
func ourPool(tb testing.TB, dsn string) *sql.DB {
	tb.Helper()
	return poolOver(tb, dsn, mysqlstore.NewConnector)
}

func poolOver(tb testing.TB, dsn string, connect func(*mysql.Config) (driver.Connector, error)) *sql.DB {
	tb.Helper()
	cfg := config(tb, dsn)
	cfg.Logger = &mysql.NopLogger{}
	connector, err := connect(cfg)
	noError(tb, err)
	db := sql.OpenDB(connector)
	tb.Cleanup(func() { _ = db.Close() }) // some tests break connections
	return db
}

// open opens a store; the caller closes it.
func (d door) open(tb testing.TB, dsn string, o *mysqlstore.Options) *mysqlstore.Store {
	tb.Helper()
	if d.with != nil {
		o = d.with(o)
	}
	if d.notHeldUp {
		o = mysqlstore.HeldUpAfter(o, time.Hour)
	}
	if d.pool != nil {
		db := d.pool(tb, dsn+d.params)
		db.SetMaxOpenConns(txConns)
		db.SetMaxIdleConns(txConns)
		return newStore(tb, db, o)
	}
	full := *o
	full.MaxConns = txConns
	s, err := mysqlstore.Open(tb.Context(), dsn+d.params, &full)
	noError(tb, err)
	return s
}

func TestTx(t *testing.T) {
	t.Parallel()
	for name, d := range doors() {
		if d.long && !claimtest.Long() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := testserver.MySQLDatabase(t)
			admin := pool(t, dsn, "")
			b := &bench{db: admin, admin: admin}
			execute(t, b.db, "CREATE TABLE business (n INT AUTO_INCREMENT PRIMARY KEY, prefix VARCHAR(64) NOT NULL, row_text VARCHAR(300) NOT NULL) ENGINE = InnoDB")
			only := []string{"tx/wait-", "tx/race", "tx/commit", "tx/adopt", "tx/outcome", "dotx/", "join/", "nested/"}
			if d.all {
				only = nil
			}
			storetest.RunTx(t, func(tb testing.TB) *storetest.TxInstance {
				tb.Helper()
				d := d
				d.notHeldUp = d.notHeldUp || strings.HasSuffix(tb.Name(), "/tx/wait-other-key") // it holds where claims are not as slow as if they had waited
				return d.instance(tb, b, dsn)
			}, only...)
		})
	}
}

// instance is a database with records and business rows for one rule.
func (d door) instance(tb testing.TB, b *bench, dsn string) *storetest.TxInstance {
	tb.Helper()
	prefix := b.tables(tb)
	o := mysqlstore.Ticking(&mysqlstore.Options{TablePrefix: prefix})
	execute(tb, b.db, "DELETE FROM business WHERE prefix = ?", prefix)
	// What was deleted of a digest locks its neighbours until it is purged.
	execute(tb, b.db, fmt.Sprintf("TRUNCATE TABLE %srecord", prefix))
	s, second := d.open(tb, dsn, o), d.open(tb, dsn, o)
	closes(tb, second)
	return &storetest.TxInstance{
		Store:      s,
		Transactor: s.Transactor(nil),
		Second:     second.Transactor(nil),
		Insert: func(ctx context.Context, row string) error {
			var in mysqlstore.Execer = b.db
			if tx := mysqlstore.TxFrom(ctx); tx != nil {
				in = tx
			}
			return insertFor(ctx, in, prefix, row)
		},
		Count: func(ctx context.Context, row string) (n int, err error) {
			err = b.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM business WHERE prefix = ? AND row_text = ?", prefix, row).Scan(&n)
			return n, err
		},
		Advance: func(d time.Duration) {
			execute(tb, b.db, fmt.Sprintf("UPDATE %stick SET ms = ms + %d", prefix, d.Milliseconds()))
		},
		Do:          doAs,
		Own:         b.own(prefix, second),
		Connections: txConns,
		Running:     true,
		Check:       func(tb testing.TB) { tb.Helper(); check(tb, b.db, prefix) },
	}
}

// doAs is [mysqlstore.Do] for work that finds its transaction in its context.
func doAs(ctx context.Context, g *semel.Guard, k semel.Key, fp semel.Fingerprint, fn func(context.Context) (string, error)) (string, error) {
	return mysqlstore.Do(ctx, g, k, fp, func(ctx context.Context, _ *sql.Tx) (string, error) { return fn(ctx) })
}

// own begins transactions of the application, whose handle is by turns that of
// one library or another.
func (b *bench) own(prefix string, s *mysqlstore.Store) func(context.Context) (*storetest.OwnTx, error) {
	turn := 0
	return func(ctx context.Context) (*storetest.OwnTx, error) {
		tx, err := s.DB().BeginTx(ctx, nil)
		if err != nil {
			return nil, err
		}
		all := handles(tx)
		turn++
		handle := all[turn%len(all)]
		return &storetest.OwnTx{
			Join: func(ctx context.Context, g *semel.Guard, k semel.Key, fp semel.Fingerprint, fn func(context.Context) (string, error)) (string, error) {
				return mysqlstore.Join(ctx, g, handle, k, fp, fn)
			},
			Insert: func(ctx context.Context, row string) error { return insertFor(ctx, handle, prefix, row) },
			End: func(commit bool) error {
				if commit {
					return tx.Commit()
				}
				return tx.Rollback()
			},
		}, nil
	}
}

func insertFor(ctx context.Context, in mysqlstore.Execer, prefix, row string) error {
	_, err := in.ExecContext(ctx, "INSERT INTO business (prefix, row_text) VALUES (?, ?)", prefix, row)
	return err
}
