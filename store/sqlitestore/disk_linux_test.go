package sqlitestore_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// disk is a file system of its own, so small that it can be filled.
type disk struct {
	dir string
}

// smallDisk mounts a file system of that many bytes, or skips.
func smallDisk(t *testing.T, bytes int) *disk {
	t.Helper()
	d := &disk{dir: t.TempDir()}
	if err := syscall.Mount("tmpfs", d.dir, "tmpfs", 0, fmt.Sprintf("size=%d", bytes)); err != nil {
		t.Skipf("SKIPPED: a full disk needs the right to mount a small one: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(d.dir, 0); err != nil {
			t.Error(err)
		}
	})
	return d
}

// fill leaves no room for another page.
func (d *disk) fill(t *testing.T) {
	t.Helper()
	f, err := os.Create(filepath.Join(d.dir, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	for chunk := make([]byte, 4096); err == nil; {
		_, err = f.Write(chunk)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// empty gives the room back.
func (d *disk) empty(t *testing.T) {
	t.Helper()
	if err := os.Remove(filepath.Join(d.dir, "filler")); err != nil {
		t.Fatal(err)
	}
}
