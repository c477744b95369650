package sqlitetx_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/sqlitestore/sqlitetx"
)

// openRaw opens a database without asking anything of it.
func openRaw(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", dsn)
	noError(t, err)
	closes(t, db)
	return db
}

// Promise 7: a database that can lose what was answered is refused, with words
// that say what to do, or goes on with a warning where that is accepted.
func TestOpenSettings(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ refused, always string }{
		"journal_mode(WAL)&_pragma=synchronous(FULL)":      {},
		"journal_mode(WAL)&_pragma=synchronous(EXTRA)":     {},
		"journal_mode(DELETE)&_pragma=synchronous(FULL)":   {},
		"journal_mode(DELETE)&_pragma=synchronous(NORMAL)": {},
		"journal_mode(PERSIST)":                            {},
		"journal_mode(WAL)&_pragma=synchronous(NORMAL)":    {refused: "set synchronous to FULL"},
		"journal_mode(WAL)&_pragma=synchronous(OFF)":       {refused: "set synchronous to FULL"},
		"journal_mode(DELETE)&_pragma=synchronous(OFF)":    {refused: "set synchronous to FULL"},
		"journal_mode(MEMORY)":                             {refused: "set journal_mode to WAL"},
		"journal_mode(OFF)":                                {always: "nothing can be rolled back"},
		"query_only(1)":                                    {always: "writable"},
	}
	for settings, test := range tests {
		t.Run(settings, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "app.db")
			db := openRaw(t, "file:"+filepath.ToSlash(path)+"?_pragma="+settings)
			want := test.refused + test.always
			s, err := sqlitetx.Open(t.Context(), db, nil)
			if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path)) {
				t.Errorf("got %v, want %q", err, want)
			}
			if err == nil && s.Close() != nil {
				t.Error("Close failed")
			}
			if test.refused == "" {
				return
			}
			var logged bytes.Buffer
			s, err = sqlitetx.Open(t.Context(), db, &sqlitetx.Options{AcceptLoss: true, Logger: slog.New(slog.NewTextHandler(&logged, nil))})
			noError(t, err)
			if !strings.Contains(logged.String(), "level=WARN") || !strings.Contains(logged.String(), test.refused) {
				t.Errorf("got %q, want a warning with %q", logged.String(), test.refused)
			}
			noError(t, s.Close())
		})
	}
}

// Promise 10: nothing goes on where records cannot be written.
func TestOpenReadOnly(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "app.db")
	noError(t, mustOpen(t, database(t, path, ""), nil).Close())
	db := openRaw(t, "file:"+filepath.ToSlash(path)+"?mode=ro&_pragma=synchronous(FULL)")
	_, err := sqlitetx.Open(t.Context(), db, nil)
	wantWords(t, err, "writable")
	// Nor in a transaction that only reads.
	b := setUp(t, "", nil)
	conn, err := b.db.Conn(t.Context())
	noError(t, err)
	defer conn.Close()
	for _, pragma := range []string{"query_only = 1", "query_only = 0"} {
		if _, err := conn.ExecContext(t.Context(), "PRAGMA "+pragma); err != nil {
			t.Fatal(err)
		}
		tx, err := conn.BeginTx(t.Context(), nil)
		noError(t, err)
		_, err = b.join(t.Context(), tx, "k")
		if pragma == "query_only = 1" && !errors.Is(err, semel.ErrUnavailable) || pragma != "query_only = 1" && err != nil {
			t.Errorf("%s: got %v", pragma, err)
		}
		noError(t, tx.Commit())
	}
	b.wantRows(t, "k")
}

// A database in memory works with one connection, and is refused with more.
func TestInMemory(t *testing.T) {
	t.Parallel()
	many := openRaw(t, ":memory:")
	_, err := sqlitetx.Open(t.Context(), many, nil)
	wantWords(t, err, "SetMaxOpenConns(1)")
	for _, dsn := range []string{":memory:", "file:inmemory?mode=memory&cache=shared"} {
		t.Run(dsn, func(t *testing.T) {
			t.Parallel()
			db := openRaw(t, dsn)
			if dsn == ":memory:" {
				db.SetMaxOpenConns(1)
			}
			s := mustOpen(t, db, nil)
			if _, err := db.ExecContext(t.Context(), "CREATE TABLE rows (name TEXT NOT NULL) STRICT"); err != nil {
				t.Fatal(err)
			}
			raceThrough(t, db, guard(t, s, nil))
			noError(t, s.Check(t.Context()))
		})
	}
}

