//go:build !linux

package sqlitestore_test

import (
	"context"
	"errors"
)

// childUnprivileged needs a system call that is tested on Linux only.
func childUnprivileged(context.Context, []string) error { return errors.ErrUnsupported }
