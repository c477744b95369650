package sqlitetx_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/store/sqlitestore/internal/smalldisk"
	"github.com/semel-dev/semel/store/sqlitestore/sqlitetx"
)

// Promise 4: where the bound of the file is reached, rows and record are
// refused together, whichever does not fit.
func TestFileFull(t *testing.T) {
	t.Parallel()
	b := setUp(t, durable+"&_pragma=max_page_count(64)", nil)
	big := strings.Repeat("x", 1<<18) // as large as the file may be
	_, err := b.do(t.Context(), "row", func(ctx context.Context, tx *sql.Tx) (string, error) {
		return "answer", insert(ctx, tx, big)
	})
	if err == nil || strings.Contains(err.Error(), "rolled back") {
		t.Errorf("a row that does not fit: got %v, want the work's own error", err)
	}
	_, err = b.do(t.Context(), "outcome", func(ctx context.Context, tx *sql.Tx) (string, error) {
		return big, insert(ctx, tx, "outcome")
	})
	if !errors.Is(err, semel.ErrFull) || !errors.Is(err, semel.ErrRolledBack) {
		t.Errorf("an outcome that does not fit: got %v, want %v", err, semel.ErrFull)
	}
	_, err = b.do(t.Context(), "outer", func(ctx context.Context, tx *sql.Tx) (string, error) {
		return b.do(ctx, "nested", func(ctx context.Context, tx *sql.Tx) (string, error) {
			return big, insert(ctx, tx, "nested")
		})
	})
	wantErr(t, "a nested outcome that does not fit: ", err, semel.ErrFull)
	b.wantRows(t)
	for _, name := range []string{"row", "outcome", "outer", "nested"} {
		b.wantState(t, name, semel.StateAbsent)
	}
	if _, err := addRow(t.Context(), b.guard, "small"); err != nil {
		t.Errorf("what fits: %v", err)
	}
	b.wantRows(t, "small")
}

// Promise 4: a full disk rolls back, at the commit too; with room again the
// same request goes through, and what was acknowledged is there.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	disk := smalldisk.New(t, 4<<20)
	path := filepath.Join(disk.Dir, "app.db")
	// A cache that holds everything writes nothing before the commit.
	db := database(t, path, durable+"&_pragma=cache_size(-8192)&_pragma=wal_autocheckpoint(0)")
	s := mustOpen(t, db, nil)
	g := guard(t, s, nil)
	if _, err := addRow(t.Context(), g, "before"); err != nil {
		t.Fatal(err)
	}
	disk.Fill(t)
	refused := ""
	for i := range 1000 { // until the log's last page is full as well
		name := fmt.Sprint("row ", i)
		_, err := sqlitetx.Do(t.Context(), g, key(name), sameRequest(), func(ctx context.Context, tx *sql.Tx) (string, error) {
			return "answer " + name, insert(ctx, tx, name)
		})
		if err == nil {
			continue
		}
		if !errors.Is(err, semel.ErrFull) || !errors.Is(err, semel.ErrRolledBack) || !strings.Contains(err.Error(), "free space") {
			t.Errorf("got %v, want %v with a hint", err, semel.ErrFull)
		}
		refused = name
		break
	}
	if refused == "" {
		t.Fatal("the disk never got full")
	}
	wantRowsOfRecords(t, db)
	disk.Empty(t)
	if _, err := addRow(t.Context(), g, refused); err != nil {
		t.Errorf("with room again: %v", err)
	}
	if names := wantRowsOfRecords(t, db); !slices.Contains(names, "before") || !slices.Contains(names, refused) {
		t.Errorf("got %v", names)
	}
	verify(t, path)
}

// A store in a database is swept, and takes no lock where nothing is due.
func TestSweep(t *testing.T) {
	t.Parallel()
	clock := &claimtest.Clock{}
	path := filepath.Join(t.TempDir(), "app.db")
	db := database(t, path, quick)
	s := mustOpen(t, db, &sqlitetx.Options{Now: clock.Now, BusyTimeout: 20 * time.Millisecond, AcceptLoss: true})
	g := guard(t, s, nil)
	const records = 300 // more than one step
	for i := range records {
		if _, err := addRow(t.Context(), g, fmt.Sprint("k", i)); err != nil {
			t.Fatal(err)
		}
	}
	other := begin(t, database(t, path, ""))
	noError(t, insert(t.Context(), other, "other"))
	sweeps(t, s, records, 0)
	clock.Advance(semel.DefaultRetention)
	if n, err := s.Sweep(t.Context(), records); err == nil {
		t.Errorf("next to a writer: swept %d", n)
	}
	noError(t, other.Commit())
	sweeps(t, s, records+1, records)
	if n, err := s.Count(t.Context()); err != nil || n != 0 {
		t.Errorf("%d are left, error %v", n, err)
	}
	verify(t, path)
}
