package dbguard

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
)

// Savepoint runs work in a transaction so that a statement that fails there does
// not cost the transaction: after an error of work everything since Savepoint is
// undone, and the transaction goes on. PostgreSQL refuses everything after a
// conflict otherwise; a handler in transaction mode that wants to answer it, and
// have the answer recorded, needs this. The error of work is returned as it is.
//
// s must be in a transaction ([ErrNoTransaction]). CreateOrReuse and Upsert need no savepoint for the
// conflicts that they handle.
func Savepoint(ctx context.Context, s Session, work func(ctx context.Context, s Session) error) (err error) {
	if err := inTransaction(s); err != nil {
		return err
	}
	name := "semel_" + strings.ToLower(rand.Text()) // MySQL forgets an outer savepoint of the same name
	end, undo := "RELEASE SAVEPOINT "+name, "ROLLBACK TO SAVEPOINT "+name
	if _, err := s.Exec(ctx, "SAVEPOINT "+name); err != nil {
		return fmt.Errorf("dbguard: savepoint: %w", err)
	}
	done := false
	defer func() {
		statements := []string{end}
		if !done || err != nil {
			statements = []string{undo, end}
		}
		for _, statement := range statements { // also when the caller has gone: the transaction goes on
			if _, failed := s.Exec(context.WithoutCancel(ctx), statement); failed != nil {
				err = errors.Join(err, fmt.Errorf("dbguard: end savepoint: %w", failed))
				return
			}
		}
	}()
	err = work(ctx, s)
	done = true
	return err
}
