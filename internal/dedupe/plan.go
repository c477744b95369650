package dedupe

import (
	"bytes"
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

	"github.com/semel-dev/semel/internal/rules/catalog"
	"github.com/semel-dev/semel/internal/rules/plan"
	"github.com/semel-dev/semel/internal/texts"
	"github.com/semel-dev/semel/rules"
)

const (
	planVersion = 2
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
	// Merges says what happens to rows that become the same: "" where none can.
	Merges string `json:"merges,omitempty"`
	Policy string `json:"policy,omitempty"`
}

// Plan finds the duplicates of a rule and what merging them touches. It only reads. The request's table, terms and condition
// are taken from the rule.
func (d *Database) Plan(ctx context.Context, u *rules.Unique, q Request) (p *Plan, err error) {
	s, err := d.open(ctx)
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
	grouping, refused := plan.Group(schema, u)
	if refused != nil {
		return nil, refuse("%s (%s)", refused.Why, refused.Fix)
	}
	if q.Index == "" {
		q.Index = grouping.Index
	}
	q.Name, q.Table, q.Terms, q.Where = u.Name, fullName(grouping.Table), grouping.Terms, grouping.Where
	q.Known = !slices.Contains(grouping.Nulls, true)
	found, links, err := s.survey(ctx, schema, &q)
	if err != nil {
		return nil, err
	}
	if found.tables[0].marks && !marks(u.Predicate()) {
		return nil, refuse("the rule %s counts merged rows, so that its index would still refuse them (add %q to its except:, or delete losers with --losers delete)", u.Name, mergedInto+" is set")
	}
	p = &Plan{Version: planVersion, Dialect: d.Dialect.String(), Request: q, Rule: ruleOf(u)}
	return p, s.complete(ctx, p, schema, found, links)
}

// complete says what merging these rows touches.
func (s *session) complete(ctx context.Context, p *Plan, schema *catalog.Schema, found *site, links []link) (err error) {
	p.Schema, p.Triggers, p.Suspects = found.describe(), found.triggers, suspects(schema, links, found)
	if p.Database, err = s.identity(ctx, s); err != nil {
		return err
	}
	if err := s.measure(ctx, found, p); err != nil {
		return fmt.Errorf("look for duplicates: %w", s.written(err))
	}
	if err := s.try(ctx, found); err != nil {
		return err
	}
	if err := s.ask(ctx, found, p); err != nil {
		return err
	}
	return s.allow(ctx, found, p)
}

// try evaluates the expressions of policies over no rows.
func (s *session) try(ctx context.Context, found *site) error {
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
func (s *session) allow(ctx context.Context, found *site, p *Plan) error {
	if p.Losers == 0 {
		return nil
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
func (s *session) measure(ctx context.Context, found *site, p *Plan) error {
	root := found.tables[0]
	n := len(root.id)
	w := numbered("d", "w", n)
	counts := []string{"(SELECT count(*) FROM d)", "(SELECT count(*) FROM (SELECT DISTINCT " + list(w) + " FROM d) AS g)"}
	into := []any{&p.Losers, &p.Groups}
	for _, e := range found.edges {
		p.Children = append(p.Children, Child{Table: e.child.name, Columns: strings.Join(e.cols, ", "), Parent: e.parent.name, Rows: -1, Merges: e.child.merges()})
	}
	for i, e := range found.edges {
		if e.parent != root {
			continue
		}
		from := e.child.path
		if e.where != "" {
			from = "(SELECT * FROM " + from + " WHERE " + e.where + ")"
		}
		counts = append(counts, "(SELECT count(*) FROM d JOIN "+root.path+" AS r ON "+equal(of("r", root.id), numbered("d", "l", n))+" JOIN "+from+" AS c ON "+equal(of("c", e.cols), of("r", e.refs))+")")
		into = append(into, &p.Children[i].Rows)
	}
	if err := s.one(ctx, "WITH d AS "+s.once()+"("+found.losers()+") SELECT "+strings.Join(counts, ", "), nil, into...); err != nil {
		return err
	}
	for _, e := range found.edges {
		if !e.indexed(found.dialect) {
			p.Notes = append(p.Notes, fmt.Sprintf("no index begins with %s of %s: each batch reads the whole table", strings.Join(e.cols, ", "), e.child.name))
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
func (s *session) sample(ctx context.Context, found *site, p *Plan) error {
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

// merges says what happens to rows of the table that become the same.
func (t *table) merges() string {
	switch {
	case len(t.keys) == 0:
		return ""
	case t.marks:
		return "marked where " + strings.Join(texts.Of(t.keys, func(k *key) string { return k.name }), ", ") + " collides"
	}
	return "deleted, and kept in the audit, where " + strings.Join(texts.Of(t.keys, func(k *key) string { return k.name }), ", ") + " collides"
}

// suspects lists columns that look like references to the table but are not known to be.
func suspects(schema *catalog.Schema, links []link, found *site) []string {
	root := found.tables[0]
	one := strings.TrimSuffix(root.catalog.Name, "s")
	var all []string
	for i := range schema.Tables {
		t := &schema.Tables[i]
		if t.Kind == catalog.View || t.Kind == catalog.Partition || strings.HasPrefix(t.Name, "semel_dedupe_") {
			continue
		}
		for _, c := range t.Columns {
			why := ""
			base := strings.TrimSuffix(c.Name, "_id")
			_, polymorphic := t.Column(base + "_type")
			switch {
			case linked(links, found, fullName(t), c.Name), t.Kind == catalog.Foreign, fullName(t) == root.name && strings.HasPrefix(c.Name, "merge"):
			case polymorphic && base != c.Name:
				why = "next to " + base + "_type, it may refer to rows of several tables"
			case strings.HasPrefix(c.Name, one) && (strings.HasSuffix(c.Name, "_ids") || strings.HasSuffix(c.Type, "[]")):
				why = "a list of references, which a merge does not change"
			case c.Name == one+"_id" || c.Name == root.catalog.Name+"_id":
				why = "named like a reference, without a foreign key"
			}
			if why != "" {
				all = append(all, fmt.Sprintf("%s.%s: %s", fullName(t), c.Name, why))
			}
		}
	}
	return all
}

func linked(links []link, found *site, table, column string) bool {
	for _, l := range links {
		if l.child == table && len(overlap(l.cols, []string{column})) > 0 {
			return true
		}
	}
	for _, e := range found.edges {
		if e.child.name == table && len(overlap(e.cols, []string{column})) > 0 {
			return true
		}
	}
	return false
}

// ReadPlan reads the file of a plan. An error means that it is not one, or [ErrVersion].
func ReadPlan(name string) (*Plan, error) {
	file, err := os.Open(name) //nolint:gosec // named by the operator.
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
		return nil, fmt.Errorf("%s is %w %d, and this program reads version %d (plan again)", name, ErrVersion, kind.Version, planVersion)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	p := &Plan{}
	if err := decoder.Decode(p); err != nil {
		return nil, fmt.Errorf("%s is not a plan of semel dedupe: %w", name, err)
	}
	if p.Version != planVersion {
		return nil, fmt.Errorf("%s is not a plan of semel dedupe: it lacks a version, a dialect or a request", name)
	}
	return p, p.Request.check()
}
