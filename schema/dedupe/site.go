package dedupe

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/rules/expression"
	"github.com/semel-dev/semel/internal/texts"
	"github.com/semel-dev/semel/schema/catalog"
	"github.com/semel-dev/semel/schema/internal/serversql"
)

// site is the part of a database that a merge touches: the table with the duplicates, and what hangs on it.
type site struct {
	dialect dialect.Dialect
	request *Request
	// tables begins with the table of the request; the others follow those that they refer to.
	tables []*table
	edges  []*edge
	// rounds says that the collisions of one round may cause more.
	rounds bool
	// links are the foreign keys of the application.
	links []link
	// triggers are those that fire, and what else reacts to rows.
	triggers []string
	// hashed says that a join finds the rows of each group.
	hashed bool
	// suspects may refer to rows that are merged without the database knowing.
	suspects []suspect
	// policies are those of the request, with the full names of their tables.
	policies []policy
}

// table is a table of a site.
type table struct {
	engine

	number  int
	catalog *catalog.Table
	name    string // schema.name
	path    string // in SQL
	// id are the columns that identify a row.
	id []string
	// keys are the unique keys in which rows can collide when their references move.
	keys []*key
	// deep says that rows of it can be merged or change their keys; of others, only references change.
	deep bool
	// marks says that merged rows stay, with the winner in merged_into.
	marks bool
	// leaves says that it refers to rows that are deleted.
	leaves bool
	// moves are the columns that references change, refs those that other rows refer to.
	moves, refs []string
	// fills are the columns of winners that policies change.
	fills []policy
	// yields says what happens to rows of which a parent may have one; nil refuses their groups.
	yields *yielding
	// checks are the columns whose sums must not change; "" is the number of rows.
	checks []string
}

// edge is a reference from one table to another: a foreign key, or a declared one.
type edge struct {
	name          string
	child, parent *table
	cols, refs    []string
	where         string // of a declared reference
	casts         []string
}

// key is a unique key of a table.
type key struct {
	name  string
	parts []string // SQL
	where string
	moves []string // its columns that references change
	// seen are all columns that it reads; nil where an expression may read any.
	seen []string
	// nullsSame says that NULL equals NULL.
	nullsSame bool
	// alone says that the key holds no more than a reference: two rows that it makes the same need not be.
	alone bool
}

// columns are those that a merge has to know of a row: its identity first.
func (t *table) columns() []string {
	all := t.changing()
	if name := t.created(); t.aged() && name != "" {
		join(&all, []string{name})
	}
	for _, k := range t.keys {
		join(&all, k.seen)
	}
	return all
}

// changing are the columns by which a merge changes rows: the identity, references, those that are referred to, policies.
func (t *table) changing() []string {
	all := slices.Clone(t.id)
	join(&all, slices.Concat(t.moves, t.refs, texts.Of(t.fills, func(p policy) string { return p.column }), t.sets()))
	return all
}

func (t *table) nullable(column string) bool {
	c, ok := t.catalog.Column(column)
	return ok && c.Nullable
}

// stored are the columns whose values a row keeps.
func (t *table) stored() []string {
	var names []string
	for _, c := range t.catalog.Columns {
		if c.Generated == "" {
			names = append(names, c.Name)
		}
	}
	return names
}

// overlap returns the names that both lists have.
func overlap(a, b []string) []string {
	var both []string
	for _, name := range a {
		if slices.Contains(b, name) {
			both = append(both, name)
		}
	}
	return both
}

func join[T comparable](into *[]T, names []T) {
	for _, name := range names {
		if !slices.Contains(*into, name) {
			*into = append(*into, name)
		}
	}
}

// surveyor makes a site of what a catalogue says.
type surveyor struct {
	schema *catalog.Schema
	engine engine
	links  []link
	site   *site
	byName map[string]*table
	root   *table
	// yielding holds the declarations of the request about children, by the names of their tables.
	yielding map[string]*yielding
}

func fullName(t *catalog.Table) string { return t.Schema + "." + t.Name }

