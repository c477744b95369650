package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/pgstore"
)

// Promise 1: while one works, its twins execute neither statement nor work,
// whether they are of this process or of another one.
func TestRunTwins(t *testing.T) {
	t.Parallel()
	s := openShop(t, nil)
	second := newStore(t, pool(t, testserver.Postgres(t), 8), &pgstore.Options{Schema: s.store.SchemaName()})
	patient := &semel.Options{Policy: semel.Policy{Wait: time.Minute}}
	guards := []*semel.Guard{newGuard(t, s.store, patient), newGuard(t, second, patient)}
	for round := range 5 {
		var ran atomic.Int64
		got := atOnce(t, 12, func(i int) (order, error) {
			return s.run(t.Context(), guards[i%2], fmt.Sprint("k", round), func() { ran.Add(1) }, fmt.Sprint("k", round))
		})
		if len(got) != 1 || ran.Load() != 1 {
			t.Errorf("got %v after %d runs, want one order after one", got, ran.Load())
		}
	}
	s.wantNames(t, "k0 k1 k2 k3 k4")
}

// A twin in another process that does not wait gets its answer at once.
func TestRunWithoutWaiting(t *testing.T) {
	t.Parallel()
	s := openShop(t, nil)
	hasty := newGuard(t, s.store, &semel.Options{Policy: semel.Policy{Wait: semel.NoWait}})
	_, err := s.work(t.Context(), func(ctx context.Context, _ pgx.Tx) error {
		_, err := s.run(context.WithoutCancel(t.Context()), hasty, "k", func() { t.Error("the work ran") }, "a") //nolint:contextcheck // what runs here must not end with the context.
		if !errors.Is(err, semel.ErrInFlight) {
			t.Errorf("got %v, want %v", err, semel.ErrInFlight)
		}
		return ctx.Err()
	})
	noError(t, err)
	s.wantNames(t, "")
	s.idle(t)
}

// The statement's failure is the work's: fn does not run, all is undone.
func TestRunFailure(t *testing.T) {
	t.Parallel()
	for name, q := range map[string]pgstore.Query{
		"executed":  {SQL: "SELECT 1 / $1::int", Args: []any{0}},
		"syntax":    {SQL: "SELEKT $1", Args: []any{0}},
		"arguments": {SQL: "SELECT 1", Args: []any{0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openShop(t, nil)
			for range 2 {
				_, err := pgstore.Run(t.Context(), s.guard, orderKey("k"), semel.Fingerprint{1}, []pgstore.Query{q}, func([]pgx.Rows) (int, error) {
					t.Error("the work ran")
					return 0, nil
				})
				if err == nil || errors.Is(err, semel.ErrUnavailable) || errors.Is(err, semel.ErrRolledBack) {
					t.Errorf("got %v, want the statement's own", err)
				}
			}
			s.wantState(t, "k", semel.StateAbsent)
			s.idle(t)
		})
	}
}

// The rows are pgx's in every respect.
func TestRunRows(t *testing.T) {
	t.Parallel()
	s := openShop(t, nil)
	q := pgstore.Query{SQL: "SELECT i AS number, CASE WHEN i = 2 THEN NULL ELSE repeat('x', i) END AS word FROM generate_series(1, $1::int) i", Args: []any{3}}
	_, err := pgstore.Run(t.Context(), s.guard, orderKey("k"), semel.Fingerprint{1}, []pgstore.Query{q}, func(all []pgx.Rows) (int, error) {
		rows := all[0]
		if rows.Scan(new(int)) == nil || rows.RawValues() != nil {
			t.Error("a row before Next")
		}
		var words []string
		for rows.Next() {
			var n int
			var word *string
			if err := rows.Scan(&n, &word); err != nil {
				return 0, err
			}
			values, err := rows.Values()
			if err != nil || len(values) != 2 || values[0] != int32(n) {
				t.Errorf("got %v, error %v", values, err)
			}
			if word != nil {
				words = append(words, *word)
			} else if values[1] != nil {
				t.Errorf("got %v, want nil", values[1])
			}
		}
		tag, fields := rows.CommandTag(), rows.FieldDescriptions()
		if len(words) != 2 || tag.RowsAffected() != 3 || len(fields) != 2 || fields[1].Name != "word" || rows.Err() != nil ||
			rows.Next() || rows.TypeMap() == nil || rows.Conn() == nil {
			t.Errorf("got %q, %v, %v, error %v", words, tag, fields, rows.Err())
		}
		return 0, nil
	})
	noError(t, err)
	_, err = pgstore.Run(t.Context(), s.guard, orderKey("other"), semel.Fingerprint{1}, []pgstore.Query{q}, func(all []pgx.Rows) (int, error) {
		rows := all[0]
		rows.Next()
		err := rows.Scan(new(time.Time), new(string))
		if rows.Next() || rows.Err() == nil {
			t.Error("rows go on after an error")
		}
		return 0, err
	})
	if err == nil {
		t.Error("a number is not a time")
	}
	s.idle(t)
}

