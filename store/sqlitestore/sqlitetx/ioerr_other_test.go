//go:build !linux

package sqlitetx_test

func childBroken(string) int { return 2 }
