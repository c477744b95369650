package mysqlstore

import (
	"context"
	"database/sql"

	"github.com/semel-dev/semel/store/internal/verb"
)

// sweepStep limits the rows that one step of a sweep looks at: no lock is held for
// longer than it takes to delete them.
const sweepStep = maxBatch

// Sweep implements [semel.Sweeper]. It goes in small steps with a commit each;
// after an error, what was removed stays removed. A row stays for five minutes
// after its claim (see the package's documentation), longer than most records
// are kept for at least.
func (s *Store) Sweep(ctx context.Context, limit int) (removed int, err error) {
	if err := s.gate.Enter("sweep", verb.Writes); err != nil {
		return 0, err
	}
	defer s.gate.Leave()
	for removed < limit {
		found, err := s.due(ctx)
		if err != nil {
			return removed, translate("sweep", err)
		}
		dead := found.dead[:min(len(found.dead), limit-removed)]
		corrected, err := s.changeRows(ctx, "sweep_correct", found.living, graceMS)
		if err != nil {
			return removed, translate("sweep", err)
		}
		deleted, err := s.changeRows(ctx, "sweep_delete", dead)
		if err != nil {
			return removed, translate("sweep", err)
		}
		removed += int(deleted)
		if len(found.dead)+len(found.living) < sweepStep || corrected+deleted == 0 {
			break
		}
	}
	return removed, nil
}

// due are the fences of rows whose time to sweep has come.
type due struct{ dead, living []int64 }

func (s *Store) due(ctx context.Context) (found due, err error) {
	err = s.stmts.each(ctx, nil, "sweep_find", 1, []any{graceMS, sweepStep}, func(rows *sql.Rows) error {
		var fence int64
		var dead bool
		if err := rows.Scan(&fence, &dead); err != nil {
			return err
		}
		if dead {
			found.dead = append(found.dead, fence)
		} else {
			found.living = append(found.living, fence)
		}
		return nil
	})
	return found, err
}

// changeRows runs a statement about the rows of some fences, in whose
// arguments they come between those given and the grace.
func (s *Store) changeRows(ctx context.Context, name string, fences []int64, before ...any) (changed int64, err error) {
	if len(fences) == 0 {
		return 0, nil
	}
	args := before
	for i := range batchSize(len(fences)) {
		args = append(args, fences[min(i, len(fences)-1)])
	}
	return s.change(ctx, name, batchSize(len(fences)), append(args, graceMS)...)
}
