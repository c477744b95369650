package main

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

const supported = true

// monotonic is the clock that all processes of this machine share and nobody
// sets, in nanoseconds.
func monotonic() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic(fmt.Sprintf("CLOCK_MONOTONIC: %v", err)) // Linux has it
	}
	return t.Nano()
}

// wallOffset is how far the machine's wall clock is ahead of monotonic.
func wallOffset() int64 {
	before := monotonic()
	wall := time.Now().UnixNano()
	return wall - (before+monotonic())/2
}
