package judge

import (
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/lint/internal/schema"
	"github.com/semel-dev/semel/lint/internal/tree"
)

// insertion is an INSERT that is being judged.
type insertion struct {
	*tree.Insert

	t     *target
	rows  []map[string]tree.Expr // the values by column; one for a query
	query bool                   // the row is that of a query
}

// insert judges INSERT: a second row must be refused, or never be selected again.
func (j *judge) insert(in *tree.Insert) Judgement {
	res := j.within(in.With)
	t, _, why := j.behind(in.Table, in.As, nil, nil)
	i := &insertion{Insert: in, t: t}
	if why != "" {
		res = worse(res, judged(CannotTell, UnknownTable, why))
	}
	if fed, ok := j.fed(in); ok {
		return worse(res, worse(fed, j.unfed(in, t)))
	}
	if t.table == nil {
		return res
	}
	if in.Columns == nil && j.isView(in.Table) {
		return worse(res, judged(CannotTell, Unproven, "the columns of the view are in an order of its own"))
	}
	if why := i.spread(); why != "" {
		return worse(res, judged(CannotTell, Unproven, why))
	}
	t.one = !i.query && len(i.rows) == 1
	fired := j.triggers(t, onInsert)
	i.overridden()
	res = worse(worse(res, j.leftOut(i)), j.returned(in.Returning))
	if in.Ignore || in.Conflict != nil { // a second run evaluates the values and is not refused
		res = worse(res, j.quiet(i))
	}
	res = worse(res, worse(fired.whenOnce, j.source(i)))
	if in.Ignore && j.dialect == dialect.MySQL && (i.query || len(i.rows) > 1) && i.refersToItself() {
		res = worse(res, judged(CannotTell, Cascades, "IGNORE leaves out rows whose parent is inserted after them: the next run inserts those"))
	}
	switch {
	case in.Replace:
		return worse(worse(res, fired.always), j.replace(i))
	case in.Conflict != nil && !in.Conflict.Nothing:
		return worse(worse(res, fired.upserts), j.upsert(i))
	}
	covered := j.covered(i)
	if covered.Verdict == Safe && (in.Ignore || in.Conflict != nil) {
		res = worse(res, fired.upserts) // those before the row have done their work
	}
	return worse(res, covered)
}

// unfed judges what else an INSERT does whose second run has no rows.
func (j *judge) unfed(in *tree.Insert, t *target) Judgement {
	res := worse(j.triggers(t, onInsert).whenOnce, j.returned(in.Returning))
	c := in.Conflict
	if c == nil {
		return res
	}
	for _, a := range c.Set {
		t.assign(strings.ToLower(a.Column), a.Value, a.Of)
	}
	if f := j.effectsOf(c.If); f.acts || f.stranger {
		res = worse(res, f.judgement())
	}
	return worse(res, worse(j.triggers(t, onUpdate).whenOnce, j.quietly(t)))
}

// quiet judges whether evaluating the values and the defaults of the rows changes nothing.
func (j *judge) quiet(i *insertion) Judgement {
	res := judged(Safe, PlainValues, "")
	res.Once = true
	for _, row := range i.rows {
		for _, def := range i.t.table.Columns {
			e := row[strings.ToLower(def.Name)]
			if _, byDefault := e.(*tree.Default); e == nil || byDefault {
				e = def.Default
			}
			res = worse(res, j.evaluated(e))
		}
	}
	return res
}

// refersToItself reports whether the table has a foreign key to itself.
func (i *insertion) refersToItself() bool {
	return slices.ContainsFunc(i.t.table.Foreign, func(f *tree.Foreign) bool { return strings.EqualFold(f.Table.Name, i.t.table.Name.Name) })
}

func (j *judge) isView(name tree.Name) bool {
	t := j.schema.Table(name)
	return t != nil && t.View != nil
}

