package dbguard

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/semel-dev/semel"
)

// CommitError tells two kinds of failed commits apart, for those who make a
// [Database]. When the database has refused it, such as for a deferred constraint,
// nothing happened. Any other error, such as that of a connection that broke
// before the reply came, wraps [semel.ErrUnknown]: the transaction may have been
// committed. Nil is nil.
func CommitError(err error) error {
	switch code, answered, _ := driverError(err); {
	case err == nil:
		return nil
	case answered && !code.endsConnection(), errors.Is(err, sql.ErrTxDone):
		return fmt.Errorf("commit: %w", err)
	}
	return fmt.Errorf("commit: %w: %w", semel.ErrUnknown, err)
}

// endsConnection reports whether a server says that it went away, which leaves
// the outcome of the statement open.
func (c driverCode) endsConnection() bool {
	const connection, shutdown, unknown, mysqlShutdown, mysqlKilled = "08", "57P", "40003", 1053, 1927
	return strings.HasPrefix(c.state, connection) || strings.HasPrefix(c.state, shutdown) || c.state == unknown ||
		c.mysql && (c.number == mysqlShutdown || c.number == mysqlKilled)
}
