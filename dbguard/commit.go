package dbguard

import (
	"database/sql"
	"errors"
	"fmt"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/dialect"
)

// CommitError tells two kinds of failed commits apart, for those who make a
// [Database]. When the database has refused it, such as for a deferred constraint,
// nothing happened. Any other error, such as that of a connection that broke
// before the reply came, wraps [semel.ErrUnknown]: the transaction may have been
// committed. Nil is nil.
func CommitError(err error) error {
	switch {
	case err == nil:
		return nil
	case !dialect.CommitUnknown(err), errors.Is(err, sql.ErrTxDone):
		return fmt.Errorf("commit: %w", err)
	}
	return fmt.Errorf("commit: %w: %w", semel.ErrUnknown, err)
}