// A connection that has lost its prepared statements costs no caller anything.
func TestRunWithoutPreparedStatements(t *testing.T) {
	t.Parallel()
	s := openShopAt(t, testserver.Postgres(t), nil)
	one := pool(t, testserver.Postgres(t), 1)
	g := newGuard(t, newStore(t, one, &pgstore.Options{Schema: s.store.SchemaName()}), nil)
	lose := func() {
		t.Helper()
		if _, err := one.Exec(t.Context(), "DEALLOCATE ALL", pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 6 {
		key := fmt.Sprint("k", i)
		var err error
		switch i % 3 {
		case 0:
			_, err = s.run(t.Context(), g, key, nil, key)
		case 1:
			_, err = s.exec(t.Context(), g, key, key)
		default:
			_, err = pgstore.Do(t.Context(), g, orderKey(key), semel.Fingerprint{1}, func(ctx context.Context, tx pgx.Tx) (int, error) {
				_, err := tx.Exec(ctx, s.insertSQL(), pgx.QueryExecModeExec, key)
				return 0, err
			})
		}
		if err != nil {
			t.Errorf("%s: %v", key, err)
		}
		lose()
	}
	s.wantNames(t, "k0 k1 k2 k3 k4 k5")
}

// The same when it loses them while the work is at it: the work runs again.
func TestDoLosesPreparedStatements(t *testing.T) {
	t.Parallel()
	s := openShopAt(t, testserver.Postgres(t), nil)
	g := newGuard(t, newStore(t, pool(t, testserver.Postgres(t), 1), &pgstore.Options{Schema: s.store.SchemaName()}), nil)
	runs := 0
	for _, key := range []string{"before", "k"} {
		_, err := pgstore.Do(t.Context(), g, orderKey(key), semel.Fingerprint{1}, func(ctx context.Context, tx pgx.Tx) (int, error) {
			runs++
			if _, err := tx.Exec(ctx, s.insertSQL(), pgx.QueryExecModeExec, key); err != nil || key == "before" {
				return 0, err
			}
			_, err := tx.Exec(ctx, "DEALLOCATE ALL", pgx.QueryExecModeSimpleProtocol)
			return 0, err
		})
		if err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
	if runs != 3 {
		t.Errorf("%d runs, want 3", runs)
	}
	s.wantNames(t, "before k")
}

// Nor does a connection that lost some of them, and prepared the others after
// that, fail every caller that gets it from then on.
func TestDoLosesSomePreparedStatements(t *testing.T) {
	t.Parallel()
	s := openShopAt(t, testserver.Postgres(t), nil)
	g := newGuard(t, newStore(t, pool(t, testserver.Postgres(t), 1), &pgstore.Options{Schema: s.store.SchemaName()}), nil)
	for _, key := range []string{"first", "second", "third"} {
		_, err := pgstore.Do(t.Context(), g, orderKey(key), semel.Fingerprint{1}, func(ctx context.Context, tx pgx.Tx) (int, error) {
			if _, err := tx.Exec(ctx, s.insertSQL(), pgx.QueryExecModeExec, key); err != nil || key != "first" {
				return 0, err
			}
			_, err := tx.Exec(ctx, "DEALLOCATE ALL", pgx.QueryExecModeSimpleProtocol) // those that claim; those that commit are prepared later
			return 0, err
		})
		if err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
	s.wantNames(t, "first second third")
}

// Promise 8: what the database undoes because of another transaction is run
// again; here by work that reads what its twin of another key changes.
func TestDoIsolation(t *testing.T) {
	t.Parallel()
	for _, isolation := range []pgx.TxIsoLevel{pgx.RepeatableRead, pgx.Serializable} {
		t.Run(string(isolation), func(t *testing.T) {
			t.Parallel()
			s := openShop(t, nil)
			execute(t, s.pool, "INSERT INTO "+s.orders+" (name) VALUES ('counter 0')")
			transactor := s.store.Transactor(&pgstore.TxOptions{Isolation: isolation})
			var runs atomic.Int64
			var wg sync.WaitGroup
			for i := range 4 {
				wg.Go(func() {
					_, err := semel.DoTx(t.Context(), s.guard, transactor, orderKey(fmt.Sprint(i)), semel.Fingerprint{1}, func(ctx context.Context) (string, error) {
						runs.Add(1)
						var level, name string
						tx := pgstore.TxFrom(ctx)
						if err := tx.QueryRow(ctx, "SELECT current_setting('transaction_isolation'), name FROM "+s.orders).Scan(&level, &name); err != nil {
							return "", err
						}
						if level != string(isolation) {
							t.Errorf("got %s, want %s", level, isolation)
						}
						var n int
						if _, err := fmt.Sscanf(name, "counter %d", &n); err != nil {
							return "", err
						}
						_, err := tx.Exec(ctx, "UPDATE "+s.orders+" SET name = $1", fmt.Sprintf("counter %d", n+1))
						return "", err
					})
					if err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			s.wantNames(t, "counter 4")
			t.Logf("%d runs for 4 transactions", runs.Load())
		})
	}
}

// Options that make no sense are refused with what to do.
func TestTxOptions(t *testing.T) {
	t.Parallel()
	s := openShop(t, nil)
	_, err := s.store.Transactor(&pgstore.TxOptions{Isolation: "chaos"}).Transaction(t.Context())
	wantWords(t, err, `"chaos"`, "pgx.Serializable")
	readOnly := newStore(t, s.pool, &pgstore.Options{Schema: s.store.SchemaName(), ReadOnly: true})
	_, err = readOnly.Transactor(nil).Transaction(t.Context())
	wantWords(t, err, "read-only")
	if _, err := s.exec(t.Context(), newGuard(t, readOnly, nil), "k", "a"); err == nil {
		t.Error("a store that was opened read-only executes")
	}
	// Work that makes its transaction read-only cannot be recorded.
	_, err = s.work(t.Context(), func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "SET TRANSACTION READ ONLY")
		return err
	})
	pgErr, ok := errors.AsType[*pgconn.PgError](err)
	if !ok || pgErr.Code != "25006" || !errors.Is(err, semel.ErrRolledBack) {
		t.Errorf("got %v, want %v because the transaction only reads", err, semel.ErrRolledBack)
	}
}

// A statement that would wait for data fails, and leaves the connection fit.
func TestRunCopy(t *testing.T) {
	t.Parallel()
	s := openShop(t, nil)
	q := pgstore.Query{SQL: "COPY " + s.orders + " (name) FROM STDIN"}
	_, err := pgstore.Run(t.Context(), s.guard, orderKey("k"), semel.Fingerprint{1}, []pgstore.Query{q}, func([]pgx.Rows) (int, error) {
		t.Error("the work ran")
		return 0, nil
	})
	wantWords(t, err, "CopyFrom")
	s.wantState(t, "k", semel.StateAbsent)
	if _, err := s.do(t.Context(), "k"); err != nil {
		t.Error(err)
	}
	s.idle(t)
}
