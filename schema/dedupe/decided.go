package dedupe

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/internal/texts"
	"github.com/semel-dev/semel/schema/catalog"
	"github.com/semel-dev/semel/schema/dedupe/near"
)

// PlanDecided plans to merge the rows of a table that a person decided about. It only reads. A row that is not any more as the person
// saw it is refused.
func (d *Database) PlanDecided(ctx context.Context, table string, made *near.Decisions, q Request) (p *Plan, err error) {
	s, err := d.openSession(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	if err := q.check(); err != nil {
		return nil, refuse("%w", err)
	}
	if len(made.Groups) == 0 {
		return nil, refuse("the file has no decision: write keep at the row of a group that stays, and merge at those that are the same")
	}
	schema, err := catalog.Read(ctx, d.DB, d.Dialect)
	if err != nil {
		return nil, err
	}
	t, ok := schema.Table(table)
	if !ok {
		return nil, refuse("%w", schema.NoTable(table))
	}
	if err := made.Check(ctx, d.DB, d.Dialect, t); err != nil {
		return nil, refuse("%w", err)
	}
	q.Name, q.Table = t.Name, fullName(t)
	if q.Losers == markLosers {
		q.Where = quote(mergedInto) + " IS NULL"
	}
	found, err := s.survey(ctx, schema, &q)
	if err != nil {
		return nil, err
	}
	if q.Decided, err = s.resolve(ctx, found.tables[0], made); err != nil {
		return nil, err
	}
	p = &Plan{Version: planVersion, Dialect: d.Dialect.String(), Request: q}
	return p, s.complete(ctx, p, found)
}

// resolve finds the keys of the rows as a run names them.
func (s *dbSession) resolve(ctx context.Context, root *table, made *near.Decisions) ([][2]string, error) {
	keys := map[string]string{}
	shown := texts.Of(root.catalog.PrimaryKey(), func(name string) string { return near.Text(s.Dialect, "t", name) })
	err := s.each(ctx, "SELECT "+list([]string{root.key(of("t", root.id))}, shown)+" FROM "+root.path+" AS t", nil, func(rows *sql.Rows) error {
		parts := make([]string, 1+len(shown))
		into := make([]any, len(parts))
		for i := range parts {
			into[i] = &parts[i]
		}
		err := rows.Scan(into...)
		if name := strings.Join(parts[1:], "\x00"); err == nil && made.About(parts[1:]) {
			keys[name] = parts[0]
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look for the rows of decisions: %w", s.explain(err))
	}
	var all [][2]string
	for _, g := range made.Groups {
		for _, l := range g.Losers {
			all = append(all, [2]string{keys[strings.Join(g.Winner.Key, "\x00")], keys[strings.Join(l.Key, "\x00")]})
		}
	}
	return all, nil
}

// pairList is a JSON list of pairs of keys.
func pairList(pairs [][2]string) string {
	return string(must.Get(json.Marshal(pairs))) // texts have no values that JSON lacks
}

// decided selects what losers selects, for rows that a person decided about.
func (s *site) decided() string {
	root := s.tables[0]
	return "SELECT " + list(as(root.unkey("p.l"), "l"), as(root.unkey("p.w"), "w")) + " FROM (" + root.pairs(pairList(s.request.Decided)) + ") AS p"
}
