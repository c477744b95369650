package sqlitetx_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/textproto"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/sqlitestore/sqlitetx"
)

// The errors of other drivers, as they show SQLite's result code.
type (
	mattnNo       int
	mattnExtended int
	// mattnError is a struct with fields, returned by value.
	mattnError struct {
		Code         mattnNo
		ExtendedCode mattnExtended
	}
	ncrucesCode     uint8
	ncrucesExtended uint16
	// ncrucesError is a pointer with methods that return types of its own.
	ncrucesError struct{ code uint64 }
)

func (mattnError) Error() string                      { return "mattn" }
func (e *ncrucesError) Error() string                 { return "ncruces" }
func (e *ncrucesError) Code() ncrucesCode             { return ncrucesCode(e.code) }
func (e *ncrucesError) ExtendedCode() ncrucesExtended { return ncrucesExtended(e.code) }

// A conflict is known by its code, whatever the driver, and by no text.
func TestConflict(t *testing.T) {
	t.Parallel()
	b := setUp(t, "", nil)
	tx, err := b.store.Transactor().Transaction(t.Context())
	noError(t, err)
	const busy, busySnapshot, locked, lockedShared, full = 5, 517, 6, 262, 13
	for name, test := range map[string]struct {
		err  error
		want bool
	}{
		"nothing":          {nil, false},
		"text":             {errors.New("database is locked (5) (SQLITE_BUSY)"), false},
		"mattn busy":       {mattnError{busy, busySnapshot}, true},
		"mattn locked":     {mattnError{locked, lockedShared}, true},
		"mattn full":       {mattnError{full, full}, false},
		"mattn pointer":    {&mattnError{busy, busy}, true},
		"ncruces busy":     {&ncrucesError{busySnapshot}, true},
		"ncruces full":     {&ncrucesError{full}, false},
		"wrapped":          {fmt.Errorf("insert: %w", errors.Join(errBusiness, &ncrucesError{locked})), true},
		"context":          {context.DeadlineExceeded, false},
		"another protocol": {&textproto.Error{Code: busy}, false},
		"it has ended":     {sql.ErrTxDone, false},
	} {
		if got := tx.Conflict(test.err); got != test.want {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
	noError(t, tx.Rollback())
}

// Promise 8: the lock of another process is waited for as long as the policy
// says, and no longer, whatever the busy timeout of the connection; which is
// as it was afterwards.
func TestLockedByAnother(t *testing.T) {
	t.Parallel()
	for _, txlock := range []string{"deferred", "immediate"} {
		t.Run(txlock, func(t *testing.T) {
			t.Parallel()
			b := setUp(t, strings.ReplaceAll(durable, "5000", "3600000")+"&_txlock="+txlock,
				&semel.Options{Policy: semel.Policy{Wait: 20 * time.Millisecond}})
			other := begin(t, database(t, b.path, ""))
			noError(t, insert(t.Context(), other, "other"))
			_, err := b.do(t.Context(), "k", never(t))
			wantErr(t, "Do: ", err, semel.ErrInFlight)
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			_, err = sqlitetx.Do(ctx, guard(t, b.store, nil), key("k"), sameRequest(), never(t))
			wantErr(t, "Do: ", err, context.DeadlineExceeded)
			if txlock == "deferred" {
				mine := begin(t, b.db)
				if _, err := b.join(t.Context(), mine, "k"); !errors.Is(err, semel.ErrInFlight) {
					t.Errorf("Join: got %v, want %v", err, semel.ErrInFlight)
				}
				noError(t, mine.Rollback())
			}
			noError(t, other.Commit())
			if _, err := addRow(t.Context(), b.guard, "k"); err != nil {
				t.Error(err)
			}
			var timeout int
			if err := b.db.QueryRowContext(t.Context(), "PRAGMA busy_timeout").Scan(&timeout); err != nil || timeout != 3_600_000 {
				t.Errorf("the busy timeout is %d, error %v, want what it was", timeout, err)
			}
			b.wantRows(t, "k", "other")
		})
	}
}

// A verb that cannot get the writer says so, and what to look for.
func TestVerbLockedByAnother(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "app.db")
	db := database(t, path, "")
	s := mustOpen(t, db, &sqlitetx.Options{BusyTimeout: 20 * time.Millisecond})
	p := semel.ClaimParams{Digest: key("k").Digest(), Owner: semel.Owner{1}, Lease: time.Minute, Retention: time.Hour}
	other := begin(t, database(t, path, ""))
	noError(t, insert(t.Context(), other, "other"))
	if _, _, err := s.Claim(t.Context(), p); err == nil || !strings.Contains(err.Error(), "fuser") {
		t.Errorf("got %v, want a hint", err)
	}
	// Nor can a store be opened meanwhile.
	_, err := sqlitetx.Open(t.Context(), db, &sqlitetx.Options{BusyTimeout: 20 * time.Millisecond})
	wantWords(t, err, "fuser")
	noError(t, other.Rollback())
	wins(t, s, p)
}

// Promise 4: in a database without a write-ahead log a reader can keep a
// commit from happening: it is tried again for a while, and then rolled back.
func TestReaderInTheWayOfTheCommit(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "app.db")
	db := database(t, path, "_pragma=journal_mode(DELETE)&_pragma=synchronous(FULL)")
	s := mustOpen(t, db, &sqlitetx.Options{BusyTimeout: 50 * time.Millisecond})
	g := guard(t, s, nil)
	for _, patient := range []bool{false, true} {
		reader := begin(t, db)
		ran := 0
		answer, err := sqlitetx.Do(t.Context(), g, key("k"), sameRequest(), func(ctx context.Context, tx *sql.Tx) (string, error) {
			ran++
			var n int
			if ran == 1 {
				if err := reader.QueryRowContext(ctx, "SELECT COUNT(*) FROM rows").Scan(&n); err != nil {
					t.Error(err)
				}
			}
			if patient && ran == 2 {
				if err := reader.Rollback(); err != nil {
					t.Error(err)
				}
			}
			return "answer", insert(ctx, tx, "k")
		})
		if !patient {
			if !errors.Is(err, semel.ErrRolledBack) || ran < 2 {
				t.Errorf("got %v after %d rounds, want %v after several", err, ran, semel.ErrRolledBack)
			}
			noError(t, reader.Rollback())
			continue
		}
		if err != nil || answer != "answer" || ran != 2 {
			t.Errorf("got %q, error %v in round %d", answer, err, ran)
		}
	}
	if n, err := count(t.Context(), db, "k"); err != nil || n != 1 {
		t.Errorf("%d rows, error %v", n, err)
	}
	verify(t, path)
}

// A constraint that is checked at the commit refuses it, and nothing of it
// stays.
func TestConstraintAtTheCommit(t *testing.T) {
	t.Parallel()
	b := setUp(t, durable+"&_pragma=foreign_keys(1)", nil)
	if _, err := b.db.ExecContext(t.Context(), `CREATE TABLE child (
		id INTEGER PRIMARY KEY, parent INTEGER REFERENCES child (id) DEFERRABLE INITIALLY DEFERRED)`); err != nil {
		t.Fatal(err)
	}
	_, err := b.do(t.Context(), "k", func(ctx context.Context, tx *sql.Tx) (string, error) {
		_, err := tx.ExecContext(ctx, "INSERT INTO child (parent) VALUES (4711)")
		return "answer", errors.Join(err, insert(ctx, tx, "k"))
	})
	wantErr(t, "", err, semel.ErrRolledBack)
	b.wantRows(t)
	b.wantState(t, "k", semel.StateAbsent)
	if _, err := addRow(t.Context(), b.guard, "k"); err != nil {
		t.Error(err)
	}
}
