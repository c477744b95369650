package rerun

import (
	"context"
	"database/sql"
	"errors"

	"github.com/semel-dev/semel/internal/cli/opendb"
)

// connections are those that a copy on a server needs.
type connections struct {
	admin   *opendb.Database // of the session
	session *sql.Conn        // makes and drops the copy, and is held as long as that is used
	work    *opendb.Database // runs the statements; nil before the copy is made
}

func (c *connections) exec(ctx context.Context, text string) error {
	_, err := c.session.ExecContext(ctx, text)
	return err
}

// end runs the statements that remove the copy, as far as it was made, even after an interrupt.
func (c *connections) end(list ...string) error {
	if c.admin == nil {
		return nil
	}
	ctx, cancel := ending()
	defer cancel()
	var errs []error
	if c.work != nil {
		errs = append(errs, c.work.Close())
	}
	if c.session != nil {
		for _, text := range list {
			errs = append(errs, c.exec(ctx, text))
		}
		errs = append(errs, c.session.Close())
	}
	return errors.Join(append(errs, c.admin.Close())...)
}
