package dbguard_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"net/url"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/dbguard"
	"github.com/semel-dev/semel/dbguard/pgxguard"
	"github.com/semel-dev/semel/internal/guardtest"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/internal/testserver/databases"
)

// proxied are databases behind a proxy, by driver.
func proxied() map[string]func(*testing.T) (*testserver.Proxy, dbguard.Database) {
	postgres := func(t *testing.T) (*testserver.Proxy, string) {
		t.Helper()
		dsn, err := url.Parse(testserver.PostgresDatabase(t))
		if err != nil {
			t.Fatal(err)
		}
		proxy := testserver.NewProxy(t, dsn.Host)
		dsn.Host = proxy.Addr()
		return proxy, dsn.String()
	}
	return map[string]func(*testing.T) (*testserver.Proxy, dbguard.Database){
		"pgx": func(t *testing.T) (*testserver.Proxy, dbguard.Database) {
			t.Helper()
			proxy, dsn := postgres(t)
			return proxy, pgxguard.Database(databases.Pgx(t, dsn))
		},
		"postgresql": func(t *testing.T) (*testserver.Proxy, dbguard.Database) {
			t.Helper()
			proxy, dsn := postgres(t)
			return proxy, dbguard.SQLDatabase(dbguard.PostgreSQL, databases.Connect(t, "pgx", dsn))
		},
		"mysql": func(t *testing.T) (*testserver.Proxy, dbguard.Database) {
			t.Helper()
			config, err := mysql.ParseDSN(testserver.MySQLDatabase(t))
			if err != nil {
				t.Fatal(err)
			}
			proxy := testserver.NewProxy(t, config.Addr)
			config.Net, config.Addr = "tcp", proxy.Addr()
			return proxy, dbguard.SQLDatabase(dbguard.MySQL, databases.Connect(t, "mysql", config.FormatDSN()))
		},
	}
}

// When the reply to a commit is lost, it may or may not have taken place, and the
// caller gets that answer. The key settles it.
func TestCommitUnheard(t *testing.T) {
	t.Parallel()
	for name, open := range proxied() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			proxy, db := open(t)
			d := &dbguard.Dedup{}
			noError(t, d.Create(t.Context(), db))
			var first bool
			work := func(last func()) error {
				return db.InTx(t.Context(), func(ctx context.Context, tx dbguard.Session) (err error) {
					first, err = d.First(ctx, tx, keyOf(1), semel.Fingerprint{})
					last()
					return err
				})
			}
			if err := work(proxy.LoseReplies); !errors.Is(err, semel.ErrUnknown) || dbguard.Retryable(err) {
				t.Errorf("a commit without a reply = %v, want ErrUnknown", err)
			}
			proxy.Clear()
			if err := work(func() {}); err != nil || first {
				t.Errorf("again: first %v, %v, want what was committed", first, err)
			}
		})
	}
}

// What the server says of a commit is believed, unless it says that it does not
// know, or that it went away.
func TestCommitError(t *testing.T) {
	t.Parallel()
	for state, unknown := range map[string]bool{"23505": false, "40001": false, "40003": true, "57P01": true, "08006": true} {
		err := dbguard.CommitError(&pqError{Code: state, Message: "the server's words"})
		if errors.Is(err, semel.ErrUnknown) != unknown {
			t.Errorf("%s: %v, want unknown %v", state, err, unknown)
		}
	}
	if err := dbguard.CommitError(nil); err != nil {
		t.Errorf("a commit that took place = %v", err)
	}
	if err := dbguard.CommitError(driver.ErrBadConn); !errors.Is(err, semel.ErrUnknown) {
		t.Errorf("a broken connection = %v, want ErrUnknown", err)
	}
}

// A commit that the database refuses is known not to have taken place.
func TestCommitRefused(t *testing.T) {
	t.Parallel()
	guardtest.Each(t, func(t *testing.T, db *guardtest.Database) {
		if db.Dialect() == dbguard.MySQL {
			return // it has no constraints that wait for the commit
		}
		db.Run(t, "CREATE TABLE a (id int PRIMARY KEY)", "CREATE TABLE b (id int REFERENCES a (id) DEFERRABLE INITIALLY DEFERRED)")
		err := db.InTx(t.Context(), func(ctx context.Context, tx dbguard.Session) error {
			_, err := tx.Exec(ctx, "INSERT INTO b VALUES (1)")
			return err
		})
		if err == nil || errors.Is(err, semel.ErrUnknown) {
			t.Errorf("a commit that was refused = %v, want no ErrUnknown", err)
		}
	})
}

// What a server of MySQL or MariaDB answers to a commit leaves the outcome open, unless it proves that nothing was committed.
func TestCommitErrorOfMySQL(t *testing.T) {
	t.Parallel()
	for number, open := range map[uint16]bool{
		1026: true, 1053: true, 1180: true, 1317: true, 1598: true, 1927: true, 1969: true, 3100: true, 2006: true, 2013: true,
		1020: false, 1062: false, 1205: false, 1213: false, 3101: false,
	} {
		err := dbguard.CommitError(&mysql.MySQLError{Number: number})
		if err == nil || errors.Is(err, semel.ErrUnknown) != open {
			t.Errorf("error %d: got %v, want unknown %v", number, err, open)
		}
	}
}
