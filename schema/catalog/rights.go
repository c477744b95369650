package catalog

import (
	"errors"
	"fmt"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
)

// Explain adds to an error of a driver what to do about it, where it says that
// the user lacks a right. Other errors are returned as they are.
func Explain(err error) error {
	var state interface{ SQLState() string }
	if errors.As(err, &state) && state.SQLState() == "42501" {
		return fmt.Errorf("%w (GRANT USAGE ON SCHEMA and GRANT SELECT ON the table TO this user)", err)
	}
	if refused, ok := mysqlRefusal(err); ok {
		switch refused.Number {
		case 1044, 1142, 1143, 1227: // no right to the database, the table, the column; no such right
			return fmt.Errorf("%w (GRANT SELECT ON the database TO this user)", err)
		}
	}
	return err
}

// Unreadable says what a server cannot do with a statement whose names and
// expressions come from a rules file: a name that is not there, a constant that
// the type of a column does not have. It is "" for other errors, such as those of
// a connection. Values of rows are not in it.
func Unreadable(err error) string {
	const misfit = "a value does not fit the type that it is compared with"
	var state interface{ SQLState() string }
	if errors.As(err, &state) {
		switch code := state.SQLState(); {
		case strings.HasPrefix(code, "22"):
			return misfit + " (SQLSTATE " + code + ")"
		case strings.HasPrefix(code, "42") && code != "42501":
			return err.Error()
		}
	}
	if refused, ok := mysqlRefusal(err); ok {
		switch refused.Number {
		case 1054, 1064, 1305, 1582: // no column, no syntax, no function, other arguments
			return err.Error()
		case 1292, 1366, 1411, 1525:
			return fmt.Sprintf("%s (error %d)", misfit, refused.Number)
		}
	}
	var code interface{ Code() int }
	if errors.As(err, &code) && code.Code() == 1 && strings.Contains(err.Error(), "no such") { // SQLITE_ERROR
		return err.Error()
	}
	return ""
}

// mysqlRefusal returns what a MySQL or MariaDB said.
func mysqlRefusal(err error) (dialect.Refusal, bool) {
	refused, ok := dialect.Refused(err)
	return refused, ok && refused.Dialect == dialect.MySQL
}
