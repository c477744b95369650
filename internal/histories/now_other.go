//go:build !linux

package main

// supported: elsewhere nothing orders what several processes did.
const supported = false

func monotonic() int64 { return 0 }

func wallOffset() int64 { return 0 }
