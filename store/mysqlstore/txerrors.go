package mysqlstore

import "errors"

// Numbers of errors that transactions meet.
const (
	errNoSavepoint   = 1305
	errStatementTime = 1969 // MariaDB
	errCertification = 3101 // MySQL: refused by another member of the group
)

// errLockTime: the claim waited for as long as it may, where the server cannot
// be told how long that is.
var errLockTime = errors.New("another transaction holds the digest")

// isLockWait reports whether a statement waited for a lock in vain.
func isLockWait(err error) bool {
	n := number(err)
	return n == errLockWait || n == errStatementTime || errors.Is(err, errLockTime)
}

// isTxConflict reports whether the server undid a transaction, or a statement
// of it, because of another one, so that running it again can succeed.
func isTxConflict(err error) bool {
	return number(err) == errLockWait || isUndone(err)
}

// isUndone reports whether the server rolled back a whole transaction because
// of another one. Running it again needs no wait: it gets a new snapshot, and
// the lock that it ran into is gone or can be waited for.
func isUndone(err error) bool {
	switch number(err) {
	case errDeadlock, errRecordChanged, errCertification:
		return true
	}
	return false
}
