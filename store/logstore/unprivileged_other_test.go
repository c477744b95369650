//go:build !linux

package logstore_test

import "context"

func childUnprivileged(context.Context, []string) error { return nil }
