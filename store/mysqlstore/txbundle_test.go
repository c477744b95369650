package mysqlstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/mysqlstore"
)

// txBundle is a database with a table of business rows, a store and a guard.
type txBundle struct {
	door  door
	dsn   string
	db    *sql.DB // the test's own
	store *mysqlstore.Store
	guard *semel.Guard
}

// eachDoor runs a test over connections of the package and over others.
func eachDoor(t *testing.T, test func(t *testing.T, d door)) {
	t.Helper()
	for name, d := range map[string]door{
		"open": {}, "connector": {pool: ourPool, long: true}, "any pool": {pool: quietPool},
		"as on MySQL, any pool": {pool: quietPool, with: mysqlstore.WithoutBounds, long: true},
	} {
		if d.long && !claimtest.Long() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, d)
		})
	}
}

func setUpTx(t *testing.T, d door, o *semel.Options) *txBundle {
	t.Helper()
	b := &txBundle{door: d, dsn: testserver.MySQLDatabase(t)}
	b.db = pool(t, b.dsn, "")
	execute(t, b.db, business)
	b.store, b.guard = b.second(t, o)
	return b
}

// second is another store on the same database, as another process has it.
func (b *txBundle) second(t *testing.T, o *semel.Options) (*mysqlstore.Store, *semel.Guard) {
	t.Helper()
	s := b.door.open(t, b.dsn, &mysqlstore.Options{Together: b.door.together})
	closes(t, s)
	return s, claimtest.Guard(t, s, o)
}

func key(name string) semel.Key { return semel.Key{Scope: "mysqlstore", Name: name} }

func asked() semel.Fingerprint { return semel.FingerprintOf("the same request") }

// do runs fn once for the key.
func (b *txBundle) do(ctx context.Context, name string, fn func(context.Context, *sql.Tx) (string, error)) (string, error) {
	return mysqlstore.Do(ctx, b.guard, key(name), asked(), fn)
}

// add is work that adds a row and answers.
func add(name string) func(context.Context, *sql.Tx) (string, error) {
	return func(ctx context.Context, tx *sql.Tx) (string, error) {
		return "answer " + name, insert(ctx, tx, name)
	}
}

func insert(ctx context.Context, in mysqlstore.Execer, name string) error {
	_, err := in.ExecContext(ctx, "INSERT INTO business (name) VALUES (?)", name)
	return err
}

func (b *txBundle) wantRows(t *testing.T, want ...string) {
	t.Helper()
	claimtest.WantRows(t, b.db, "SELECT name FROM business", want...)
}

func (b *txBundle) wantState(t *testing.T, name string, want semel.State) {
	t.Helper()
	claimtest.WantState(t, b.store, b.guard, key(name), want)
}

// goesOn fails unless connections and locks are free again.
func (b *txBundle) goesOn(t *testing.T) {
	t.Helper()
	for i := range 2 * txConns {
		name := fmt.Sprint("z", i)
		if answer, err := b.do(t.Context(), name, add(name)); err != nil || answer != "answer "+name {
			t.Fatalf("the next transaction: got %q, error %v", answer, err)
		}
	}
	execute(t, b.db, "DELETE FROM business WHERE name LIKE 'z%'")
	execute(t, b.db, "DELETE FROM semel_record WHERE name LIKE 'z%'")
}

// idle fails unless no connection of a pool is left inside of a transaction.
func idle(t *testing.T, db *sql.DB) {
	t.Helper()
	for range txConns {
		conn, err := db.Conn(t.Context())
		noError(t, err)
		defer conn.Close()
		var autocommit, open int
		noError(t, conn.QueryRowContext(t.Context(), "SELECT @@autocommit, @@in_transaction").Scan(&autocommit, &open))
		if autocommit != 1 || open != 0 {
			t.Errorf("a connection was given back with autocommit %d, in a transaction %d", autocommit, open)
		}
	}
}