// fed judges an INSERT from the rows that a common table expression deleted, or changed, once.
func (j *judge) fed(in *tree.Insert) (_ Judgement, ok bool) {
	s := in.Source
	if s == nil || s.SetOp != "" || len(s.With) > 0 || j.aggregated(s) {
		return Judgement{}, false
	}
	if effects := j.sourceEffects(s); !effects.pure() && (effects.acts || effects.stranger) {
		return Judgement{}, false
	}
	if one, ok := j.required(in); ok {
		return one, true
	}
	return j.emptiedAny(s.From)
}

// aggregated reports whether a query has a row even when it selects none.
func (j *judge) aggregated(s *tree.Select) bool {
	if len(s.GroupBy) > 0 { // by columns: ROLLUP, CUBE and GROUPING SETS have a row without any
		return slices.ContainsFunc(s.GroupBy, func(e tree.Expr) bool { _, ok := e.(*tree.Column); return !ok })
	}
	found := s.Having != nil
	look := func(e tree.Expr) bool {
		c, ok := e.(*tree.Call)
		found = found || ok && !c.Over && (orderless[c.Name] || ordered[c.Name] || others[c.Name] || j.effectOf(c) == stranger && j.schema.Routine(c.Name) == nil)
		return !found
	}
	for _, item := range s.Items {
		tree.Exprs(item.Expr, look)
	}
	for _, o := range s.OrderBy {
		tree.Exprs(o.Expr, look)
	}
	return found
}

// others are aggregates apart from orderless and ordered ones.
//
//nolint:gochecknoglobals // a constant.
var others = set("total percentile_cont percentile_disc rank dense_rank percent_rank cume_dist mode grouping")

func (j *judge) sourceEffects(s *tree.Select) (f effects) {
	j.addQuery(s, &f)
	return f
}

// spread assigns the values to their columns.
//
//nolint:gocognit // a list of columns, a list of rows.
func (i *insertion) spread() (why string) {
	columns := i.Columns
	if columns == nil && i.Source != nil {
		if i.t.table.Unknown != "" || len(i.t.table.Columns) == 0 {
			return "the columns of the table are not known"
		}
		for _, def := range i.t.table.Columns {
			if def.Generated != nil {
				return "the columns are not named, and some are generated"
			}
			columns = append(columns, def.Name)
		}
	}
	lists := [][]tree.Expr{nil}
	if i.Source != nil {
		lists = i.Source.Values
		if lists == nil {
			i.query = true
			var list []tree.Expr
			for _, item := range leftmost(i.Source).Items {
				list = append(list, item.Expr)
			}
			lists = [][]tree.Expr{list}
		}
	}
	for _, list := range lists {
		row := map[string]tree.Expr{}
		for n, e := range list {
			if _, star := e.(*tree.Star); star || n >= len(columns) {
				break // what follows is not known
			}
			row[strings.ToLower(columns[n])] = e
		}
		if i.query && i.Source.SetOp != "" {
			row = map[string]tree.Expr{}
		}
		i.rows = append(i.rows, row)
	}
	return ""
}

func leftmost(s *tree.Select) *tree.Select {
	for s.Left != nil {
		s = s.Left
	}
	return s
}

// overridden puts in what BEFORE triggers set.
func (i *insertion) overridden() {
	for column, a := range i.t.set {
		for _, row := range i.rows {
			row[column] = a.value
		}
	}
}

// inserted returns what a column of a row gets; nil when that is not known.
func (j *judge) inserted(i *insertion, row map[string]tree.Expr, column string) tree.Expr {
	e, given := row[column]
	def := schema.Column(i.t.table, column)
	if _, byDefault := e.(*tree.Default); given && !byDefault {
		if def != nil && def.NullIsNow && isNull(e) {
			return &tree.Call{Name: "now"}
		}
		return e
	}
	switch {
	case def == nil || i.query && i.Columns == nil, def.Serial, i.query && i.Source.SetOp != "":
		return nil
	case def.Generated != nil:
		return nil
	case def.Default == nil && j.mayDefault(def):
		return nil
	case def.Default == nil:
		return &tree.Literal{Kind: tree.Null}
	}
	return def.Default
}