// raceThrough wants eight intents in eight goroutines each.
func raceThrough(t *testing.T, db *sql.DB, g *semel.Guard) {
	t.Helper()
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			name := fmt.Sprint("k", i%8)
			if answer, err := addRow(t.Context(), g, name); err != nil || answer != "answer "+name {
				t.Errorf("%s: got %q, error %v", name, answer, err)
			}
		})
	}
	wg.Wait()
	for i := range 8 {
		if n, err := count(t.Context(), db, fmt.Sprint("k", i)); err != nil || n != 1 {
			t.Errorf("k%d: %d rows, error %v", i, n, err)
		}
	}
}

// Promise 8: a pool of one connection is enough: nothing waits for a
// connection while it keeps one.
func TestOneConnection(t *testing.T) {
	t.Parallel()
	b := setUp(t, "", nil)
	b.db.SetMaxOpenConns(1)
	raceThrough(t, b.db, b.guard)
	if idle := b.db.Stats().Idle; idle != 1 {
		t.Errorf("%d connections are idle, want the one", idle)
	}
}

// Promise 10: where no connection becomes free, nothing is executed, and the
// caller hears of it in time.
func TestNoConnection(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "app.db")
	db := database(t, path, "")
	s := mustOpen(t, db, &sqlitetx.Options{BusyTimeout: 20 * time.Millisecond})
	hasty := guard(t, s, &semel.Options{StoreTimeout: 250 * time.Millisecond, Policy: semel.Policy{Wait: 10 * time.Millisecond}})
	db.SetMaxOpenConns(1)
	conn, err := db.Conn(t.Context())
	noError(t, err)
	_, err = sqlitetx.Do(t.Context(), hasty, key("k"), sameRequest(), never(t))
	if !errors.Is(err, semel.ErrUnavailable) || !strings.Contains(err.Error(), "no connection") {
		t.Errorf("got %v, want %v", err, semel.ErrUnavailable)
	}
	noError(t, conn.Close())
	if _, err := addRow(t.Context(), guard(t, s, nil), "k"); err != nil {
		t.Error(err)
	}
}

// Promise 10: the settings of a new connection wait for another's commit, where the journal keeps readers out.
func TestConnectionMetByACommit(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "app.db")
	db := database(t, path, "_pragma=journal_mode(TRUNCATE)&_pragma=synchronous(EXTRA)")
	db.SetMaxIdleConns(0)
	s := mustOpen(t, db, &sqlitetx.Options{BusyTimeout: 20 * time.Millisecond}) // the look-up gives up soon
	other := database(t, path, "_pragma=busy_timeout(5000)&_txlock=exclusive")
	tx, err := other.BeginTx(t.Context(), nil)
	noError(t, err)
	rolledBack := make(chan error, 1)
	time.AfterFunc(200*time.Millisecond, func() { rolledBack <- tx.Rollback() })
	if _, err := addRow(t.Context(), guard(t, s, nil), "k"); err != nil {
		t.Error(err)
	}
	noError(t, <-rolledBack)
}

// A second Close returns nil, and a transaction that was begun before can be
// committed after.
func TestCloseInTransaction(t *testing.T) {
	t.Parallel()
	b := setUp(t, "", nil)
	answer, err := b.do(t.Context(), "k", func(ctx context.Context, tx *sql.Tx) (string, error) {
		for range 2 {
			if err := b.store.Close(); err != nil {
				t.Error(err)
			}
		}
		if _, err := b.store.Lookup(ctx, semel.Digest{}); !errors.Is(err, semel.ErrClosed) {
			t.Errorf("look up: got %v, want %v", err, semel.ErrClosed)
		}
		return "answer", insert(ctx, tx, "k")
	})
	if err != nil || answer != "answer" {
		t.Errorf("got %q, error %v", answer, err)
	}
	b.wantRows(t, "k")
	if _, err := b.do(t.Context(), "next", never(t)); !errors.Is(err, semel.ErrClosed) && !errors.Is(err, semel.ErrUnavailable) {
		t.Errorf("the next one: got %v, want it refused", err)
	}
}

// Promise 3: what became unknown inside of a transaction that is rolled back
// after Close stays unknown.
func TestCloseBeforeRollback(t *testing.T) {
	t.Parallel()
	b := setUp(t, "", nil)
	_, err := b.do(t.Context(), "outer", func(ctx context.Context, _ *sql.Tx) (string, error) {
		_, err := b.do(ctx, "inner", func(context.Context, *sql.Tx) (string, error) { return "", semel.MarkUnknown(errBusiness) })
		if closed := b.store.Close(); closed != nil {
			t.Error(closed)
		}
		return "", err
	})
	wantErr(t, "", err, errBusiness)
	if b.store, err = sqlitetx.Open(t.Context(), b.db, nil); err != nil {
		t.Fatal(err)
	}
	b.wantState(t, "inner", semel.StateUnknown)
}
