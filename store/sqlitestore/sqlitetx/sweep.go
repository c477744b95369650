package sqlitetx

import (
	"context"
	"database/sql"

	"github.com/semel-dev/semel"
)

// sweepStep is how many records one step of a sweep looks at: other writers
// wait for no more than that.
const sweepStep = 128

// Sweep implements [semel.Sweeper]. It goes in small steps, between which
// others write; after an error, what was removed stays removed. Where nothing
// is due it takes no lock.
func (s *Store) Sweep(ctx context.Context, limit int) (removed int, err error) {
	for removed < limit {
		var due bool
		err := s.read(ctx, "sweep", func(ctx context.Context, in session) error {
			rows, err := in.query(ctx, stmtDue, s.clock.Read(0))
			return each(rows, err, func(row *sql.Rows) error { return row.Scan(&due) })
		})
		if err != nil || !due {
			return removed, err
		}
		var corrected, deleted int64
		err = s.write(ctx, "sweep", semel.Digest{}, func(ctx context.Context, t *step) (err error) {
			if corrected, err = t.in.exec(ctx, stmtSweepCorrect, t.now, sweepStep); err != nil {
				return err
			}
			deleted, err = t.in.exec(ctx, stmtSweepDelete, t.now, min(limit-removed, sweepStep))
			t.dirty = corrected+deleted > 0
			return err
		})
		if err != nil {
			return removed, err
		}
		removed += int(deleted)
		if corrected+deleted == 0 {
			break
		}
	}
	return removed, nil
}
