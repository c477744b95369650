package dbguard_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/dbguard"
	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/guardtest"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/internal/testserver/databases"
)

// keyOf names an intent of the races.
func keyOf(n int) semel.Key { return semel.Key{Scope: "tenant-7 pay", Name: "k" + strconv.Itoa(n)} }

// again runs a transaction until the database does not end it because of
// another one.
func again(ctx context.Context, db dbguard.Database, work func(ctx context.Context, tx dbguard.Session) error) error {
	var err error
	for range 100 {
		if err = db.InTx(ctx, work); !dbguard.Retryable(err) {
			return err
		}
	}
	return err
}

func newDedup(t *testing.T, db *guardtest.Database) *dbguard.Dedup {
	t.Helper()
	d := &dbguard.Dedup{}
	noError(t, d.Create(t.Context(), db))
	return d
}

// In dedup mode, of all callers with a key one is first, and the work is done
// once; TestLookThenWriteLoses has the counter-example.
func TestFirstRace(t *testing.T) {
	t.Parallel()
	guardtest.EachRace(t, func(t *testing.T, db *guardtest.Database) {
		d, effects := newDedup(t, db), guardtest.NewEffects(t, db)
		var firsts atomic.Int64
		guardtest.Race(t, guardtest.Callers, guardtest.Keys, func(ctx context.Context, _, key int) error {
			var first bool
			err := again(ctx, db, func(ctx context.Context, tx dbguard.Session) error {
				var err error
				if first, err = d.First(ctx, tx, keyOf(key), semel.Fingerprint{1}); err != nil || !first {
					return err
				}
				return effects.Add(ctx, tx, key)
			})
			if first {
				firsts.Add(1)
			}
			return err
		})
		effects.Check(t, guardtest.Keys)
		if got := firsts.Load(); got != guardtest.Keys {
			t.Errorf("%d callers report that they are first, want %d", got, guardtest.Keys)
		}
	})
}

// In idempotent mode, all callers get the first result, even when the first to
// hold the key rolls back: then the next one is first.
func TestOnceRace(t *testing.T) {
	t.Parallel()
	errUndone := errors.New("undone")
	guardtest.EachRace(t, func(t *testing.T, db *guardtest.Database) {
		d, effects := newDedup(t, db), guardtest.NewEffects(t, db)
		attempts := make([]atomic.Int64, guardtest.Keys)
		results := make([][guardtest.Callers]string, guardtest.Keys)
		guardtest.Race(t, guardtest.Callers, guardtest.Keys, func(ctx context.Context, caller, key int) error {
			for {
				err := again(ctx, db, func(ctx context.Context, tx dbguard.Session) error {
					result, _, err := dbguard.Once(ctx, d, tx, keyOf(key), semel.Fingerprint{1}, func(ctx context.Context) (string, error) {
						err := effects.Add(ctx, tx, key)
						if attempts[key].Add(1) == 1 && err == nil {
							err = errUndone
						}
						return fmt.Sprint("by ", caller), err
					})
					results[key][caller] = result
					return err
				})
				if !errors.Is(err, errUndone) {
					return err
				}
			}
		})
		effects.Check(t, guardtest.Keys)
		for key := range results {
			told := results[key][:]
			if slices.ContainsFunc(told, func(s string) bool { return s == "" || s != told[0] }) {
				t.Fatalf("key %d: callers got different results: %q", key, told)
			}
		}
	})
}

