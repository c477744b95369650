package logstore_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/store/logstore"
)

// A file of the log that is a symbolic link is refused, and what it leads to stays as it is.
func TestOpenFollowsNoLink(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"lock", "manifest.new", "000000000001.semel.new"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "log")
			claimtest.NoError(t, os.Mkdir(dir, 0o700))
			target := filepath.Join(t.TempDir(), "precious")
			claimtest.NoError(t, os.WriteFile(target, []byte("as it was"), 0o600))
			claimtest.NoError(t, os.Symlink(target, filepath.Join(dir, name)))
			s, err := logstore.Open(t.Context(), dir, nil)
			if err == nil { // the link itself was replaced
				claimtest.NoError(t, s.Close())
			} else if name == "lock" {
				claimtest.Words(t, err, "is a symbolic link", "remove it")
			}
			if b, err := os.ReadFile(target); err != nil || string(b) != "as it was" {
				t.Errorf("the file that the link leads to holds %q, error %v", b, err)
			}
		})
	}
}
