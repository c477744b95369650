package dedupe

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/semel-dev/semel/internal/texts"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/schema/catalog"
	"github.com/semel-dev/semel/schema/internal/plan"
)

const (
	planVersion = 3
	// slowRows is the number of rows from which a reference without an index is refused: each batch would read them all.
	slowRows   = 100_000
	maxSamples = 5
	maxPlan    = 16 << 20
)

// Plan says what a run will do, and names the database and schema for which it is right.
type Plan struct {
	Version  int     `json:"version"`
	Dialect  string  `json:"dialect"`
	Database string  `json:"database"`
	Request  Request `json:"request"`
	Rule     Rule    `json:"rule"`
	// Groups and Losers count the duplicates at the time of the plan.
	Groups int64 `json:"groups"`
	Losers int64 `json:"losers"`
	// Children are the tables that refer to losers.
	Children []Child `json:"children,omitempty"`
	// Collisions are the unique keys of children in which rows meet.
	Collisions []Collision `json:"collisions,omitempty"`
	// Triggers fire, or hide rows; Suspects may refer to losers without the database knowing; Notes are remarks.
	Triggers []string `json:"triggers,omitempty"`
	Suspects []string `json:"suspects,omitempty"`
	Notes    []string `json:"notes,omitempty"`
	// Samples are the first groups: the key of the winner, then of its losers.
	Samples [][]string `json:"samples,omitempty"`
	// Differences are the columns in which the rows of each sample differ. The file does not have them.
	Differences [][]Difference `json:"-"`
	// Questions counts those that a person has to answer; their groups are left as they are until then. Open are the first ones.
	Questions int64      `json:"questions,omitempty"`
	Open      []Question `json:"-"`
	// AskedGroups and AskedLosers count the duplicates that these questions hold back.
	AskedGroups int64 `json:"-"`
	AskedLosers int64 `json:"-"`
	// Schema describes what the plan relies on.
	Schema []string `json:"schema"`
}

// Child is a reference to rows that are merged.
type Child struct {
	Table   string `json:"table"`
	Columns string `json:"columns"`
	Parent  string `json:"parent"`
	// Rows counts those that refer to losers of the table with the duplicates; -1 for references to other tables.
	Rows int64 `json:"rows"`
}

// Collision is a unique key of a child with rows that it makes the same, or of which it allows one.
type Collision struct {
	Table string `json:"table"`
	Key   string `json:"key"`
	// Rows counts those that are not alone in their place any more, without the ones that keep it. Others may follow from them.
	Rows int64 `json:"rows"`
	// Does says what happens to them.
	Does string `json:"does"`
	// Sample is the key of a row that keeps its place, and that of another.
	Sample []string `json:"sample,omitempty"`
	// Differences are the columns in which these two differ. The file does not have them.
	Differences []Difference `json:"-"`
}

