package catalog

import (
	"errors"
	"fmt"

	"github.com/go-sql-driver/mysql"
)

// Explain adds to an error of a driver what to do about it, where it says that
// the user lacks a right. Other errors are returned as they are.
func Explain(err error) error {
	var state interface{ SQLState() string }
	if errors.As(err, &state) && state.SQLState() == "42501" {
		return fmt.Errorf("%w (GRANT USAGE ON SCHEMA and GRANT SELECT ON the table TO this user)", err)
	}
	if refused, ok := errors.AsType[*mysql.MySQLError](err); ok {
		switch refused.Number {
		case 1044, 1142, 1143, 1227: // no right to the database, the table, the column; no such right
			return fmt.Errorf("%w (GRANT SELECT ON the database TO this user)", err)
		}
	}
	return err
}
