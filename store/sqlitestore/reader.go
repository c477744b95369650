package sqlitestore

import (
	"context"
	"errors"
	"fmt"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/internal/verb"
	"github.com/semel-dev/semel/store/sqlitestore/internal/table"
)

// openReader opens a connection that only reads.
func openReader(ctx context.Context, path string, opts *Options) (*conn, error) {
	c, err := openConn(path, opts.BusyTimeout, opts.ReadOnly)
	if err != nil {
		return nil, translate(path, "open", err)
	}
	if opts.ReadOnly {
		err = known(ctx, c, path, true)
	}
	if err == nil {
		if err = c.exec(ctx, "PRAGMA query_only = 1"); err != nil {
			err = translate(path, "open", err)
		}
	}
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// read lends a reader to fn. Close waits for it.
func (s *Store) read(ctx context.Context, act string, fn func(context.Context, table.Session) error) error {
	if err := s.gate.Enter(act, verb.Reads); err != nil {
		return err
	}
	defer s.gate.Leave()
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("sqlitestore: %s: %w", act, err)
	}
	var r *conn
	select {
	case r = <-s.readers:
	case <-ctx.Done():
		return fmt.Errorf("sqlitestore: %s: %w", act, ctx.Err())
	}
	defer func() { s.readers <- r }()
	err := gone(s.places)
	if err == nil {
		err = fn(ctx, r)
	}
	if err == nil || errors.Is(err, semel.ErrNotFound) {
		return err
	}
	return s.translate(act, err)
}
