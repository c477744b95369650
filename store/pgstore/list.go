package pgstore

import (
	"context"
	"fmt"
	"math"

	"github.com/jackc/pgx/v5"

	"github.com/semel-dev/semel"
)

// List implements [semel.Lister]. It reads an index backwards from the cursor,
// so the newest records cost the same however many there are; a filter that
// few records pass reads until it has found them or ctx ends.
func (s *Store) List(ctx context.Context, p semel.ListParams) (recs []semel.Record, err error) {
	if p.Limit < 0 || p.Limit > semel.MaxListLimit {
		return nil, fmt.Errorf("pgstore: list limit %d is not between 0 and %d", p.Limit, semel.MaxListLimit)
	}
	if p.Limit == 0 {
		p.Limit = semel.MaxListLimit
	}
	if !isText(p.Scope) || !isText(p.Name) {
		return nil, nil // no record has it
	}
	err = s.step(ctx, "list", func() (err error) {
		recs, err = s.list(ctx, &p)
		return err
	})
	return recs, err
}

func (s *Store) list(ctx context.Context, p *semel.ListParams) ([]semel.Record, error) {
	before := column(p.Before)
	if before == 0 {
		before = math.MaxInt64
	}
	states := make([]string, len(p.States))
	for i, state := range p.States {
		states[i] = state.String()
	}
	// Planned for this limit and these filters, not for any.
	rows, err := s.pool.Query(ctx, s.sql["list"], pgx.QueryExecModeExec, before, p.Scope, p.Name, states, p.Outcomes, p.Limit)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(from pgx.CollectableRow) (semel.Record, error) {
		rec, _, err := scanRecord(from)
		if !p.Outcomes {
			rec.Outcome = nil
		}
		return rec, err
	})
}
