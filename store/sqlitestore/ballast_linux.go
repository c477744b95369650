package sqlitestore

import (
	"os"
	"path/filepath"
	"syscall"
)

// freeBytes returns the free space of the disk that holds the path.
func freeBytes(path string) (free int64, known bool) {
	var at syscall.Statfs_t
	if err := syscall.Statfs(filepath.Dir(path), &at); err != nil {
		return 0, false
	}
	return int64(at.Bavail) * at.Bsize, true //nolint:gosec // no disk has that many bytes.
}

func reserve(f *os.File, size int64) error { return syscall.Fallocate(int(f.Fd()), 0, 0, size) }
