package main

import (
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/semel-dev/semel/internal/must"
)

const supported = true

// monotonic returns the clock that all processes of this machine share and that
// cannot be set, in nanoseconds.
func monotonic() int64 {
	var t unix.Timespec
	must.Succeed(unix.ClockGettime(unix.CLOCK_MONOTONIC, &t), "Linux has CLOCK_MONOTONIC")
	return t.Nano()
}

// wallOffset returns how far the machine's wall clock is ahead of monotonic.
func wallOffset() int64 {
	before := monotonic()
	wall := time.Now().UnixNano()
	return wall - (before+monotonic())/2
}

func pause(p *os.Process) error { return p.Signal(unix.SIGSTOP) }

func resume(p *os.Process) error { return p.Signal(unix.SIGCONT) }
