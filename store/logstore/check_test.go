package logstore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/store/logstore"
)

const filledRecords = 200

// filled makes a log of several segments with completed records, and returns their digests.
func filled(t *testing.T, dir string) []semel.Record {
	t.Helper()
	s := mustOpen(t, dir, logstore.Small(8<<10))
	records := make([]semel.Record, filledRecords)
	for i := range records {
		records[i] = claimtest.Wins(t, s, claimtest.Params(fmt.Sprint("k", i)))
		claimtest.Settles(t, s, records[i], claimtest.Completed(strings.Repeat("x", i)))
	}
	claimtest.NoError(t, s.Close())
	return records
}

func mustOpen(t *testing.T, dir string, o *logstore.Options) *logstore.Store {
	t.Helper()
	s, err := logstore.Open(t.Context(), dir, o)
	claimtest.NoError(t, err)
	return s
}

func segments(t *testing.T, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.semel"))
	claimtest.NoError(t, err)
	return names
}

func change(t *testing.T, path string, f func([]byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	claimtest.NoError(t, err)
	claimtest.NoError(t, os.WriteFile(path, f(b), 0o600))
}

func remove(t *testing.T, path string) {
	t.Helper()
	claimtest.NoError(t, os.Remove(path))
}

// Promises 2 and 3: a log that lost what was acknowledged is not opened as if nothing had happened. A repair says what is
// missing, keeps the file as it was, and loses nothing else.
func TestDamage(t *testing.T) {
	t.Parallel()
	flip := func(at int) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			t.Helper()
			change(t, path, func(b []byte) []byte { b[at] ^= 4; return b })
		}
	}
	for name, test := range map[string]struct {
		segment int
		damage  func(t *testing.T, path string)
		missing int // records at most
	}{
		"first entry":   {2, flip(4096 + 70), 1},
		"in the middle": {2, flip(4096 + 2000), 1},
		"length":        {3, flip(4096 + 2), 1},
		"number":        {3, flip(4096 + 8), 1},
		"first of all":  {0, flip(4096 + 40), 1},
		"both headers": {3, func(t *testing.T, path string) {
			t.Helper()
			flip(3)(t, path)
			flip(2048)(t, path)
		}, 20},
		"missing file":  {4, remove, 20},
		"missing first": {0, remove, 60},
		"missing last":  {-1, remove, 20},
		"missing list": {0, func(t *testing.T, path string) {
			t.Helper()
			remove(t, filepath.Join(filepath.Dir(path), "manifest"))
		}, 0},
		"list": {0, func(t *testing.T, path string) {
			t.Helper()
			change(t, filepath.Join(filepath.Dir(path), "manifest"), func(b []byte) []byte { b[20] ^= 1; b[4096+20] ^= 1; return b })
		}, 0},
		"cut off": {4, func(t *testing.T, path string) {
			t.Helper()
			change(t, path, func(b []byte) []byte { return b[:4096+1500] })
		}, 20},
		"empty": {4, func(t *testing.T, path string) { t.Helper(); change(t, path, func(b []byte) []byte { return nil }) }, 20},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "log")
			records := filled(t, dir)
			files := segments(t, dir)
			test.damage(t, files[(len(files)+test.segment)%len(files)])
			_, err := logstore.Open(t.Context(), dir, nil)
			claimtest.Words(t, err, "damaged", "semel records check --store log:"+dir)
			if n := strings.Count(err.Error(), "logstore: "); n != 1 {
				t.Errorf("the error names the store %d times, want once: %v", n, err)
			}
			report, err := logstore.Check(t.Context(), dir)
			if err != nil || len(report.Damage) == 0 {
				t.Fatalf("check: got %+v, error %v, want damage", report, err)
			}
			before, err := logstore.Repair(t.Context(), dir)
			if err != nil || len(before.Damage) != len(report.Damage) {
				t.Fatalf("repair: got %+v, error %v, want what check found: %+v", before, err, report)
			}
			if !strings.HasPrefix(name, "missing") && before.Damage[0].Saved == "" {
				t.Errorf("no copy was kept: %+v", before.Damage)
			}
			if twice, err := filepath.Glob(filepath.Join(dir, "*.damaged2")); err != nil || len(twice) > 0 {
				t.Errorf("a segment was copied twice: %v, error %v", twice, err)
			}
			wantMissing(t, dir, records, test.missing)
			if report, err := logstore.Check(t.Context(), dir); err != nil || len(report.Damage) != 0 {
				t.Errorf("check after the repair: %+v, error %v", report, err)
			}
		})
	}
}

// wantMissing fails the test unless at most this many records are missing and the others are unchanged.
func wantMissing(t *testing.T, dir string, records []semel.Record, most int) {
	t.Helper()
	s := mustOpen(t, dir, nil)
	defer claimtest.NoError(t, nil)
	missing, highest := 0, semel.Fence(0)
	for i := range records {
		rec, err := s.Lookup(t.Context(), records[i].Digest)
		highest = max(highest, records[i].Fence)
		switch {
		case errors.Is(err, semel.ErrNotFound), rec.State == semel.StateClaimed:
			missing++
		case err != nil || rec.State != semel.StateCompleted || len(rec.Outcome) != i:
			t.Errorf("record %d: got %v with %d bytes, error %v", i, rec.State, len(rec.Outcome), err)
		}
	}
	if missing > most {
		t.Errorf("%d records are missing, want at most %d", missing, most)
	}
	if rec := claimtest.Wins(t, s, claimtest.Params("after")); rec.Fence <= highest {
		t.Errorf("promise 1: got fence %d after %d", rec.Fence, highest)
	}
	claimtest.NoError(t, s.Close())
}

// Small flips of a completed record are found when it is read, not only when the log is opened.
func TestDamageWhileOpen(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "log")
	records := filled(t, dir)
	s := mustOpen(t, dir, nil)
	f, err := os.OpenFile(segments(t, dir)[0], os.O_RDWR, 0)
	claimtest.NoError(t, err)
	b := make([]byte, 4000)
	_, err = f.ReadAt(b, 4096)
	claimtest.NoError(t, err)
	for i := range b {
		b[i] ^= 1
	}
	_, err = f.WriteAt(b, 4096)
	claimtest.NoError(t, errors.Join(err, f.Close()))
	_, err = s.Lookup(t.Context(), records[0].Digest)
	claimtest.Words(t, err, "damaged", "semel records check")
	_, won, err := s.Claim(t.Context(), claimtest.Params("k0"))
	if won {
		t.Error("promise 2: a record that cannot be read was claimed again")
	}
	claimtest.Words(t, err, "damaged")
	claimtest.NoError(t, s.Close())
}

// A log that was closed, and one whose process was killed, have no damage.
// TestCheckRefusesForeignSegments (promise 8): a file with a great number, which is not of this log, takes no memory for all the numbers before it.
func TestCheckRefusesForeignSegments(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "log")
	filled(t, dir)
	if err := os.WriteFile(filepath.Join(dir, "000000999999.semel"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, look := range map[string]func(context.Context, string) (logstore.Report, error){"check": logstore.Check, "repair": logstore.Repair} {
		if report, err := look(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "move it away") {
			t.Errorf("%s: got error %v and damage in %d places, want it refused", name, err, len(report.Damage))
		}
	}
}

func TestCheckFindsNothing(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "log")
	filled(t, dir)
	report, err := logstore.Check(t.Context(), dir)
	if err != nil || len(report.Damage) != 0 || report.Unacknowledged != 0 || report.Entries < 2*filledRecords {
		t.Errorf("got %+v, error %v", report, err)
	}
}
