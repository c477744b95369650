//go:build !linux

package sqlitestore_test

// childUnprivileged needs a system call that is tested on Linux only.
func childUnprivileged(string) int { return 2 }
