//go:build !linux

package smalldisk

import "testing"

// Disk is the file system. [New] is the only door.
type Disk struct {
	// Dir is its mount point.
	Dir string
}

// New skips: a small file system is mounted on Linux only.
func New(tb testing.TB, _ int) *Disk {
	tb.Helper()
	tb.Skip("SKIPPED: a full disk is made by mounting a small one, on Linux only")
	return nil
}

// Fill leaves no room for another page.
func (*Disk) Fill(testing.TB) {}

// Empty gives the room back.
func (*Disk) Empty(testing.TB) {}
