package sqlitestore_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	_ "modernc.org/sqlite" // the tests make files with it

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/sqlitestore"
)

// run executes SQL on the file as another program would.
func run(tb testing.TB, path, query string) {
	tb.Helper()
	db, err := sql.Open("sqlite", path)
	noError(tb, err)
	if _, err := db.ExecContext(tb.Context(), query); err != nil {
		tb.Fatal(err)
	}
	noError(tb, db.Close())
}

// filled makes a store file with so many completed records.
func filled(tb testing.TB, path string, n int) {
	tb.Helper()
	s := mustOpen(tb, path, nil)
	for i := range n {
		p := params(fmt.Sprint("k", i))
		rec := wins(tb, s, p)
		noError(tb, s.Settle(tb.Context(), p.Digest, rec.Fence, completed(strings.Repeat("x", 300))))
	}
	noError(tb, s.Close())
}

// refusal is a file that Open must refuse, with the words that an operator
// needs.
type refusal struct {
	name   string
	make   func(tb testing.TB, path string)
	wants  []string
	exists bool // and must be left as it is
}

func refusals() []refusal {
	write := func(content string) func(testing.TB, string) {
		return func(tb testing.TB, path string) {
			tb.Helper()
			noError(tb, os.WriteFile(path, []byte(content), 0o600))
		}
	}
	return []refusal{
		{name: "directory missing", make: func(tb testing.TB, path string) {
			tb.Helper()
			noError(tb, os.Remove(filepath.Dir(path)))
		}, wants: []string{"does not exist", "mkdir -p"}},
		{name: "a directory", make: func(tb testing.TB, path string) {
			tb.Helper()
			noError(tb, os.Mkdir(path, 0o700))
		}, wants: []string{"is a directory", "semel.db"}},
		{name: "text", make: write(strings.Repeat("not a database\n", 1000)), wants: []string{"not a database", "name another file"}, exists: true},
		{name: "other application", make: func(tb testing.TB, path string) {
			tb.Helper()
			run(tb, path, "CREATE TABLE invoices (id INTEGER PRIMARY KEY); INSERT INTO invoices VALUES (1)")
		}, wants: []string{"belongs to another application", "name another file"}, exists: true},
		{name: "other application with an id", make: func(tb testing.TB, path string) {
			tb.Helper()
			run(tb, path, "PRAGMA application_id = 77; PRAGMA user_version = 1; CREATE TABLE records (id INTEGER PRIMARY KEY)")
		}, wants: []string{"belongs to another application (id 0x4d)"}, exists: true},
		{name: "schema from the future", make: func(tb testing.TB, path string) {
			tb.Helper()
			filled(tb, path, 1)
			run(tb, path, "PRAGMA user_version = 7")
		}, wants: []string{"is at schema 7, this program knows up to 1", "run a newer semel"}},
		{name: "truncated", make: func(tb testing.TB, path string) {
			tb.Helper()
			filled(tb, path, 100)
			noError(tb, os.Truncate(path, 3*4096+17))
		}, wants: []string{"malformed", "restore a backup"}, exists: true},
		{name: "header damaged", make: func(tb testing.TB, path string) {
			tb.Helper()
			filled(tb, path, 1)
			damage(tb, path, 100, 64)
		}, wants: []string{"malformed", "restore a backup"}, exists: true},
	}
}

// damage overwrites a part of the file.
func damage(tb testing.TB, path string, offset int64, size int) {
	tb.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	noError(tb, err)
	if _, err := f.WriteAt(bytes.Repeat([]byte{0xA5}, size), offset); err != nil {
		tb.Fatal(err)
	}
	noError(tb, f.Close())
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	for _, r := range refusals() {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "dir", "semel.db")
			noError(t, os.Mkdir(filepath.Dir(path), 0o700))
			r.make(t, path)
			var before []byte
			if r.exists {
				before = read(t, path)
			}
			s, err := sqlitestore.Open(t.Context(), path, nil)
			if err == nil {
				s.Close()
				t.Fatal("the file was opened")
			}
			wantWords(t, err, append(r.wants, path)...)
			if r.exists && !bytes.Equal(before, read(t, path)) {
				t.Error("the file was changed")
			}
		})
	}
}

func read(tb testing.TB, path string) []byte {
	tb.Helper()
	b, err := os.ReadFile(path)
	noError(tb, err)
	return b
}

