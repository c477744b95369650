package main

import (
	"path/filepath"
	"testing"

	"github.com/semel-dev/semel/examples/internal/program/programtest"
)

func TestRunServesUntilToldToStop(t *testing.T) {
	t.Parallel()
	programtest.Serves(t, run, "", "<h1>", "-ready-file", filepath.Join(t.TempDir(), "ready"))
}

func TestRunSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	absent := filepath.Join(t.TempDir(), "absent")
	programtest.Refuses(
		t, run,
		programtest.Refusal{Name: "address", Args: []string{"-listen", "127.0.0.1:99999"}, Want: "-listen"},
		programtest.Refusal{Name: "directory", Args: []string{"-dir", absent}, Want: "-dir"},
		programtest.Refusal{Name: "ready file", Args: []string{"-listen", "127.0.0.1:0", "-ready-file", filepath.Join(absent, "ready")}, Want: "ready file"},
	)
}
