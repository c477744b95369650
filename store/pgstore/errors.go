package pgstore

import (
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/store/internal/verb"
)

// errConfig means that the DSN or the options are wrong as written: nothing was
// tried, and trying again does not help.
var errConfig = verb.ConfigError("pgstore: wrong configuration")

var (
	errDSN = fmt.Errorf("%w: the DSN cannot be read (want postgres://user@host:5432/database?sslmode=verify-full "+
		"or key=value pairs; special characters of a password are percent-encoded in a URL)", errConfig)
	// errOvertaken: another caller changed the record between two statements.
	errOvertaken = errors.New("the record changed again and again")
)

// Codes of PostgreSQL's errors.
const (
	codeNegativeRoot    = "2201F" // a transaction is another one; see tx_finish.sql
	codeDivisionByZero  = "22012" // a claim stalled, or a transaction is another one; see claim.sql, tx_record.sql
	codeSerialization   = "40001"
	codeDeadlock        = "40P01"
	codeUniqueViolation = "23505"
	codeReadOnly        = "25006"
	codeProtocol        = "08P01"
	codeNoStatement     = "26000"
	codeLockTimeout     = "55P03"
	codeInvalidText     = "22P02" // see tx_lock_or_fail.sql
)

// passes reports whether the same statement can succeed when it is sent again
// at once: nothing happened.
func passes(err error) bool {
	if errors.Is(err, errOvertaken) {
		return true
	}
	switch code(err) {
	case codeDivisionByZero, codeSerialization, codeDeadlock:
		return true
	case "":
		return pgconn.SafeToRetry(err)
	}
	return false
}

// code is PostgreSQL's, or "" when the error is not the server's.
func code(err error) string {
	if pgErr, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pgErr.Code
	}
	return ""
}

// translate gives an error of the driver to the caller: which act met it, and
// what to do. What is full becomes [semel.ErrFull]; the rest wraps none of the
// contract's sentinels, which means that it is unknown whether the step was
// taken.
func translate(act string, err error) error {
	if err == nil {
		return nil
	}
	err = dialect.Discreet(err)
	for _, sentinel := range []error{semel.ErrNotFound, semel.ErrLost, semel.ErrSettled, semel.ErrFull, semel.ErrClosed} {
		if errors.Is(err, sentinel) {
			return err
		}
	}
	hint, full := advice(err)
	if lasts(err) {
		err = verb.Refused(err)
	}
	switch {
	case full:
		return fmt.Errorf("%w: pgstore: %s: %w (%s)", semel.ErrFull, act, err, hint)
	case hint != "":
		return fmt.Errorf("pgstore: %s: %w (%s)", act, err, hint)
	}
	return fmt.Errorf("pgstore: %s: %w", act, err)
}

// lasts reports whether the server refuses until an operator changes a setting, a right or the schema.
func lasts(err error) bool {
	switch code(err) {
	case codeReadOnly, "28P01", "28000", "3D000", "42501", "42P01", "3F000", "42703":
		return true
	}
	return false
}

// advice says what an operator can do about an error, and whether it is a
// bound that was reached.
func advice(err error) (hint string, full bool) {
	switch code(err) {
	case "53100":
		return "free space on the server's disk; the store goes on as soon as there is room", true
	case "54000", "54001":
		return "the value is larger than the server stores; settle without keeping it", true
	case "53200":
		return "the server has no memory left", false
	case "53300":
		return "the server has no connection left; lower MaxConns, raise max_connections, or put PgBouncer in between", false
	case codeReadOnly:
		return "this is a replica, or the database is read-only; name the primary, for example by " +
			"target_session_attrs=read-write, or open the store with ReadOnly", false
	case "28P01", "28000":
		return "check user, password and the server's pg_hba.conf", false
	case "3D000":
		return "create the database, or name another one in the DSN", false
	case "42501":
		return "the user lacks a right: let the schema's owner grant it, or run the scripts of pgstore.Migrations as an owner and " +
			"open the store with SkipMigrations", false
	case "42P01", "3F000", "42703":
		return "the schema is not what this program needs; start a program that serves once, such as semel gateway, or run the scripts of " +
			"pgstore.Migrations", false
	case "26000", "42P05", codeProtocol:
		return "a pooler in transaction mode? Add default_query_exec_mode=exec to the DSN, or set max_prepared_statements in " +
			"PgBouncer 1.21 or newer", false
	case "57014":
		return "the server ended the statement; look at statement_timeout", false
	case "55P03":
		return "the server waited too long for a lock; look at lock_timeout and at long transactions", false
	case codeUniqueViolation:
		if pgErr, ok := errors.AsType[*pgconn.PgError](err); !ok || pgErr.ConstraintName != "record_by_fence" {
			return "", false
		}
		return "the sequence of the fences was set back, by a restore or a failover to a copy without it; set it to the greatest " +
			"fence of the table record", false
	case codeDivisionByZero:
		return "the statement stalled for too long; look at the server's load", false
	case "":
		if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
			return "check host, port and sslmode of the DSN, and that the server runs", false
		}
	}
	return "", false
}