func TestOpenRefusesOptions(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]sqlitestore.Options{
		"MaxBytes":    {MaxBytes: 1},
		"CacheBytes":  {CacheBytes: -1},
		"BusyTimeout": {BusyTimeout: -1},
	} {
		_, err := sqlitestore.Open(t.Context(), filepath.Join(t.TempDir(), "semel.db"), &o)
		wantWords(t, err, name)
	}
	for _, path := range []string{"", ":memory:"} {
		_, err := sqlitestore.Open(t.Context(), path, nil)
		wantWords(t, err, "memstore")
	}
	missing := filepath.Join(t.TempDir(), "semel.db")
	_, err := sqlitestore.Open(t.Context(), missing, &sqlitestore.Options{ReadOnly: true})
	wantWords(t, err, "does not exist", "open it once for writing")
}

// A damaged page is found by Check, and the other records stay readable.
func TestCheckFindsDamage(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "semel.db")
	filled(t, path, 200)
	s := open(t, path, nil)
	noError(t, s.Check(t.Context()))
	noError(t, s.Close())
	damage(t, path, int64(len(read(t, path)))-8*4096, 4096)
	wantWords(t, open(t, path, nil).Check(t.Context()), "check", path, "restore a backup")
}

// What SQLite cannot see is found too.
func TestCheckFindsBrokenInvariants(t *testing.T) {
	t.Parallel()
	for word, query := range map[string]string{
		"count":           "UPDATE meta SET count = count + 1",
		"fence":           "UPDATE meta SET fence = 0",
		"clock_ms":        "UPDATE meta SET clock_ms = 0",
		"before they are": "UPDATE records SET sweep_at_ms = expires_at_ms + 1 WHERE fence = 1",
		"no row":          "DELETE FROM meta",
		"digests":         "UPDATE records SET digest = x'00' WHERE fence = 1",
	} {
		path := filepath.Join(t.TempDir(), "semel.db")
		filled(t, path, 3)
		run(t, path, query)
		s := open(t, path, &sqlitestore.Options{ReadOnly: true})
		if err := s.Check(t.Context()); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%s: got %v, want %q in it", query, err, word)
		}
	}
}

// Another process that holds the lock longer than the busy timeout makes a
// step fail with a plain error; nothing has happened, and the store goes on.
func TestLocked(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "semel.db")
	s := open(t, path, &sqlitestore.Options{BusyTimeout: 50 * time.Millisecond})
	unlock := lock(t, path)
	_, _, err := s.Claim(t.Context(), params("k"))
	wantWords(t, err, "claim", path, "locked", "another process")
	for _, sentinel := range []error{semel.ErrFull, semel.ErrLost, semel.ErrClosed} {
		if errors.Is(err, sentinel) {
			t.Errorf("%v must not be %v", err, sentinel)
		}
	}
	wantGone(t, s, params("k").Digest)
	_, err = sqlitestore.Open(t.Context(), path, &sqlitestore.Options{BusyTimeout: 50 * time.Millisecond})
	wantWords(t, err, "open", path, "another process")
	unlock()
	if rec, won, err := s.Claim(t.Context(), params("k")); err != nil || !won || rec.Fence != 1 {
		t.Errorf("after the lock: got won %v, fence %d, error %v, want fence 1", won, rec.Fence, err)
	}
}

// lock holds the file's write lock until the function returned is called.
func lock(tb testing.TB, path string) (unlock func()) {
	tb.Helper()
	db, err := sql.Open("sqlite", path)
	noError(tb, err)
	other, err := db.Conn(tb.Context())
	noError(tb, err)
	if _, err := other.ExecContext(tb.Context(), "BEGIN IMMEDIATE"); err != nil {
		tb.Fatal(err)
	}
	return func() {
		_, err := other.ExecContext(tb.Context(), "ROLLBACK")
		noError(tb, errors.Join(err, other.Close(), db.Close()))
	}
}

func TestReadOnly(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "semel.db")
	filled(t, path, 2)
	before := read(t, path)
	s := open(t, path, &sqlitestore.Options{ReadOnly: true})
	d := params("k0").Digest
	if rec, err := s.Lookup(t.Context(), d); err != nil || rec.Fence != 1 {
		t.Errorf("lookup: got fence %d, error %v", rec.Fence, err)
	}
	if n, err := s.Count(t.Context()); err != nil || n != 2 {
		t.Errorf("count: got %d, error %v, want 2", n, err)
	}
	lists(t, s, 2)
	noError(t, s.Check(t.Context()))
	_, _, err := s.Claim(t.Context(), params("new"))
	wantWords(t, err, "claim", "read-only")
	_, err = s.Sweep(t.Context(), 1)
	wantWords(t, err, "sweep", "read-only")
	wantWords(t, s.Settle(t.Context(), d, 1, completed("y")), "settle", "read-only")
	wantWords(t, s.Renew(t.Context(), d, 1, lease), "renew", "read-only")
	noError(t, s.Close())
	if diff := cmp.Diff(before, read(t, path)); diff != "" {
		t.Error("the file was changed")
	}
}
