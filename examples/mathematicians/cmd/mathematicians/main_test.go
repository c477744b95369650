package main

import (
	"path/filepath"
	"testing"

	"github.com/semel-dev/semel/examples/internal/program/programtest"
)

func TestRunServesUntilToldToStop(t *testing.T) {
	t.Parallel()
	programtest.Serves(t, run, "/api/mathematicians", `"mathematicians":[]`, "-db", filepath.Join(t.TempDir(), "m.db"))
}

func TestRunSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "m.db")
	programtest.Refuses(
		t, run,
		programtest.Refusal{Name: "address", Args: []string{"-db", db, "-listen", "127.0.0.1:99999"}, Want: "-listen"},
		programtest.Refusal{Name: "file", Args: []string{"-db", t.TempDir()}, Want: "SQLite file"},
	)
}
