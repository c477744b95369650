package pgstore

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/listing"
	"github.com/semel-dev/semel/store/internal/verb"
)

// List implements [semel.Lister]. It reads an index backwards from the cursor,
// over at most as many rows as it may look at.
func (s *Store) List(ctx context.Context, p semel.ListParams) (page semel.ListPage, err error) {
	table := listing.Table{
		Count: func(before, lowest semel.Fence, n int) (count int, last semel.Fence, err error) {
			// Planned for these bounds, not for any.
			row := s.pool.QueryRow(ctx, s.sql["list_count"], pgx.QueryExecModeExec, verb.Column(before), verb.Column(lowest), n)
			return count, last, row.Scan(&count, &last)
		},
		Read: func(p *semel.ListParams, before, lowest semel.Fence) ([]semel.Record, error) {
			return s.list(ctx, p, before, lowest)
		},
	}
	err = s.step(ctx, "list", func() (err error) {
		page, err = table.List(&p)
		return err
	})
	return page, err
}

func (s *Store) list(ctx context.Context, p *semel.ListParams, before, lowest semel.Fence) ([]semel.Record, error) {
	if !isText(p.Scope) || !isText(p.Name) {
		return nil, nil // no record has it
	}
	states := make([]string, len(p.States))
	for i, state := range p.States {
		states[i] = state.String()
	}
	rows, err := s.pool.Query(ctx, s.sql["list"], pgx.QueryExecModeExec,
		verb.Column(before), p.Scope, p.Name, states, p.Outcomes, p.Limit, verb.Column(lowest))
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
