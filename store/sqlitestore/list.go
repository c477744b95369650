package sqlitestore

import (
	"context"
	"database/sql/driver"
	_ "embed"
	"fmt"
	"math"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/sqlitestore/internal/record"
)

//go:embed sql/list.sql
var listSQL string

// List implements [semel.Lister]. It reads the table backwards from the
// cursor, so the newest records cost the same however many there are; a
// filter that few records pass reads until it has found them or ctx ends.
func (s *Store) List(ctx context.Context, p semel.ListParams) ([]semel.Record, error) {
	if p.Limit < 0 || p.Limit > semel.MaxListLimit {
		return nil, fmt.Errorf("sqlitestore: list limit %d is not between 0 and %d", p.Limit, semel.MaxListLimit)
	}
	if p.Limit == 0 {
		p.Limit = semel.MaxListLimit
	}
	before := record.Column(p.Before)
	if before == 0 {
		before = math.MaxInt64
	}
	var recs []semel.Record
	err := s.read(ctx, "list", func(r *reader) error {
		now, err := s.readNow(ctx, r)
		if err != nil {
			return err
		}
		return r.list.each(ctx, func(row []driver.Value) error {
			rec, err := readRecord(row, now)
			if !p.Outcomes {
				rec.Outcome = nil
			}
			recs = append(recs, rec)
			return err
		}, now, before, p.Scope, p.Name, record.Words(p.States), p.Outcomes, int64(p.Limit))
	})
	if err != nil {
		return nil, err
	}
	return recs, nil
}