// A duplicate that began before the first committed: its answer at each
// level of isolation is as the comment of Dedup says.
func TestFirstAtRepeatableRead(t *testing.T) {
	t.Parallel()
	guardtest.Each(t, func(t *testing.T, db *guardtest.Database) {
		if db.Dialect() == dbguard.SQLite {
			return // the duplicate would wait for the first to begin
		}
		d, effects := newDedup(t, db), guardtest.NewEffects(t, db)
		once := func(ctx context.Context, tx dbguard.Session) (string, bool, error) {
			return dbguard.Once(ctx, d, tx, keyOf(1), semel.Fingerprint{1}, func(context.Context) (string, error) { return "first", nil })
		}
		err := db.InSnapshot(t.Context(), "effect", func(ctx context.Context, tx dbguard.Session) error {
			if err := effects.Add(ctx, tx, 1); err != nil {
				return err
			}
			if _, first, err := onceInTx(ctx, db, once); err != nil || !first {
				return fmt.Errorf("the first: %v, %w", first, err)
			}
			result, first, err := once(ctx, tx)
			if err == nil && (first || result != "first") {
				t.Errorf("got %q, first %v, want the first result", result, first)
			}
			return err
		})
		if !db.Strict {
			if err != nil {
				t.Errorf("MariaDB answers from a locking read; got %v", err)
			}
			return
		}
		if !dbguard.Retryable(err) || !errors.Is(err, dbguard.ErrSerialization) {
			t.Errorf("got %v, want ErrSerialization, which is Retryable", err)
		}
		result, first, err := onceInTx(t.Context(), db, once)
		if err != nil || first || result != "first" {
			t.Errorf("a new transaction: got %q, first %v, %v, want the first result", result, first, err)
		}
	})
}

func onceInTx(ctx context.Context, db dbguard.Database, once func(context.Context, dbguard.Session) (string, bool, error)) (result string, first bool, err error) {
	err = db.InTx(ctx, func(ctx context.Context, tx dbguard.Session) error {
		result, first, err = once(ctx, tx)
		return err
	})
	return result, first, err
}

// MySQL's drivers count rows in two ways; a duplicate is one in both.
func TestFirstWithClientFoundRows(t *testing.T) {
	t.Parallel()
	db := foundRows(t)
	d := newDedup(t, db)
	for _, want := range []bool{true, false, false} {
		if got := firstOf(t, d, db, keyOf(1), semel.Fingerprint{}); got != want {
			t.Errorf("First = %v, want %v", got, want)
		}
	}
}

// foundRows makes a database of MySQL, on connections that count rows which did not change.
func foundRows(t *testing.T) *guardtest.Database {
	t.Helper()
	pool := databases.Connect(t, "mysql", testserver.MySQLDatabase(t)+"?clientFoundRows=true")
	return &guardtest.Database{Database: dbguard.SQLDatabase(dbguard.MySQL, pool), SQL: pool}
}

