package sqlitestore

import (
	"context"
	"database/sql/driver"
	_ "embed"
)

//go:embed sql/count.sql
var countSQL string

// Count implements [semel.Counter].
func (s *Store) Count(ctx context.Context) (n int64, err error) {
	err = s.read(ctx, "count", func(r *reader) error {
		var clockMS int64
		return r.count.each(ctx, func(row []driver.Value) error {
			return scan(row, &n, &clockMS)
		})
	})
	return n, err
}

// readNow is the store's clock, not behind what any process has written.
func (s *Store) readNow(ctx context.Context, r *reader) (now int64, err error) {
	err = r.count.each(ctx, func(row []driver.Value) error {
		var n, floor int64
		err := scan(row, &n, &floor)
		now = s.clock.Read(floor)
		return err
	})
	return now, err
}
