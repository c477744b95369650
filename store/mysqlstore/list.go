package mysqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"strings"

	"github.com/semel-dev/semel"
)

// List implements [semel.Lister]. It reads the table backwards from the
// cursor, so the newest records cost the same however many there are; a
// filter that few records pass reads until it has found them or ctx ends.
func (s *Store) List(ctx context.Context, p semel.ListParams) ([]semel.Record, error) {
	if p.Limit < 0 || p.Limit > semel.MaxListLimit {
		return nil, fmt.Errorf("mysqlstore: list limit %d is not between 0 and %d", p.Limit, semel.MaxListLimit)
	}
	if p.Limit == 0 {
		p.Limit = semel.MaxListLimit
	}
	before := uint64(p.Before)
	if before == 0 {
		before = math.MaxUint64
	}
	if err := s.begin(); err != nil {
		return nil, err
	}
	defer s.end()
	name := "list"
	if p.Outcomes {
		name = "list_outcomes"
	}
	scope, key, states := []byte(p.Scope), []byte(p.Name), []byte(words(p.States))
	var recs []semel.Record
	args := []any{before, scope, scope, key, key, states, states, p.Limit}
	err := s.stmts.each(ctx, nil, name, 1, args, func(rows *sql.Rows) error {
		rec, err := readRecord(rows)
		if !p.Outcomes {
			rec.Outcome = nil
		}
		recs = append(recs, rec)
		return err
	})
	if err != nil {
		return nil, translate("list", err)
	}
	return recs, nil
}

// words lists the states the way list.sql looks for them.
func words(states []semel.State) string {
	if len(states) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteByte(',')
	for _, s := range states {
		b.WriteString(s.String())
		b.WriteByte(',')
	}
	return b.String()
}
