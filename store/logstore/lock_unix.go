//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package logstore

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// noFollow refuses a symbolic link, which could lead to any file of this user.
const noFollow = syscall.O_NOFOLLOW

const maxHolder = 64 // bytes of the file

// lock locks the directory for this process. The system releases the lock when the process ends, cleanly or not.
func lock(dir string) (*os.File, error) {
	path := filepath.Join(dir, "lock")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|noFollow, fileMode) //nolint:gosec // the operator's directory.
	if errors.Is(err, syscall.ELOOP) {
		return nil, fmt.Errorf("logstore: %s is a symbolic link, which is not followed (remove it)", path)
	}
	if err != nil {
		return nil, fmt.Errorf("logstore: %w (the directory must be writable for this user)", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		holder, _ := io.ReadAll(io.LimitReader(f, maxHolder))
		_ = f.Close()
		return nil, fmt.Errorf("logstore: %s is %w%s: a log belongs to one at a time (while a gateway has it, its admin API and console show the records; "+
			"stop it before you check or repair the log; several processes can share a SQLite file)", dir, ErrInUse, holderSuffix(string(holder)))
	}
	if err == nil {
		err = errors.Join(f.Truncate(0), first(fmt.Fprintln(f, os.Getpid())))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("logstore: lock %s: %w", path, err), f.Close())
	}
	return f, nil
}

// release unlocks the directory at once. Closing alone is not enough: while this process starts a program, the child has the
// descriptor, and with it the lock, until it executes the program.
func release(f *os.File) error {
	return errors.Join(syscall.Flock(int(f.Fd()), syscall.LOCK_UN), f.Close())
}

func first(_ int, err error) error { return err }

func holderSuffix(pid string) string {
	if pid = strings.TrimSpace(pid); pid == "" {
		return ""
	}
	return " (" + pid + ")"
}
