//go:build !windows

package secretfile_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/semel-dev/semel/internal/secretfile"
)

// A pipe, which may never get a writer, is refused at once.
func TestLinesRefusesAPipe(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := secretfile.Lines(name); err == nil || !strings.Contains(err.Error(), "is not a regular file") {
		t.Errorf("got %v, want the pipe to be refused", err)
	}
}
