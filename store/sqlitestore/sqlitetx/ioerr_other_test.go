//go:build !linux

package sqlitetx_test

import (
	"context"
	"errors"
)

func childBroken(context.Context, []string) error { return errors.ErrUnsupported }
