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

// serialization dresses what drivers say of such a meeting: PostgreSQL's
// serialization failures and deadlocks, MySQL's deadlocks, and SQLite's lock that
// another connection holds or has used since this transaction began to read.
func serialization(err error) error {
	const (
		pgFailure, pgDeadlock = "40001", "40P01"
		mysqlDeadlock         = 1213
		sqliteBusy            = 5 // the low byte of the extended codes too
	)
	code, ok, _ := driverError(err)
	switch {
	case !ok || errors.Is(err, ErrSerialization):
		return err
	case code.state == pgFailure, code.state == pgDeadlock,
		code.mysql && code.number == mysqlDeadlock,
		!code.mysql && code.state == "" && code.number&0xff == sqliteBusy:
		return fmt.Errorf("%w: %w", ErrSerialization, err)
	}
	return err
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
