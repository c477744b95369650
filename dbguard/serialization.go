package dbguard

import (
	"errors"
	"fmt"
)

// ErrSerialization means that a transaction conflicts with another one and cannot go on.
// Nothing of it has happened. Roll it back and run it again from its start,
// with a bound and a pause that grows. [CreateOrReuse] and [Upsert] on a pool do
// so themselves.
//
// PostgreSQL says it at REPEATABLE READ and above of a row that is newer than the
// transaction's snapshot; so does MariaDB with innodb_snapshot_isolation, its
// default from 11.6.2 on. A deadlock is one at every level.
var ErrSerialization = errors.New("dbguard: another transaction was in the way; roll back and run this one again from its start")

// maxRounds bounds how often a guard runs a statement again.
const maxRounds = 16

// serialization wraps a driver's error of such a meeting in [ErrSerialization],
// and returns every other as it is.
func serialization(err error) error {
	code, _, _ := driverError(err)
	if errors.Is(err, ErrSerialization) || !code.endsTransaction() {
		return err
	}
	return fmt.Errorf("%w: %w", ErrSerialization, err)
}

// mayRepeat reports whether a guard may run its statement again after err: each
// of the session's statements commits on its own.
func mayRepeat(s Session, err error) bool {
	return errors.Is(err, ErrSerialization) && autocommits(s)
}

// autocommits reports whether the session is known to commit every statement on its own.
func autocommits(s Session) bool {
	a, ok := s.(autocommitter)
	return ok && a.Autocommits()
}
