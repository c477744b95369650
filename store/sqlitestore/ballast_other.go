//go:build !linux

package sqlitestore

import (
	"errors"
	"os"
)

func freeBytes(string) (free int64, known bool) { return 0, false }

func reserve(*os.File, int64) error { return errors.ErrUnsupported }
