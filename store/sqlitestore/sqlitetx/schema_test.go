package sqlitetx_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/store/sqlitestore/sqlitetx"
)

// The schema that leads here is the one in testdata, and what belongs to the
// application is as it was. A released migration never changes: this test
// fails when one does.
func TestSchema(t *testing.T) {
	t.Parallel()
	db := database(t, filepath.Join(t.TempDir(), "app.db"), "")
	if _, err := db.ExecContext(t.Context(), "PRAGMA user_version = 7; PRAGMA application_id = 4711"); err != nil {
		t.Fatal(err)
	}
	mustOpen(t, db, nil)
	schema := func() string {
		return claimtest.Query(t, db, "SELECT sql || ';' FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY type DESC, name") +
			"application_id " + claimtest.Query(t, db, "PRAGMA application_id") +
			"user_version " + claimtest.Query(t, db, "PRAGMA user_version") +
			"journal_mode " + claimtest.Query(t, db, "PRAGMA journal_mode") +
			"meta " + claimtest.Query(t, db, "SELECT id, schema, fence, count FROM semel_meta")
	}
	got := schema()
	claimtest.Golden(t, "opened", got)
	before := claimtest.Query(t, db, "PRAGMA schema_version")
	mustOpen(t, db, nil)
	if after := claimtest.Query(t, db, "PRAGMA schema_version"); after != before || schema() != got {
		t.Error("opening it again changed the schema")
	}
}

// Tables from the future are refused, and left as they are.
func TestSchemaFromTheFuture(t *testing.T) {
	t.Parallel()
	db := database(t, filepath.Join(t.TempDir(), "app.db"), "")
	mustOpen(t, db, nil)
	if _, err := db.ExecContext(t.Context(), "UPDATE semel_meta SET schema = 99"); err != nil {
		t.Fatal(err)
	}
	_, err := sqlitetx.Open(t.Context(), db, nil)
	wantWords(t, err, "schema 99")
	if got := claimtest.Query(t, db, "SELECT schema FROM semel_meta"); got != "99\n" {
		t.Errorf("the schema is %s now", got)
	}
}

// An opener that races with others to create the tables finds them complete.
func TestOpeningRaces(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "app.db")
	db := database(t, path, "")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			s, err := sqlitetx.Open(t.Context(), db, nil)
			if err != nil {
				t.Error(err)
				return
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	verify(t, path)
}

// The row of semel_meta follows the records, whichever program changes them.
func TestRecordsChangedByHand(t *testing.T) {
	t.Parallel()
	b := setUp(t, "", nil) // which checks the database in the end
	for i := range 3 {
		if _, err := addRow(t.Context(), b.guard, fmt.Sprint("k", i)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.db.ExecContext(t.Context(), "DELETE FROM semel_record WHERE name <> 'k1'"); err != nil {
		t.Fatal(err)
	}
	if n, err := b.store.Count(t.Context()); err != nil || n != 1 {
		t.Errorf("got %d, error %v", n, err)
	}
}

// Promise 9: a wall clock that was set back between two runs does not bring
// anything back to life; the store's clock goes on from where it was.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	clock := &claimtest.Clock{}
	db := database(t, filepath.Join(t.TempDir(), "app.db"), "")
	p := semel.ClaimParams{Digest: key("k").Digest(), Owner: semel.Owner{1}, Lease: time.Minute, Retention: time.Hour}
	s := mustOpen(t, db, &sqlitetx.Options{Now: clock.Now})
	rec := wins(t, s, p)
	clock.Advance(2 * time.Minute)
	other := p
	other.Digest = key("other").Digest()
	wins(t, s, other)
	clock.Advance(-time.Hour)
	var logged bytes.Buffer
	s = mustOpen(t, db, &sqlitetx.Options{Now: clock.Now, Logger: slog.New(slog.NewTextHandler(&logged, nil))})
	if !strings.Contains(logged.String(), "behind=1h0m0s") {
		t.Errorf("got %q, want a warning that says 1h0m0s", logged.String())
	}
	if got, err := s.Lookup(t.Context(), rec.Digest); err != nil || !got.Lapsed() {
		t.Errorf("got %+v, error %v, want a lapsed claim", got, err)
	}
	p.Digest = key("next").Digest()
	if next, won, err := s.Claim(t.Context(), p); err != nil || !won || next.Fence <= rec.Fence {
		t.Errorf("won %v, fence %d after %d, error %v", won, next.Fence, rec.Fence, err)
	}
}

// Promise 1: fences grow over what was rolled back, in other processes too.
func TestFencesGrowOverRollbacks(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "app.db")
	var last semel.Fence
	for i := range 20 { // as if by a process of its own each
		g := guard(t, mustOpen(t, database(t, path, ""), nil), nil)
		_, err := sqlitetx.Do(t.Context(), g, key("k"), sameRequest(), func(ctx context.Context, _ *sql.Tx) (string, error) {
			fence := semel.FenceFrom(ctx)
			if fence <= last {
				t.Errorf("round %d: fence %d after %d", i, fence, last)
			}
			last = fence
			return "", errBusiness
		})
		if err == nil {
			t.Fatal("it was committed")
		}
	}
}

// No driver comes along: a second SQLite in a process would void the locks of
// the first.
func TestNoDriver(t *testing.T) {
	t.Parallel()
	deps, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	noError(t, err)
	for line := range strings.Lines(string(deps)) {
		if strings.Contains(strings.SplitN(line, "/", 2)[0], ".") && !strings.HasPrefix(line, "github.com/semel-dev/semel") {
			t.Errorf("imports %s", line)
		}
	}
}
