package dbserver

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

const clockHint = "apt-get install faketime"

// Clock is the clock of servers that do not follow the machine's: it is ahead
// or behind by what [Clock.Set] says. The monotonic clock is left alone.
type Clock struct {
	library string
	file    string
}

// Clock makes a clock that is as the machine's until it is set.
func (h *Home) Clock() (*Clock, error) {
	library, err := findFaketime()
	if err != nil {
		return nil, err
	}
	dir, err := h.room("clock", account{})
	if err != nil {
		return nil, err
	}
	c := &Clock{library: library, file: filepath.Join(dir, "offset")}
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // servers run as other users, and read it
		return nil, fmt.Errorf("make a clock: %w", err)
	}
	return c, c.Set(0)
}

// Set moves the clock at once: to this much ahead of the machine's, or behind
// it when negative.
func (c *Clock) Set(ahead time.Duration) error {
	next := c.file + ".next"
	text := fmt.Sprintf("%+.6f\n", ahead.Seconds())
	err := os.WriteFile(next, []byte(text), 0o644) //nolint:gosec // servers run as other users, and read it
	if err = errors.Join(err, os.Rename(next, c.file)); err != nil {
		return fmt.Errorf("set a clock: %w", err)
	}
	return nil
}

// environment returns the variables that make a server use the clock; nothing
// for nil.
func (c *Clock) environment() []string {
	if c == nil {
		return nil
	}
	return []string{
		"LD_PRELOAD=" + c.library + " libc.so.6", // the latter because jemalloc, which Redis uses, asks for the time before the former is ready
		"FAKETIME_TIMESTAMP_FILE=" + c.file, "FAKETIME_NO_CACHE=1",
		"FAKETIME_DONT_FAKE_MONOTONIC=1", "DONT_FAKE_MONOTONIC=1", // one name each for newer and older libraries
		"FAKETIME_DISABLE_SHM=1",
	}
}

// findFaketime returns the path of the library, in the variant for programs with threads.
func findFaketime() (string, error) {
	for _, pattern := range []string{"/usr/lib/*/faketime/libfaketimeMT.so.1", "/usr/lib*/faketime/libfaketimeMT.so.1"} {
		if found, err := filepath.Glob(pattern); err == nil && len(found) > 0 {
			return found[0], nil
		}
	}
	return "", &MissingError{What: "libfaketime", Hint: clockHint}
}