func firstOf(t *testing.T, d *dbguard.Dedup, db dbguard.Database, key semel.Key, fp semel.Fingerprint) (first bool) {
	t.Helper()
	err := db.InTx(t.Context(), func(ctx context.Context, tx dbguard.Session) (err error) {
		first, err = d.First(ctx, tx, key, fp)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return first
}

// What a key is and what is asked with it decide what a duplicate is.
func TestDedupKeys(t *testing.T) {
	t.Parallel()
	guardtest.Each(t, func(t *testing.T, db *guardtest.Database) {
		d := newDedup(t, db)
		for _, key := range []semel.Key{
			{Scope: "a", Name: "bc"}, {Scope: "ab", Name: "c"}, {Scope: "a", Name: "BC"}, {Scope: "a", Name: "bc "}, {Scope: "b", Name: "bc"},
		} {
			if !firstOf(t, d, db, key, semel.Fingerprint{1}) {
				t.Errorf("%q was taken for another key", key)
			}
			if firstOf(t, d, db, key, semel.Fingerprint{1}) {
				t.Errorf("%q was first twice", key)
			}
		}
		work := func(context.Context) ([]byte, error) { t.Error("the work ran"); return nil, nil }
		for name, test := range map[string]struct {
			s    func(dbguard.Session) dbguard.Session
			key  semel.Key
			fp   semel.Fingerprint
			want error
		}{
			"other fingerprint": {tx, semel.Key{Scope: "a", Name: "bc"}, semel.Fingerprint{2}, semel.ErrMismatch},
			"no result":         {tx, semel.Key{Scope: "a", Name: "bc"}, semel.Fingerprint{1}, dbguard.ErrNoResult},
			"no scope":          {tx, semel.Key{Name: "bc"}, semel.Fingerprint{1}, semel.ErrScopeMissing},
			"no name":           {tx, semel.Key{Scope: "a"}, semel.Fingerprint{1}, semel.ErrKeyInvalid},
			"database":          {func(dbguard.Session) dbguard.Session { return db.Database }, keyOf(1), semel.Fingerprint{1}, dbguard.ErrNoTransaction},
			"pool":              {func(dbguard.Session) dbguard.Session { return dbguard.SQL(db.Dialect(), db.SQL) }, keyOf(1), semel.Fingerprint{1}, dbguard.ErrNoTransaction},
		} {
			err := db.InTx(t.Context(), func(ctx context.Context, tx dbguard.Session) error {
				_, _, err := d.Do(ctx, test.s(tx), test.key, test.fp, work)
				return err
			})
			if !errors.Is(err, test.want) {
				t.Errorf("%s: got %v, want %v", name, err, test.want)
			}
		}
	})
}

func tx(s dbguard.Session) dbguard.Session { return s }

// Results come back unchanged, even those that are nearly nothing; one that
// is too large leaves nothing.
func TestDedupResults(t *testing.T) {
	t.Parallel()
	guardtest.Each(t, func(t *testing.T, db *guardtest.Database) {
		d := newDedup(t, db)
		do := func(key int, made []byte) (result []byte, first bool, err error) {
			err = db.InTx(t.Context(), func(ctx context.Context, tx dbguard.Session) error {
				result, first, err = d.Do(ctx, tx, keyOf(key), semel.Fingerprint{}, func(context.Context) ([]byte, error) { return made, nil })
				return err
			})
			return result, first, err
		}
		for i, made := range [][]byte{nil, {}, {0}, []byte("é\x00\xff'\\"), make([]byte, 1<<20)} {
			for _, wantFirst := range []bool{true, false} {
				got, first, err := do(i, made)
				if err != nil || first != wantFirst || got == nil || string(got) != string(made) {
					t.Errorf("result %d: got %d bytes, first %v, %v, want %d bytes, first %v", i, len(got), first, err, len(made), wantFirst)
				}
			}
		}
		if _, _, err := do(9, make([]byte, 1<<20+1)); err == nil || !strings.Contains(err.Error(), "longer than 1048576 bytes") {
			t.Errorf("got %v, want that the result is too long", err)
		}
		if _, first, err := do(9, []byte("x")); err != nil || !first {
			t.Errorf("after a result that was too large: first %v, %v, want the key to be free", first, err)
		}
	})
}

// The first caller and every later one get the same digits of a number without a type, from Once and from ConsumeDo.
func TestKeptNumbersKeepTheirDigits(t *testing.T) {
	t.Parallel()
	guardtest.Each(t, func(t *testing.T, db *guardtest.Database) {
		d, tokens := newDedup(t, db), makeTokens(t, db)
		token := mintTokens(t, db, tokens, 1)[0]
		work := func(context.Context) (map[string]any, error) { return map[string]any{"id": int64(1<<53 + 1)}, nil }
		for range 2 {
			if err := db.InTx(t.Context(), func(ctx context.Context, tx dbguard.Session) error {
				once, _, err := dbguard.Once(ctx, d, tx, keyOf(1), semel.Fingerprint{}, work)
				consumed, _, tokenErr := dbguard.ConsumeDo(ctx, tokens, tx, tokenAlice, token, work)
				for _, got := range []map[string]any{once, consumed} {
					if got["id"] != json.Number("9007199254740993") {
						t.Errorf("got %T %v", got["id"], got["id"])
					}
				}
				return errors.Join(err, tokenErr)
			}); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// A sweep forgets what is older than the retention, in batches, and sweeps
// that run concurrently do not wait or fail.
func TestDedupSweep(t *testing.T) {
	t.Parallel()
	const keys, batch = 250, 100
	old := map[dbguard.Dialect]string{
		dbguard.PostgreSQL: "UPDATE semel_dedup SET seen_at = seen_at - interval '2 hours'",
		dbguard.MySQL:      "UPDATE semel_dedup SET seen_at = seen_at - INTERVAL 2 HOUR",
		dbguard.SQLite:     "UPDATE semel_dedup SET seen_at = seen_at - 7200",
	}
	guardtest.Each(t, func(t *testing.T, db *guardtest.Database) {
		d := newDedup(t, db)
		for i := range keys {
			firstOf(t, d, db, keyOf(i), semel.Fingerprint{})
		}
		if n, err := d.Sweep(t.Context(), db, time.Hour, batch); n != 0 || err != nil {
			t.Errorf("young keys: swept %d, %v, want 0", n, err)
		}
		db.Run(t, old[db.Dialect()])
		young := keyOf(keys)
		firstOf(t, d, db, young, semel.Fingerprint{})
		if n, err := d.Sweep(t.Context(), db, time.Hour, batch); n != batch || err != nil {
			t.Errorf("swept %d, %v, want %d", n, err, batch)
		}
		var total atomic.Int64
		guardtest.Race(t, 4, 1, func(ctx context.Context, _, _ int) error {
			return again(ctx, db, func(ctx context.Context, tx dbguard.Session) error {
				n, err := d.Sweep(ctx, tx, time.Hour, batch)
				if err == nil {
					total.Add(n)
				}
				return err
			})
		})
		if got := total.Load(); got != keys-batch {
			t.Errorf("concurrent sweeps removed %d, want %d", got, keys-batch)
		}
		if firstOf(t, d, db, young, semel.Fingerprint{}) {
			t.Error("a young key was swept")
		}
		if !firstOf(t, d, db, keyOf(0), semel.Fingerprint{}) {
			t.Error("an old key was not swept")
		}
		if _, err := d.Sweep(t.Context(), db, -time.Second, batch); err == nil {
			t.Error("a negative retention was taken")
		}
	})
}

// A guard's table may be in any schema and have any name.
func TestTablesQualified(t *testing.T) {
	t.Parallel()
	guardtest.Each(t, func(t *testing.T, db *guardtest.Database) {
		place := "main" // SQLite's ATTACH holds for one connection only
		switch db.Dialect() {
		case dbguard.SQLite:
		case dbguard.MySQL:
			place = "odd`place" + strconv.FormatInt(time.Now().UnixNano(), 36)
			db.Run(t, "CREATE DATABASE "+dialect.Dialect(db.Dialect()).Quote(place))
			t.Cleanup(func() {
				if _, err := db.SQL.ExecContext(context.WithoutCancel(t.Context()), "DROP DATABASE "+dialect.Dialect(db.Dialect()).Quote(place)); err != nil {
					t.Error(err)
				}
			})
		case dbguard.PostgreSQL:
			place = testserver.PostgresSchema(t)
			db.Run(t, "CREATE SCHEMA "+place)
		}
		odd := place + ".done order"
		d, segments, tokens := &dbguard.Dedup{Table: odd}, &dbguard.Segments{Table: odd + " stock", Count: 2}, dbguard.Tokens{Table: odd + " token"}
		locks, fences := dbguard.LockTable{Name: odd + " lock"}, dbguard.FenceTable{Name: odd + " fence"}
		for _, table := range []interface {
			Create(ctx context.Context, s dbguard.Session) error
			Schema(d dbguard.Dialect) (string, error)
		}{d, segments, tokens, locks, fences} {
			if err := errors.Join(table.Create(t.Context(), db), table.Create(t.Context(), db)); err != nil { // it may be there
				t.Fatal(err)
			}
			if text, err := table.Schema(db.Dialect()); err != nil || !strings.Contains(text, dialect.Dialect(db.Dialect()).Quote(place)) {
				t.Errorf("Schema of %T = %q, %v, want %s in it", table, text, err, place)
			}
			if _, err := table.Schema(0); err == nil {
				t.Errorf("Schema of %T for no dialect has no error", table)
			}
		}
		fence := acquireLock(t, locks.On(db), 1, longLease)
		token, err := tokens.Mint(t.Context(), db, tokenAlice, time.Hour)
		check := func(ctx context.Context, tx dbguard.Session) error { return locks.CheckFence(ctx, tx, "n", fence) }
		if err := errors.Join(err, db.InTx(t.Context(), check), fences.Advance(t.Context(), db, "n", fence),
			tokens.Consume(t.Context(), db, tokenAlice, token), segments.Add(t.Context(), db, "n", 1)); err != nil {
			t.Error(err)
		}
		got := []bool{firstOf(t, d, db, keyOf(1), semel.Fingerprint{}), firstOf(t, d, db, keyOf(1), semel.Fingerprint{})}
		if diff := cmp.Diff([]bool{true, false}, got); diff != "" {
			t.Errorf("First twice (-want +got):\n%s", diff)
		}
		if _, err := d.Sweep(t.Context(), db, 0, 1); err != nil {
			t.Error(err)
		}
	})
}
