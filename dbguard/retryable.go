package dbguard

import "errors"

// Codes with which databases end a transaction, or a statement of it, because
// of another transaction.
const (
	pgSerialization = "40001"
	pgDeadlock      = "40P01"
	pgLockHeld      = "55P03" // NOWAIT, and lock_timeout

	mysqlRecordChanged = 1020 // MariaDB: the snapshot is older than the row
	mysqlLockWait      = 1205 // and, in MariaDB, NOWAIT
	mysqlDeadlock      = 1213
	mysqlStatementTime = 1969 // MariaDB: max_statement_time
	mysqlCertification = 3101 // refused by another member of the group
	mysqlLockHeld      = 3572 // MySQL: NOWAIT

	sqliteBusy    = 5
	sqlitePrimary = 0xFF // the bits of a code that say what kind it is of
)

// Retryable reports whether an error means that the database ended a
// transaction because of another one, so that running it again, from its
// beginning, can succeed: a deadlock, a serialisation failure, a stale
// snapshot, and [ErrSerialization]. Bound the attempts. It knows the errors of
// the drivers that [Translator] knows.
//
// A lock that was waited for in vain ([ErrHeld]) is not
// retryable in this sense: it has a holder, and the caller decides.
func Retryable(err error) bool {
	if errors.Is(err, ErrHeld) {
		return false
	}
	code, _, _ := driverError(err)
	return errors.Is(err, ErrSerialization) || code.endsTransaction()
}

// isLockFailure reports whether a statement did not get a lock.
func isLockFailure(err error) bool {
	code, _, _ := driverError(err)
	switch {
	case code.state != "":
		return code.state == pgLockHeld
	case code.mysql:
		return code.number == mysqlLockWait || code.number == mysqlLockHeld || code.number == mysqlStatementTime
	}
	return code.isBusy()
}

// endsTransaction reports whether the database ended the transaction because of
// another one.
func (c driverCode) endsTransaction() bool {
	switch {
	case c.state != "":
		return c.state == pgSerialization || c.state == pgDeadlock
	case c.mysql:
		return c.number == mysqlRecordChanged || c.number == mysqlDeadlock || c.number == mysqlCertification
	}
	return c.isBusy()
}

// isBusy reports whether another connection holds SQLite's lock, or has used it
// since this transaction began to read.
func (c driverCode) isBusy() bool {
	return c.state == "" && !c.mysql && c.number&sqlitePrimary == sqliteBusy
}