// leftOut looks for a column that the rows need and do not give. MySQL without a strict sql_mode has a default for it.
func (j *judge) leftOut(i *insertion) Judgement {
	res := judged(Safe, PlainValues, "")
	res.Once = true
	for _, row := range i.rows {
		for _, def := range i.t.table.Columns {
			if j.dialect != dialect.MySQL && j.lacks(i, row, def) {
				return judged(CannotTell, NoUniqueKey, "the statement leaves out "+def.Name+", which has no default: it is refused, unless the database has one that the schema does not show")
			}
		}
	}
	return res
}

// lacks reports whether a row leaves out a column that is not NULL and has no default.
func (j *judge) lacks(i *insertion, row map[string]tree.Expr, def *tree.ColumnDef) bool {
	if def == nil || !def.NotNull || def.Default != nil || def.Serial || def.Generated != nil || def.NullIsNow || def.OnUpdate || j.mayDefault(def) {
		return false
	}
	e, given := row[strings.ToLower(def.Name)]
	if _, byDefault := e.(*tree.Default); given {
		return byDefault
	}
	if i.query { // whose results may be a star
		return i.Columns != nil && !slices.ContainsFunc(i.Columns, func(name string) bool { return strings.EqualFold(name, def.Name) })
	}
	return true
}

// source judges the query of INSERT … SELECT.
func (j *judge) source(i *insertion) Judgement {
	if !i.query {
		return Judgement{Verdict: Safe, Rule: PlainValues, Once: true}
	}
	rows := *i.Source
	if rows.SetOp == "" {
		rows.Items = nil // the values are judged with the keys
	}
	if f := j.sourceEffects(&rows); !f.pure() {
		return f.judgement()
	}
	if f := j.sourceEffects(i.Source); f.acts || f.stranger {
		return f.judgement()
	}
	own, other := false, false
	unknown := j.tablesOf(i.Source, func(ref *tree.TableRef, _ *tree.Select) {
		name := strings.ToLower(ref.Name.Name)
		own, other = own || name == i.t.name, other || name != i.t.name && j.changed[name]
	})
	switch {
	case unknown != "":
		return judged(CannotTell, UnknownTable, unknown)
	case other:
		return judged(CannotTell, MovingSelection, "it selects from a table that another part of the statement, a foreign key or a trigger changes")
	case own && (i.Replace || i.Conflict != nil && !i.Conflict.Nothing || !j.checks(i)):
		return judged(CannotTell, MovingSelection, "it inserts what it selects from the same table: the next run selects more")
	}
	return worse(j.limited(i.Source), j.chosen(i.Source))
}

// chosen judges what decides which rows a query finds, its results left out.
func (j *judge) chosen(s *tree.Select) Judgement {
	var f effects
	for _, q := range j.reached(s) {
		if q == s && s.SetOp == "" && !s.Distinct && len(s.DistinctOn) == 0 {
			rest := *s
			rest.Items = nil
			q = &rest
		}
		j.addQuery(q, &f)
	}
	return f.judgement()
}

// checks reports whether the query reads the table only to see that nothing is there: WHERE NOT
// EXISTS (…).
func (j *judge) checks(i *insertion) bool {
	s := *i.Source
	if s.SetOp != "" || s.Limit != nil || s.Offset != nil || s.Having != nil || len(s.GroupBy) > 0 || len(s.DistinctOn) > 0 || j.aggregated(&s) {
		return false
	}
	var rest []tree.Expr
	for _, c := range tree.Conjuncts(s.Where) {
		op, ok := c.(*tree.Op)
		if ok && op.Name == "not" && len(op.Args) == 1 {
			if q, ok := op.Args[0].(*tree.Query); ok && q.Kind == tree.Exists && j.plainCheck(q.Select) {
				continue
			}
		}
		rest = append(rest, c)
	}
	s.Where = tree.And(rest...)
	own := false
	unknown := j.tablesOf(&s, func(ref *tree.TableRef, _ *tree.Select) { own = own || strings.ToLower(ref.Name.Name) == i.t.name })
	return unknown == "" && !own
}

