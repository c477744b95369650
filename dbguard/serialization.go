package dbguard

import (
	"errors"
	"fmt"
)

// ErrSerialization says that a transaction met another one and cannot go on.
// Nothing of it has happened. Roll it back and run it again from its start,
// with a bound and a pause that grows. Guards on a pool do so themselves.
var ErrSerialization = errors.New("dbguard: another transaction was in the way; roll back and run this one again from its start")

// maxRounds is how often a guard runs a statement again before it gives up.
const maxRounds = 16

// serialization dresses what drivers say of such a meeting.
func serialization(err error) error {
	code, _, _ := driverError(err)
	if errors.Is(err, ErrSerialization) || !code.endsTransaction() {
		return err
	}
	return fmt.Errorf("%w: %w", ErrSerialization, err)
}

// mayRepeat reports whether a guard may run its statement again after err: each
// of the session's statements commits by itself.
func mayRepeat(s Session, err error) bool {
	if !errors.Is(err, ErrSerialization) {
		return false
	}
	a, ok := s.(Autocommitter)
	return ok && a.Autocommits()
}
