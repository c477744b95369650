//go:build !linux

package sqlitestore_test

import "testing"

type disk struct{ dir string }

func smallDisk(t *testing.T, _ int) *disk {
	t.Helper()
	t.Skip("SKIPPED: a full disk is made by mounting a small one, on Linux only")
	return nil
}

func (*disk) fill(*testing.T)  {}
func (*disk) empty(*testing.T) {}
