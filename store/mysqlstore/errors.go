package mysqlstore

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"

	"github.com/go-sql-driver/mysql"

	"github.com/semel-dev/semel"
	sqldialect "github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/store/internal/verb"
)

// errConfig means that the DSN or the options are wrong as written: nothing was
// tried, and trying again does not help.
var errConfig = verb.ConfigError("mysqlstore: wrong configuration")

// Numbers of errors, the same in MySQL and MariaDB.
const (
	errRecordChanged    = 1020 // MariaDB: the snapshot is older than the row
	errDiskFull         = 1021
	errTooManyConns     = 1040
	errDBAccessDenied   = 1044
	errAccessDenied     = 1045
	errNoDatabase       = 1046
	errUnknownDatabase  = 1049
	errUnknownColumn    = 1054
	errDuplicateEntry   = 1062
	errTableFull        = 1114
	errTableDenied      = 1142
	errColumnDenied     = 1143
	errNoTable          = 1146
	errPacketTooLarge   = 1153
	errUnknownVariable  = 1193
	errTooManyUserConns = 1203
	errLockWait         = 1205
	errDeadlock         = 1213
	errPrivilege        = 1227
	errOptionPrevents   = 1290
	errTooManyPrepared  = 1461
	errAutoIncrement    = 1467
	errReadOnlyTx       = 1792
	errReadOnlyMode     = 1836
)

// translate gives an error of the driver to the caller: which act met it, and
// what to do. A full server becomes [semel.ErrFull]; the rest wraps none of
// the contract's sentinels, which means that it is unknown whether the step
// was taken.
func translate(act string, err error) error {
	h := hint(err)
	err = sqldialect.Discreet(err)
	if lasts(err) {
		err = verb.Refused(err)
	}
	switch {
	case isFull(err):
		return fmt.Errorf("%w: mysqlstore: %s: %w (%s)", semel.ErrFull, act, err, h)
	case h != "":
		return fmt.Errorf("mysqlstore: %s: %w (%s)", act, err, h)
	}
	return fmt.Errorf("mysqlstore: %s: %w", act, err)
}

// lasts reports whether the server refuses until an operator changes a setting, a right or the schema.
func lasts(err error) bool {
	switch number(err) {
	case errDBAccessDenied, errTableDenied, errColumnDenied, errPrivilege, errAccessDenied, errNoDatabase, errUnknownDatabase,
		errNoTable, errUnknownColumn, errOptionPrevents, errReadOnlyMode, errReadOnlyTx:
		return true
	}
	return false
}

// number is the server's number of an error, or 0.
func number(err error) uint16 {
	if serverErr, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return serverErr.Number
	}
	return 0
}

func isFull(err error) bool {
	switch number(err) {
	case errDiskFull, errTableFull, errPacketTooLarge, errAutoIncrement:
		return true
	}
	return errors.Is(err, mysql.ErrPktTooLarge)
}

// isConflict reports whether the server undid the statement because of
// another one, so that running it again can succeed.
func isConflict(err error) bool {
	return isTxConflict(err) || number(err) == errAutoIncrement
}

// hint says what an operator can do about an error.
func hint(err error) string {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return ""
	}
	if errors.Is(err, mysql.ErrPktTooLarge) {
		return "raise max_allowed_packet, or settle without keeping the outcome"
	}
	if _, ok := errors.AsType[*net.OpError](err); ok {
		return "is the server running, and are host and port right?"
	}
	if errors.Is(err, driver.ErrBadConn) {
		return "every connection that was tried broke, or is one to a server that has become read-only"
	}
	switch number(err) {
	case errDBAccessDenied, errTableDenied, errColumnDenied, errPrivilege:
		return "grant the user SELECT, INSERT, UPDATE and DELETE on the database, and also CREATE, unless another user runs the migrations"
	case errAccessDenied:
		return "check the user name and the password of the DSN, and from which hosts the user may connect"
	case errNoDatabase:
		return "name a database in the DSN of the pool"
	case errUnknownDatabase:
		return "create it first: CREATE DATABASE name"
	case errNoTable, errUnknownColumn:
		return "open the store once as a user that may create tables, or run the migrations by a tool of your own"
	case errDiskFull, errTableFull:
		return "free space on the server's disk, or sweep; the store goes on as soon as there is room"
	case errPacketTooLarge:
		return "raise max_allowed_packet, or settle without keeping the outcome"
	case errTooManyConns, errTooManyUserConns:
		return "raise the server's max_connections, or lower Options.MaxConns"
	case errUnknownVariable:
		return "a parameter of the DSN is neither one of the driver nor a variable of the server; correct or remove it"
	case errOptionPrevents, errReadOnlyMode, errReadOnlyTx:
		return "the server is read-only; connect to the primary"
	case errAutoIncrement:
		return "the counter of fences could not be read: it is locked, or at its end"
	case errTooManyPrepared:
		return "raise the server's max_prepared_stmt_count, or lower Options.MaxConns"
	case errDeadlock, errLockWait, errRecordChanged, errCertification:
		return "other transactions hold the row; it is safe to repeat"
	}
	return ""
}