// find returns the table of a name, qualified or not.
func (v *surveyor) find(name string) (*catalog.Table, error) {
	t, ok := v.schema.Table(name)
	if !ok {
		return nil, v.schema.NoTable(name)
	}
	return t, nil
}

// survey collects the tables that a merge touches.
func survey(schema *catalog.Schema, e engine, links []link, q *Request) (*site, error) {
	v := &surveyor{schema: schema, engine: e, links: links, site: &site{dialect: schema.Dialect, request: q, links: links}, byName: map[string]*table{}, yielding: map[string]*yielding{}}
	if err := v.yields(); err != nil {
		return nil, err
	}
	found, err := v.find(q.Table)
	if err != nil {
		return nil, err
	}
	root, err := v.table(fullName(found))
	if err != nil {
		return nil, err
	}
	if err := v.declare(root); err != nil {
		return nil, err
	}
	root.deep = true
	if err := v.losers(root); err != nil {
		return nil, err
	}
	for grown := true; grown; {
		if grown, err = v.grow(); err != nil {
			return nil, err
		}
	}
	v.order()
	if err := v.checkYields(); err != nil {
		return nil, err
	}
	if err := v.fills(); err != nil {
		return nil, err
	}
	if err := v.checks(); err != nil {
		return nil, err
	}
	for _, t := range v.site.tables {
		for _, c := range t.catalog.Columns {
			if word, ours := strings.CutPrefix(strings.ToLower(c.Name), "semel_"); ours && !strings.Contains(word, "_") { // that of an index has its number
				return nil, fmt.Errorf("column %s of %s has a name as the statements of a merge give them to columns of their own (rename the column)", c.Name, t.name)
			}
		}
	}
	v.site.suspects, err = v.suspects(links)
	return v.site, err
}

