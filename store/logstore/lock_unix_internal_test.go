//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package logstore

import (
	"syscall"
	"testing"
)

// A process that starts a program holds every descriptor twice until the child executes it.
func TestLockEndsDespiteChild(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	held, err := lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	child, err := syscall.Dup(int(held.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Close(child) }()
	if err := release(held); err != nil {
		t.Fatal(err)
	}
	again, err := lock(dir)
	if err != nil {
		t.Fatalf("the directory is still locked: %v", err)
	}
	if err := release(again); err != nil {
		t.Fatal(err)
	}
}
