package sqlitestore_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/store/sqlitestore"
)

const lease, retention = claimtest.Lease, claimtest.Retention

var (
	params, completed, wins, settles = claimtest.Params, claimtest.Completed, claimtest.Wins, claimtest.Settles
	noError, closes, wantWords       = claimtest.NoError, claimtest.Closes, claimtest.Words
	lists, sweeps, wantGone          = claimtest.Lists, claimtest.Sweeps, claimtest.WantGone
	wantFound, wantErr               = claimtest.WantFound, claimtest.WantErr
)

func open(t *testing.T, path string, o *sqlitestore.Options) *sqlitestore.Store {
	t.Helper()
	s, err := sqlitestore.Open(t.Context(), path, o)
	noError(t, err)
	closes(t, s)
	return s
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
			claimed := wins(t, s, p)
			noError(t, s.Settle(t.Context(), p.Digest, claimed.Fence, completed("hello")))
			want, err := s.Lookup(t.Context(), p.Digest)
			noError(t, err)
			noError(t, s.Close())
			names, err := os.ReadDir(dir)
			if err != nil || len(names) != 1 || names[0].Name() != name {
				t.Fatalf("the directory holds %v, want %q alone (error %v)", names, name, err)
			}
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
				t.Fatalf("mode is %v, want 0600 (error %v)", info.Mode(), err)
			}
			got, err := open(t, path, nil).Lookup(t.Context(), p.Digest)
			noError(t, err)
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
