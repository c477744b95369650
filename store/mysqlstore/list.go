package mysqlstore

import (
	"context"
	"database/sql"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/listing"
	"github.com/semel-dev/semel/store/internal/verb"
)

// List implements [semel.Lister]. It reads the table backwards from the cursor,
// over at most as many rows as it may look at.
func (s *Store) List(ctx context.Context, p semel.ListParams) (semel.ListPage, error) {
	if err := s.gate.Enter("list", verb.Reads); err != nil {
		return semel.ListPage{}, err
	}
	defer s.gate.Leave()
	table := listing.Table{
		Count: func(before, lowest semel.Fence, n int) (count int, last semel.Fence, err error) {
			err = s.stmts.each(ctx, nil, "list_count", 1, []any{uint64(before), uint64(lowest), n}, func(rows *sql.Rows) error {
				return rows.Scan(&count, &last)
			})
			return count, last, err
		},
		Read: func(p *semel.ListParams, before, lowest semel.Fence) ([]semel.Record, error) {
			return s.list(ctx, p, before, lowest)
		},
	}
	page, err := table.List(&p)
	if err != nil {
		return semel.ListPage{}, translate("list", err)
	}
	return page, nil
}

func (s *Store) list(ctx context.Context, p *semel.ListParams, before, lowest semel.Fence) (recs []semel.Record, err error) {
	name := "list"
	if p.Outcomes {
		name = "list_outcomes"
	}
	scope, key, states := []byte(p.Scope), []byte(p.Name), []byte(verb.Words(p.States))
	args := []any{uint64(before), uint64(lowest), scope, scope, key, key, states, states, p.Limit}
	err = s.stmts.each(ctx, nil, name, 1, args, func(rows *sql.Rows) error {
		rec, err := readRecord(rows)
		if !p.Outcomes {
			rec.Outcome = nil
		}
		recs = append(recs, rec)
		return err
	})
	return recs, err
}