// Plan finds the duplicates of a rule and what merging them touches. It only reads. The request's table, terms and condition
// are taken from the rule.
func (d *Database) Plan(ctx context.Context, u *rules.Unique, q Request) (p *Plan, err error) {
	s, err := d.openSession(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	if err := q.check(); err != nil {
		return nil, refuse("%w", err)
	}
	schema, err := catalog.Read(ctx, d.DB, d.Dialect)
	if err != nil {
		return nil, err
	}
	if t, ok := schema.Table(u.Table); ok && q.Losers == markLosers {
		if err := keepsLosers(t); err != nil {
			return nil, refuse("%w", err)
		}
	}
	grouping, refused := plan.Group(schema, u)
	if refused != nil {
		return nil, refuse("%s (%s)", refused.Why, refused.Fix)
	}
	q.Index = cmp.Or(q.Index, grouping.Index)
	q.Name, q.Table, q.Terms, q.Where = u.Name, fullName(grouping.Table), grouping.Terms, grouping.Where
	q.Known = !slices.Contains(grouping.Nulls, true)
	found, err := s.survey(ctx, schema, &q)
	if err != nil {
		return nil, err
	}
	if found.tables[0].marks && !marks(u.Predicate()) {
		return nil, refuse("the rule %s counts merged rows, so that its index would still refuse them (add %q to its except:, or delete losers with --losers delete)", u.Name, mergedInto+" is set")
	}
	p = &Plan{Version: planVersion, Dialect: d.Dialect.String(), Request: q, Rule: ruleOf(u)}
	return p, s.complete(ctx, p, found)
}

// complete says what merging these rows touches.
func (s *dbSession) complete(ctx context.Context, p *Plan, found *site) (err error) {
	p.Schema, p.Triggers, p.Suspects = found.describe(), found.triggers, lines(found.suspects)
	if p.Database, err = s.identity(ctx, s); err != nil {
		return err
	}
	if err := s.measure(ctx, found, p); err != nil {
		return fmt.Errorf("look for duplicates: %w", s.written(err))
	}
	if err := s.collisions(ctx, found, p); err != nil {
		return fmt.Errorf("look for children that become the same: %w", s.written(err))
	}
	if err := s.try(ctx, found); err != nil {
		return err
	}
	if err := s.ask(ctx, found, p); err != nil {
		return err
	}
	return s.allow(ctx, found, p)
}

// try evaluates the expressions of policies and of children that yield over no rows.
func (s *dbSession) try(ctx context.Context, found *site) error {
	for _, t := range found.tables {
		for i, column := range t.sets() {
			value := t.yields.values[i]
			for _, query := range []string{"SELECT " + value, "SELECT coalesce(t." + quote(column) + ", " + value + ") FROM " + t.path + " AS t WHERE 1 = 0"} { // no other column, and of its type
				if err := s.each(ctx, query, nil, func(*sql.Rows) error { return nil }); err != nil {
					return fmt.Errorf("child %s: %s: %w", t.name, column, s.written(err))
				}
			}
		}
	}
	for _, p := range found.policies {
		text, ok := strings.CutPrefix(p.kind, sqlPolicy)
		if !ok {
			continue
		}
		query := "SELECT count(*), " + text + " FROM " + pathOf(p.table) + " AS t WHERE 1 = 0"
		if err := s.each(ctx, query, nil, func(*sql.Rows) error { return nil }); err != nil {
			return fmt.Errorf("column %s of %s: %w", p.column, p.table, s.written(err))
		}
	}
	return nil
}

// allow refuses what would be slow, or fire what it must not.
func (s *dbSession) allow(ctx context.Context, found *site, p *Plan) error {
	if p.Losers == 0 {
		return nil
	}
	if err := found.undeclared(); err != nil {
		return err
	}
	if len(found.triggers) > 0 && !p.Request.Triggers {
		return refuse("a merge would meet %s (allow it with --triggers; triggers can test %s)", strings.Join(found.triggers, ", "), s.runOf())
	}
	for _, e := range found.edges {
		if e.indexed(s.Dialect) {
			continue
		}
		rows := e.child.catalog.Rows
		if rows < 0 { // the server has no estimate: count as far as it matters
			if err := s.one(ctx, "SELECT count(*) FROM (SELECT 1 AS one FROM "+e.child.path+" LIMIT "+strconv.Itoa(slowRows)+") AS t", nil, &rows); err != nil {
				return err
			}
		}
		if rows >= slowRows {
			return refuse("no index begins with %s of %s, of which each batch would read all rows, at least %d (CREATE INDEX on %s (%s), where the database can CONCURRENTLY)",
				strings.Join(e.cols, ", "), e.child.name, rows, e.child.path, list(texts.Of(e.cols, quote)))
		}
	}
	return nil
}

// measure counts the duplicates and what refers to them.
func (s *dbSession) measure(ctx context.Context, found *site, p *Plan) error {
	root := found.tables[0]
	n := len(root.id)
	w := numbered("d", "w", n)
	counts := []string{"(SELECT count(*) FROM d)", "(SELECT count(*) FROM (SELECT DISTINCT " + list(w) + " FROM d) AS g)"}
	into := []any{&p.Losers, &p.Groups}
	for _, e := range found.edges {
		p.Children = append(p.Children, Child{Table: e.child.name, Columns: strings.Join(e.cols, ", "), Parent: e.parent.name, Rows: -1})
	}
	for i, e := range found.edges {
		if e.parent != root {
			continue
		}
		counts = append(counts, "(SELECT count(*) FROM d JOIN "+root.path+" AS r ON "+equal(of("r", root.id), numbered("d", "l", n))+" JOIN "+e.rows()+" AS c ON "+e.refers("r", "c")+e.alive("c")+")")
		into = append(into, &p.Children[i].Rows)
	}
	if err := s.one(ctx, "WITH d AS "+s.once()+"("+found.losers()+") SELECT "+strings.Join(counts, ", "), nil, into...); err != nil {
		return err
	}
	for _, e := range found.edges {
		if !e.indexed(found.dialect) {
			join(&p.Notes, []string{fmt.Sprintf("no index begins with %s of %s: each batch reads the whole table", strings.Join(e.cols, ", "), e.child.name)})
		}
	}
	for _, t := range found.tables {
		if t.catalog.Kind == catalog.Partitioned {
			p.Notes = append(p.Notes, t.name+" is partitioned: a unique index on it has to hold "+strings.Join(t.catalog.PartitionBy, ", "))
		}
	}
	return s.sample(ctx, found, p)
}

// sample reads the first losers of the first groups.
func (s *dbSession) sample(ctx context.Context, found *site, p *Plan) error {
	root := found.tables[0]
	w, l := numbered("d", "w", len(root.id)), numbered("d", "l", len(root.id))
	rows := "SELECT " + root.key(w) + " AS winner, " + root.key(l) + " AS loser, dense_rank() OVER (ORDER BY " + list(w) + ") AS grp, row_number() OVER (PARTITION BY " + list(w) + " ORDER BY " + list(l) + ") AS place FROM (" +
		found.losers() + ") AS d"
	query := "SELECT winner, loser FROM (" + rows + ") AS g WHERE grp <= " + strconv.Itoa(maxSamples) + " AND place <= " + strconv.Itoa(maxSamples) + " ORDER BY grp, place"
	var keys [][]string
	err := s.each(ctx, query, nil, func(rows *sql.Rows) error {
		var winner, loser string
		err := rows.Scan(&winner, &loser)
		if last := len(p.Samples) - 1; last >= 0 && p.Samples[last][0] == winner {
			p.Samples[last][1] += " " + loser
			keys[last] = append(keys[last], loser)
		} else {
			p.Samples = append(p.Samples, []string{winner, loser})
			keys = append(keys, []string{winner, loser})
		}
		return err
	})
	for i := 0; i < len(keys) && err == nil; i++ {
		var one []Difference
		one, err = s.differences(ctx, root, keys[i])
		p.Differences = append(p.Differences, one)
	}
	return err
}

// ReadPlan reads the file of a plan. An error means that it is not one, or [ErrVersion].
func ReadPlan(name string) (*Plan, error) {
	file, err := os.Open(name) //nolint:gosec // named by the operator.
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%w (make a plan with: semel dedupe plan)", err)
	}
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it was only read.
	if info, err := file.Stat(); err == nil && info.Size() > maxPlan {
		return nil, fmt.Errorf("%s has %d bytes, too many for a plan", name, info.Size())
	}
	text, err := io.ReadAll(io.LimitReader(file, maxPlan))
	if err != nil {
		return nil, err
	}
	var kind struct {
		Version int
		Dialect string
		Request json.RawMessage
	}
	if json.Unmarshal(text, &kind) == nil && kind.Version != planVersion && kind.Dialect != "" && kind.Request != nil {
		return nil, fmt.Errorf("%s: %w: it is %d, this program reads %d (plan again: semel dedupe plan, with the same flags)", name, ErrVersion, kind.Version, planVersion)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	p := &Plan{}
	if err := decoder.Decode(p); err != nil {
		return nil, fmt.Errorf("%s is not a plan (make one with: semel dedupe plan): %w", name, err)
	}
	if p.Version != planVersion {
		return nil, fmt.Errorf("%s is not a plan: it lacks a version, a dialect or a request (make one with: semel dedupe plan)", name)
	}
	return p, p.Request.check()
}
