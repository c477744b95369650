package ids

import (
	"errors"
	"fmt"
)

// Errors of this package. Match with errors.Is.
var (
	// ErrMalformed: the text is not an id of this kind. The message does not
	// repeat the text.
	ErrMalformed = errors.New("ids: malformed")
	// ErrClockBack: the clock went back further than the generator may wait.
	// Fix the clock, or wait until it has caught up.
	ErrClockBack = errors.New("ids: the clock went back")
	// ErrMachineLost: this machine may have lost its number. Lease another one.
	ErrMachineLost = errors.New("ids: the number of this machine is not held any more")
	// ErrNoMachine: every number of a machine is taken.
	ErrNoMachine = errors.New("ids: every machine number is taken")
	// ErrInternal: a number that must not leave the server was about to, or one
	// came in from outside.
	ErrInternal = errors.New("ids: an internal number does not cross the border of the server")
)

var (
	errOverflow  = errors.New("ids: no more ULIDs in this millisecond (the next one has)")
	errTimeRange = errors.New("ids: the clock's time is before the epoch, or more than 69 years after it")
)

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
}
