package gocheck

import (
	"os"
	"path/filepath"
	"testing"
)

// A program built with -trimpath finds the standard library, which it would otherwise take for the user's own code.
func TestTrimmed(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat(filepath.Join(goroot(""), "src", "fmt", "print.go")); err != nil {
		t.Error(err)
	}
}
