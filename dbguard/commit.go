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
	case answered && !code.leavesOpen(), errors.Is(err, sql.ErrTxDone):
		return fmt.Errorf("commit: %w", err)
	}
	return fmt.Errorf("commit: %w: %w", semel.ErrUnknown, err)
}

// leavesOpen reports whether what a server answers to a commit leaves the
// outcome open: it went away, or failed or was interrupted in the middle.
func (c driverCode) leavesOpen() bool {
	const connection, shutdown, unknown = "08", "57P", "40003"
	if !c.mysql {
		return strings.HasPrefix(c.state, connection) || strings.HasPrefix(c.state, shutdown) || c.state == unknown
	}
	switch c.number {
	case 1026, 1598, // MySQL: the binary log
		1053,       // shutdown
		1180,       // the commit itself
		1317,       // KILL QUERY
		1927, 1969, // MariaDB: KILL, max_statement_time
		3100: // MySQL: a plugin of replication
		return true
	}
	return c.number/1000 == 2 // libmysql's numbers: a proxy such as ProxySQL has lost its server
}