// table returns a table of the site, and adds it first where it is new.
func (v *surveyor) table(name string) (*table, error) {
	if t := v.byName[name]; t != nil {
		return t, nil
	}
	i := slices.IndexFunc(v.schema.Tables, func(t catalog.Table) bool { return fullName(&t) == name })
	if i < 0 {
		return nil, fmt.Errorf("the table %s is gone, or cannot be read by this user", name)
	}
	c := &v.schema.Tables[i]
	if c.Kind == catalog.View || c.Kind == catalog.Foreign || len(c.Children) > 0 {
		return nil, fmt.Errorf("%s is a view, a foreign table or has tables that inherit from it: its rows cannot be merged", name)
	}
	if !c.Transactional() {
		return nil, fmt.Errorf("%s is kept by %s, which has no transactions (ALTER TABLE … ENGINE = InnoDB)", name, c.Engine)
	}
	odd := slices.IndexFunc(c.Columns, func(c catalog.Column) bool { return strings.ContainsAny(c.Name, `"\`) })
	if odd >= 0 && v.schema.Dialect != dialect.PostgreSQL {
		return nil, fmt.Errorf("column %s of %s: an undo cannot read its values back from JSON, because its name has a quotation mark or a backslash (rename the column)", c.Columns[odd].Name, name)
	}
	t := &table{engine: v.engine, catalog: c, name: name, path: quote(c.Schema) + "." + quote(c.Name), id: identity(c)}
	if t.id == nil {
		return nil, fmt.Errorf("the table %s has no primary key, and no unique key without NULL: its rows cannot be recorded (add a primary key)", name)
	}
	t.yields = v.yielding[name]
	v.byName[name] = t
	v.site.tables = append(v.site.tables, t)
	return t, nil
}

// identity returns the columns that name a row, or nil.
func identity(c *catalog.Table) []string {
	if id := c.PrimaryKey(); id != nil {
		return id
	}
	for i := range c.Indexes {
		x := &c.Indexes[i]
		names := texts.Of(x.Parts, func(p catalog.Part) string { return p.Column })
		if x.Unique && x.Valid && x.Where == "" && !x.Exclusion && !slices.ContainsFunc(x.Parts, func(p catalog.Part) bool { return p.Prefix > 0 }) && !slices.Contains(names, "") && len(c.Nullable(names)) == 0 {
			return names
		}
	}
	return nil
}

// losers settles what happens to losers.
func (v *surveyor) losers(root *table) error {
	if v.site.request.Losers == deleteLosers {
		return nil
	}
	root.marks = true
	if err := keepsLosers(root.catalog); err != nil {
		return err
	}
	if len(root.id) != 1 {
		return fmt.Errorf("%s has a primary key of %d columns, which %s cannot hold (delete losers with --losers delete)", root.name, len(root.id), mergedInto)
	}
	return nil
}

// keepsLosers reports that a table lacks the column that marks a loser.
func keepsLosers(t *catalog.Table) error {
	if _, ok := t.Column(mergedInto); ok {
		return nil
	}
	kind := "that of the primary key"
	if id := identity(t); len(id) > 0 {
		c, _ := t.Column(id[0])
		kind = c.Type
	}
	return fmt.Errorf("%s has no column %s for the winner of a merged row (add %s of the type %s, and %s and %s if they help; or delete losers with --losers delete)",
		fullName(t), mergedInto, mergedInto, kind, mergedAt, mergeRun)
}

// grow adds what refers to deep tables; it reports whether there was anything.
func (v *surveyor) grow() (bool, error) {
	grown := false
	for _, l := range v.links {
		parent := v.byName[l.parent]
		if parent == nil || !parent.deep || slices.ContainsFunc(v.site.edges, func(e *edge) bool { return e.name == l.name && e.child.name == l.child }) {
			continue
		}
		if parent.marks && l.child == l.parent && slices.Equal(l.cols, []string{mergedInto}) {
			continue // a merged row keeps the winner of its time
		}
		child, err := v.table(l.child)
		if err != nil {
			return false, fmt.Errorf("%s refers to %s: %w", l.child, l.parent, err)
		}
		for _, name := range l.refs {
			if parent.nullable(name) && !slices.Contains(parent.catalog.PrimaryKey(), name) { // those of SQLite are nullable
				return false, fmt.Errorf("%s refers to the column %s of %s, which may be NULL (make it NOT NULL)", l.child, name, l.parent)
			}
		}
		v.site.edges = append(v.site.edges, &edge{l.name, child, parent, l.cols, l.refs, l.where, l.casts})
		join(&child.moves, l.cols)
		join(&parent.refs, l.refs)
		grown = true
	}
	for _, t := range v.site.tables {
		before := t.deep
		v.deepen(t)
		grown = grown || t.deep != before
	}
	return grown, nil
}

// live reports whether merged rows of the child keep their references: the rows that these name are there still.
func (e *edge) live() bool { return e.child.marks && !e.child.leaves }

// indexed reports whether an index that has the rows begins with the columns of the reference.
func (e *edge) indexed(d dialect.Dialect) bool {
	return strings.Join(e.casts, "") == "" && slices.ContainsFunc(e.child.catalog.Indexes, func(x catalog.Index) bool {
		if x.Where != "" {
			p, ok := serversql.Predicate(d, x.Where)
			if !ok || !e.live() || len(p) != 1 || !marks(p) {
				return false
			}
		}
		return x.Valid && len(x.Parts) >= len(e.cols) && !slices.ContainsFunc(x.Parts[:len(e.cols)], func(p catalog.Part) bool { return !slices.Contains(e.cols, p.Column) })
	})
}

// deepen finds out whether rows of a table can collide or change their keys.
func (v *surveyor) deepen(t *table) {
	t.keys = nil
	marked := true
	for i := range t.catalog.Indexes {
		x := &t.catalog.Indexes[i]
		if !x.Unique || x.Exclusion || !x.Valid || x.Root != "" && t.catalog.Kind == catalog.Partition {
			continue
		}
		k := &key{name: cmp.Or(x.Name, "PRIMARY KEY"), where: x.Where, nullsSame: x.NullsNotDistinct}
		for _, p := range x.Parts {
			join(&k.moves, t.movesOf(&p))
			k.parts = append(k.parts, t.part(&p))
		}
		if len(k.moves) == 0 {
			continue
		}
		k.seen, k.alone = t.seen(v.schema.Dialect, x), v.alone(t, x)
		t.keys = append(t.keys, k)
		marked = marked && t.leavesOut(v.schema.Dialect, x)
	}
	if t.number == 0 && t == v.site.tables[0] {
		return
	}
	_, has := t.catalog.Column(mergedInto)
	t.marks = has && marked && len(t.keys) > 0 && len(t.id) == 1 && len(overlap(t.id, t.moves)) == 0
	t.deep = t.collides()
}

// seen returns the columns that a unique index reads, or nil.
func (t *table) seen(d dialect.Dialect, x *catalog.Index) (names []string) {
	for i := range x.Parts {
		if x.Parts[i].Column == "" || t.computed(&x.Parts[i]) != "" {
			return nil
		}
		join(&names, []string{x.Parts[i].Column})
	}
	if x.Where == "" {
		return names
	}
	where, ok := serversql.Predicate(d, x.Where)
	if !ok {
		return nil
	}
	join(&names, texts.Of(where, func(c expression.Condition) string { return c.Column }))
	return names
}

// computed is the expression of a part that references, marks or yielding change: its own, or that of a generated column.
func (t *table) computed(p *catalog.Part) string {
	if p.Column == "" {
		return p.Expression
	}
	if c := t.column(p.Column); slices.ContainsFunc(slices.Concat(t.moves, t.sets(), []string{mergedInto}), func(name string) bool { return strings.Contains(c.Generated, name) }) {
		return c.Generated
	}
	return ""
}

// movesOf returns the columns of a part that references change: perhaps all, where it is an expression.
func (t *table) movesOf(p *catalog.Part) []string {
	text := t.computed(p)
	if text == "" {
		return overlap([]string{p.Column}, t.moves)
	}
	var named []string
	for _, name := range t.moves {
		if strings.Contains(text, name) {
			named = append(named, name)
		}
	}
	return named
}

func (t *table) part(p *catalog.Part) string {
	text := quote(p.Column)
	if computed := t.computed(p); computed != "" {
		text = "(" + computed + ")"
		if c := t.column(p.Column); p.Column != "" && c.Collation != "" {
			text = "(" + text + " COLLATE " + c.Collation + ")"
		}
	}
	if p.Prefix > 0 {
		text = "left(" + text + ", " + strconv.Itoa(p.Prefix) + ")"
	}
	if p.Collation != "" {
		text = "(" + text + " COLLATE " + p.Collation + ")"
	}
	return text
}

// leavesOut reports whether a unique index leaves out merged rows.
func (t *table) leavesOut(d dialect.Dialect, x *catalog.Index) bool {
	if p, ok := serversql.Predicate(d, x.Where); ok && marks(p) {
		return true
	}
	return slices.ContainsFunc(x.Parts, func(p catalog.Part) bool {
		_, _, counted := t.catalog.Compared(d, &p)
		return marks(counted)
	})
}

// order puts tables behind those that they refer to, and finds out whether one round is enough.
func (v *surveyor) order() {
	s := v.site
	var sorted []*table
	state := map[*table]int{} // 1 while its children are visited, 2 afterwards
	var visit func(t *table)
	visit = func(t *table) {
		state[t] = 1
		for _, e := range s.edges {
			switch {
			case e.parent != t:
			case state[e.child] == 0:
				visit(e.child)
			case state[e.child] == 1 && (e.child != t || t.collides()):
				s.rounds = true
			}
		}
		state[t] = 2
		sorted = append(sorted, t)
		s.rounds = s.rounds || len(t.keys) > 1 || t.yields != nil
	}
	visit(s.tables[0])
	for _, t := range s.tables { // tables that only others mention
		if state[t] == 0 {
			visit(t)
		}
	}
	slices.Reverse(sorted)
	s.tables = sorted
	for i, t := range sorted {
		t.number = i
	}
	for _, e := range s.edges {
		e.child.leaves = e.child.leaves || e.parent.deep && !e.parent.marks
	}
}

// collides reports whether moved references can merge rows of the table, or change their keys.
func (t *table) collides() bool {
	return t.merges() || len(overlap(slices.Concat(t.id, t.refs), t.moves)) > 0
}
