//go:build !linux

package sqlitestore

import (
	"errors"
	"os"
)

func freeBytes(string) (free int64, known bool) { return 0, false }

func allocate(path string, size int64) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // next to the operator's file.
	if err != nil {
		return err
	}
	return errors.Join(fill(f, size), f.Close())
}
