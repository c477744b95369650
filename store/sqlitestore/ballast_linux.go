package sqlitestore

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// freeBytes returns the free space of the disk on which the path is.
func freeBytes(path string) (free int64, known bool) {
	var at syscall.Statfs_t
	if err := syscall.Statfs(filepath.Dir(path), &at); err != nil {
		return 0, false
	}
	return int64(at.Bavail) * at.Bsize, true //nolint:gosec // no disk has that many bytes.
}

// allocate makes a file that takes up its size.
func allocate(path string, size int64) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // next to the operator's file.
	if err != nil {
		return err
	}
	err = syscall.Fallocate(int(f.Fd()), 0, 0, size)
	if errors.Is(err, syscall.EOPNOTSUPP) {
		err = fill(f, size)
	}
	return errors.Join(err, f.Close())
}
