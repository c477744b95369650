//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package logstore

import (
	"errors"
	"os"
)

const noFollow = 0

func lock(string) (*os.File, error) {
	return nil, errors.New("logstore: this system has no locks that end with the process (use SQLite)")
}

func release(f *os.File) error { return f.Close() }
