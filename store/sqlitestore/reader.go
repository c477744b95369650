package sqlitestore

import (
	"context"
	"errors"
	"fmt"

	"github.com/semel-dev/semel"
)

// reader is a connection that only reads, with its prepared statements.
type reader struct {
	conn              *conn
	find, list, count *stmt
}

func openReader(ctx context.Context, path string, opts *Options) (*reader, error) {
	c, err := openConn(path, opts.BusyTimeout, opts.ReadOnly)
	if err != nil {
		return nil, translate(path, "open", err)
	}
	r := &reader{conn: c}
	if err := r.prepare(ctx, path, opts); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return r, nil
}

func (r *reader) prepare(ctx context.Context, path string, opts *Options) error {
	if opts.ReadOnly {
		if err := known(ctx, r.conn, path, true); err != nil {
			return err
		}
	}
	if err := r.conn.exec(ctx, "PRAGMA query_only = 1"); err != nil {
		return translate(path, "open", err)
	}
	for _, p := range []struct {
		stmt  **stmt
		query string
	}{{&r.find, lookupSQL}, {&r.list, listSQL}, {&r.count, countSQL}} {
		prepared, err := r.conn.prepare(ctx, p.query)
		if err != nil {
			return translate(path, "open", err)
		}
		*p.stmt = prepared
	}
	return nil
}

// read lends a reader to fn. Close waits for it.
func (s *Store) read(ctx context.Context, act string, fn func(*reader) error) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return semel.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("sqlitestore: %s: %w", act, err)
	}
	var r *reader
	select {
	case r = <-s.readers:
	case <-ctx.Done():
		return fmt.Errorf("sqlitestore: %s: %w", act, ctx.Err())
	}
	defer func() { s.readers <- r }()
	err := gone(s.places)
	if err == nil {
		err = fn(r)
	}
	if err == nil || errors.Is(err, semel.ErrNotFound) {
		return err
	}
	return s.translate(act, err)
}
