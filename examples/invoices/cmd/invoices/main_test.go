package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/semel-dev/semel/examples/internal/program/programtest"
)

func TestRunServesUntilToldToStop(t *testing.T) {
	t.Parallel()
	programtest.Serves(t, run, "", "Hello", "-latency", "0", "-banner", "Hello")
	file := filepath.Join(t.TempDir(), "ready")
	home := programtest.Serves(t, run, "", "Hello", "-latency", "0", "-banner", "Hello", "-protected", "-ready-file", file)
	if ready, err := os.ReadFile(file); err != nil || string(ready) != "page="+home+"\n" {
		t.Errorf("the ready file says %q, %v", ready, err)
	}
}

func TestRunSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	programtest.Refuses(
		t, run,
		programtest.Refusal{Name: "duration", Args: []string{"-latency", "long"}, Usage: true, Want: "latency"},
		programtest.Refusal{Name: "address", Args: []string{"-listen", "127.0.0.1:99999"}, Want: "-listen"},
		programtest.Refusal{Name: "file", Args: []string{"-db", t.TempDir()}, Want: "SQLite file"},
	)
}
