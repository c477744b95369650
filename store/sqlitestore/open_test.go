package sqlitestore_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/sqlitestore"
)

const (
	lease     = 10 * time.Second
	retention = 24 * time.Hour
)

func open(t *testing.T, path string, o *sqlitestore.Options) *sqlitestore.Store {
	t.Helper()
	s, err := sqlitestore.Open(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func params(name string) semel.ClaimParams {
	key := semel.Key{Scope: "alice", Name: name}
	return semel.ClaimParams{
		Digest:      key.Digest(),
		Scope:       key.Scope,
		Name:        key.Name,
		Fingerprint: semel.FingerprintOf(name),
		Owner:       semel.Owner{1},
		Lease:       lease,
		Retention:   retention,
	}
}

func completed(outcome string) semel.Settlement {
	return semel.Settlement{State: semel.StateCompleted, Outcome: []byte(outcome), Kept: true, Retention: retention}
}

// Promise 2: an outcome is there after the file was closed and opened again,
// whatever the file is called.
func TestOutcomeSurvivesReopening(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"plain.db", "with space?mode=ro&x#y%20ö.db", "file:x.db", "%2e.db", "a\\b'c\";DROP.db"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, name)
			s := open(t, path, nil)
			p := params("k")
			claimed, won, err := s.Claim(t.Context(), p)
			if err != nil || !won {
				t.Fatalf("claim: won %v, error %v", won, err)
			}
			if err := s.Settle(t.Context(), p.Digest, claimed.Fence, completed("hello")); err != nil {
				t.Fatal(err)
			}
			want, err := s.Lookup(t.Context(), p.Digest)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			names, err := os.ReadDir(dir)
			if err != nil || len(names) != 1 || names[0].Name() != name {
				t.Fatalf("the directory holds %v, want %q alone (error %v)", names, name, err)
			}
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
				t.Fatalf("mode is %v, want 0600 (error %v)", info.Mode(), err)
			}
			got, err := open(t, path, nil).Lookup(t.Context(), p.Digest)
			if err != nil {
				t.Fatal(err)
			}
			got.ReadAt = want.ReadAt
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("record (-want +got):\n%s", diff)
			}
			if string(got.Outcome) != "hello" || got.State != semel.StateCompleted || got.Scope != "alice" {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestClosed(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "x.db"), nil)
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Claim(t.Context(), params("k")); !errors.Is(err, semel.ErrClosed) {
		t.Errorf("claim: got %v, want %v", err, semel.ErrClosed)
	}
	if _, err := s.Lookup(t.Context(), semel.Digest{}); !errors.Is(err, semel.ErrClosed) {
		t.Errorf("lookup: got %v, want %v", err, semel.ErrClosed)
	}
}
