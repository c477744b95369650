package dbguard_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/semel-dev/semel/dbguard"
)

// What the database did because of another transaction is known, however it is
// wrapped; a lock that was not got is something else.
func TestRetryable(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err  error
		want bool
	}{
		"none":                   {nil, false},
		"another":                {errors.New("deadlock detected"), false},
		"serialisation":          {&pgconn.PgError{Code: "40001"}, true},
		"deadlock":               {&pgconn.PgError{Code: "40P01"}, true},
		"unique":                 {&pgconn.PgError{Code: "23505"}, false},
		"lock":                   {&pgconn.PgError{Code: "55P03"}, false},
		"MySQL deadlock":         {&mysql.MySQLError{Number: 1213}, true},
		"MySQL lock":             {&mysql.MySQLError{Number: 1205}, false},
		"MySQL duplicate":        {&mysql.MySQLError{Number: 1062}, false},
		"another's code 5":       {coded(5), false},
		"wrapped":                {fmt.Errorf("commit: %w", &mysql.MySQLError{Number: 1213}), true},
		"joined":                 {fmt.Errorf("read: %w", errors.Join(errors.New("first"), &mysql.MySQLError{Number: 1213})), true},
		"joined, of PostgreSQL":  {errors.Join(errors.New("first"), &pgconn.PgError{Code: "40001"}), true},
		"not got, and locked":    {fmt.Errorf("%w (%w)", dbguard.ErrHeld, &pgconn.PgError{Code: "40001"}), false},
		"not got, and timed out": {fmt.Errorf("%w (%w)", dbguard.ErrHeld, &mysql.MySQLError{Number: 1213}), false},
	} {
		if got := dbguard.Retryable(test.err); got != test.want {
			t.Errorf("%s: Retryable = %v, want %v", name, got, test.want)
		}
	}
}

// coded is an error of some service, with numbers of its own.
type coded int

func (c coded) Error() string { return "rejected" }
func (c coded) Code() int     { return int(c) }
