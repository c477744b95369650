package smalldisk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Disk is the file system. [New] is the only door.
type Disk struct {
	// Dir is its mount point.
	Dir string
}

// New mounts a file system of that many bytes until the test is over. Without the
// right to, the test fails in CI, and is skipped elsewhere.
func New(tb testing.TB, bytes int) *Disk {
	tb.Helper()
	d := &Disk{Dir: tb.TempDir()}
	if err := syscall.Mount("tmpfs", d.Dir, "tmpfs", 0, fmt.Sprintf("size=%d", bytes)); err != nil {
		if os.Getenv("SEMEL_REQUIRE_STORES") == "1" { // in CI
			tb.Fatalf("a full disk needs the right to mount a small one: %v (run the tests as root)", err)
		}
		tb.Skipf("SKIPPED: a full disk needs the right to mount a small one: %v", err)
	}
	tb.Cleanup(func() {
		if err := syscall.Unmount(d.Dir, syscall.MNT_DETACH); err != nil { // a child that another test starts shares our files until it runs its own program
			tb.Error(err)
		}
	})
	return d
}

// Fill leaves no room for another page.
func (d *Disk) Fill(tb testing.TB) {
	tb.Helper()
	f, err := os.Create(filepath.Join(d.Dir, "filler"))
	if err != nil {
		tb.Fatal(err)
	}
	for chunk := make([]byte, 4096); err == nil; {
		_, err = f.Write(chunk)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		tb.Fatal(err)
	}
	if err := f.Close(); err != nil {
		tb.Fatal(err)
	}
}

// Empty gives the room back.
func (d *Disk) Empty(tb testing.TB) {
	tb.Helper()
	if err := os.Remove(filepath.Join(d.Dir, "filler")); err != nil {
		tb.Fatal(err)
	}
}
