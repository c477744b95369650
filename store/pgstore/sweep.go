package pgstore

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"
)

// sweepStep limits the rows that one statement of a sweep looks at.
const sweepStep = 500

// Sweep implements [semel.Sweeper]. Several processes may sweep at once. A
// record goes five minutes after its claim at the earliest, however short it
// was to be remembered; what was released goes with the others, and is counted
// with them; what a transaction holds is left for later. After an error, what
// was removed stays removed.
func (s *Store) Sweep(ctx context.Context, limit int) (removed int, err error) {
	for removed < limit {
		var due, gone int
		err := s.write(ctx, "sweep", func() error {
			return s.commit(ctx, func(conn *pgxpool.Conn) error {
				return conn.QueryRow(ctx, s.sql["sweep"], sweepStep, min(limit-removed, sweepStep)).Scan(&due, &gone)
			})
		})
		if err != nil {
			return removed, err
		}
		removed += gone
		if due < sweepStep {
			break
		}
	}
	return removed, nil
}
