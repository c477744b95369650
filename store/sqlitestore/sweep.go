package sqlitestore

import (
	"context"
	_ "embed"
)

// sweepStep is how many records one step of a sweep looks at: other callers
// wait for no more than that.
const sweepStep = 128

//go:embed sql/sweep_correct.sql
var sweepCorrectSQL string

//go:embed sql/sweep_delete.sql
var sweepDeleteSQL string

// Sweep implements [semel.Sweeper]. It goes in small steps, between which
// other callers are served; after an error, what was removed stays removed.
func (s *Store) Sweep(ctx context.Context, limit int) (removed int, err error) {
	for removed < limit {
		var corrected, deleted int64
		atMost := int64(min(limit-removed, sweepStep))
		err := s.do(ctx, "sweep", func(ctx context.Context, t *tx) (err error) {
			corrected, deleted, err = t.sweep(ctx, atMost)
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

// sweep corrects the first records that are due, and removes up to n of them.
// What it corrects is due no longer, so repeated steps come to an end.
func (t *tx) sweep(ctx context.Context, n int64) (corrected, deleted int64, err error) {
	if corrected, err = t.correct.changes(ctx, t.now, int64(sweepStep)); err != nil {
		return 0, 0, err
	}
	if deleted, err = t.remove.changes(ctx, t.now, n); err != nil {
		return 0, 0, err
	}
	t.count -= deleted
	t.dirty = t.dirty || corrected+deleted > 0
	t.pages += int(corrected + 2*deleted)
	return corrected, deleted, nil
}