// plainCheck reports whether more rows can only make a query find more.
func (j *judge) plainCheck(s *tree.Select) bool {
	if s.SetOp != "" || len(s.With) > 0 || s.Limit != nil || s.Offset != nil || s.Having != nil || len(s.GroupBy) > 0 || hasQuery(s.Where) || j.aggregated(s) {
		return false
	}
	return len(s.From) > 0 && !slices.ContainsFunc(s.From, func(from tree.Source) bool {
		ref, plain := from.(*tree.TableRef)
		return !plain || j.with[strings.ToLower(ref.Name.Name)] != nil || j.isView(ref.Name)
	})
}

// given returns why the value of a column is not the same at a second run, or is NULL.
func (j *judge) given(i *insertion, e tree.Expr, column string, nulls bool) (why string, assumes []string) {
	def := schema.Column(i.t.table, column)
	f := j.effectsOf(e)
	switch {
	case e == nil:
		return column + " is numbered by the database, or is not known", nil
	case !f.pure():
		return column + " has another value at every run (" + f.worst() + ")", nil
	case isTimeText(e, def):
		return column + " is the time of the run", nil
	case hasQuery(e) && j.selection(e, i.t, true).Verdict != Safe:
		return column + " is read from what changes", nil
	case isNull(e) && j.dialect == dialect.MySQL, j.dialect == dialect.MySQL && def != nil && def.Serial && !j.nonzero(e, i):
		return column + " gets a value of the database's for that one", nil
	case nulls || def != nil && def.NotNull && !def.Serial || neverNull(e):
		return "", nil
	case isNull(e):
		return column + " is NULL, and NULLs are different from each other", nil
	case isParam(e) && def != nil && def.Serial && j.dialect == dialect.MySQL:
		return "", []string{"the parameter for " + column + " is neither NULL nor 0"}
	case isParam(e):
		return "", []string{"the parameter for " + column + " is not NULL"}
	case i.query && j.notNull(e, i.Source):
		return "", nil
	}
	return column + " may be NULL", nil
}

// nonzero reports whether a value is never 0, for which AUTO_INCREMENT takes the next number.
func (j *judge) nonzero(e tree.Expr, i *insertion) bool {
	if n := number(literal(e)); n != nil {
		return n.IsInt() && n.Sign() != 0
	}
	c, ok := e.(*tree.Column)
	if !ok || !i.query || !j.notNull(e, i.Source) {
		return isParam(e)
	}
	for _, from := range i.Source.From {
		ref, plain := from.(*tree.TableRef)
		if plain && (c.Table == "" || strings.EqualFold(sourceName(ref), c.Table)) {
			def := schema.Column(j.schema.Table(ref.Name), c.Name)
			return def != nil && def.Serial
		}
	}
	return false
}

func isTimeText(e tree.Expr, def *tree.ColumnDef) bool {
	l := literal(uncast(e))
	return l != nil && l.Kind == tree.String && timeWord(l.Text) && (def == nil || typeOf(def.Type) == otherType)
}

// notNull reports whether an expression over the tables of a query is never NULL.
func (j *judge) notNull(e tree.Expr, s *tree.Select) bool {
	c, ok := e.(*tree.Column)
	if !ok {
		op, ok := e.(*tree.Op)
		return ok && slices.Contains([]string{"+", "-", "*", "||"}, op.Name) && j.dialect != dialect.MySQL && !slices.ContainsFunc(op.Args, func(e tree.Expr) bool { return !neverNull(e) && !j.notNull(e, s) })
	}
	found := false
	for _, from := range s.From {
		ref, ok := from.(*tree.TableRef)
		if !ok || c.Table != "" && !strings.EqualFold(sourceName(ref), c.Table) {
			continue
		}
		if hidden := func(w tree.With) bool { return strings.EqualFold(w.Name, ref.Name.Name) }; j.with[strings.ToLower(ref.Name.Name)] != nil || slices.ContainsFunc(s.With, hidden) {
			return false
		}
		def := schema.Column(j.schema.Table(ref.Name), c.Name)
		if def != nil {
			found = def.NotNull
		}
	}
	return found
}
