package dbguard

import (
	"errors"
	"math"
	"reflect"
)

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
// snapshot. Bound the attempts. It knows the errors of pgx and lib/pq,
// go-sql-driver/mysql and modernc.org/sqlite.
//
// A lock that was waited for in vain ([ErrLocked], [ErrLockTimeout]) is not
// retryable in this sense: somebody holds it, and the caller decides.
func Retryable(err error) bool {
	if errors.Is(err, ErrLocked) || errors.Is(err, ErrLockTimeout) {
		return false
	}
	state, number := serverCode(err)
	switch state {
	case pgSerialization, pgDeadlock:
		return true
	}
	switch number {
	case mysqlRecordChanged, mysqlDeadlock, mysqlCertification:
		return true
	}
	return state == "" && isSQLiteBusy(err)
}

// isLockFailure reports whether a statement did not get a lock.
func isLockFailure(err error) bool {
	state, number := serverCode(err)
	return state == pgLockHeld || number == mysqlLockWait || number == mysqlLockHeld || number == mysqlStatementTime || isSQLiteBusy(err)
}

func isSQLiteBusy(err error) bool {
	e, ok := errors.AsType[interface {
		error
		Code() int
	}](err)
	return ok && e.Code()&sqlitePrimary == sqliteBusy
}

// serverCode is PostgreSQL's SQLSTATE or MySQL's number of an error. Drivers are
// known by the shape of their errors, so that nobody links one that he does not
// use.
func serverCode(err error) (state string, number int) {
	if e, ok := errors.AsType[interface {
		error
		SQLState() string
	}](err); ok {
		return e.SQLState(), 0
	}
	return "", mysqlNumber(err)
}

// mysqlNumber walks the tree of err for an error with a number.
func mysqlNumber(err error) int {
	if err == nil {
		return 0
	}
	if value := reflect.Indirect(reflect.ValueOf(err)); value.Kind() == reflect.Struct {
		if field := value.FieldByName("Number"); field.IsValid() && field.Kind() == reflect.Uint16 {
			return int(field.Uint() & math.MaxUint16)
		}
	}
	switch wrapped := err.(type) { //nolint:errorlint // this walks the tree itself.
	case interface{ Unwrap() error }:
		return mysqlNumber(wrapped.Unwrap())
	case interface{ Unwrap() []error }:
		for _, inner := range wrapped.Unwrap() {
			if number := mysqlNumber(inner); number != 0 {
				return number
			}
		}
	}
	return 0
}
