package sqlitestore

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/semel-dev/semel/store/sqlitestore/internal/result"
)

//go:embed sql/check.sql
var checkSQL string

// Check reads the whole file and reports damage: pages and indexes that
// disagree, a count that is wrong, a fence that was given beyond the greatest
// one. It runs beside other callers and takes as long as reading the file;
// ctx ends it.
func (s *Store) Check(ctx context.Context) error {
	return s.read(ctx, "check", func(r *reader) error {
		switch found, err := r.conn.value(ctx, "PRAGMA integrity_check(1)"); {
		case err != nil:
			return err
		case found != "ok":
			return fmt.Errorf("integrity check: %v (%s)", found, result.Hint(result.Corrupt))
		}
		broken, err := r.conn.value(ctx, checkSQL)
		if err != nil || broken == nil {
			return err
		}
		return fmt.Errorf("invariant broken: %v", broken)
	})
}
