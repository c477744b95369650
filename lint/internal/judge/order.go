package judge

import (
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/lint/internal/schema"
	"github.com/semel-dev/semel/lint/internal/tree"
)

// A query without a complete ORDER BY finds its rows in an order that a change of them may alter.

// use says what of the rows that a query finds matters.
type use uint8

const (
	undecided use = iota
	anyOrder      // which rows there are
	firstRow
	allInOrder
)

// uses is the decision for each kind of query.
//
//nolint:gochecknoglobals // a constant.
var uses = map[tree.QueryKind]use{
	tree.Scalar: firstRow, tree.Exists: anyOrder, tree.In: anyOrder, tree.NotIn: anyOrder, tree.Any: anyOrder, tree.All: anyOrder, tree.Array: allInOrder,
}

const (
	orderMatters = "it depends on the order of the rows, which the statement may change"
	sortGuard    = "ORDER BY a unique column that the statement leaves as it is"
)

// ordering judges whether the value of a query depends on the order in which it finds rows of the target.
func (j *judge) ordering(q *tree.Query, t *target) Judgement {
	res := judged(Safe, PlainValues, "")
	switch uses[q.Kind] {
	case anyOrder:
	case firstRow: // the others refuse several rows
		if j.dialect == dialect.SQLite && j.severalOwn(q.Select, t) && !j.ordered(q.Select, t) {
			return judged(CannotTell, OpenOrder, "of several rows the query takes the first, which may be another one the next time")
		}
	case allInOrder:
		switch {
		case !j.severalOwn(q.Select, t):
			return j.unsorted(&tree.Select{Items: []tree.Item{{Expr: q}}})
		case j.sorted(q.Select, q.Select.OrderBy, t):
		case len(q.Select.OrderBy) == 0 && j.scansTarget(q.Select, t):
			return guardedBy(judged(NotSafe, OpenOrder, "the array holds the rows in an order that the change of one of them alters"), sortGuard)
		default:
			return guardedBy(judged(CannotTell, OpenOrder, orderMatters), sortGuard)
		}
	case undecided:
		return judged(CannotTell, Opaque, "whether the order of rows matters to a query of that kind is not known")
	}
	return res
}

// severalOwn reports whether a query may find several rows, of the target among them.
func (j *judge) severalOwn(s *tree.Select, t *target) bool {
	own := false
	_ = j.tablesOf(s, func(ref *tree.TableRef, _ *tree.Select) { own = own || strings.ToLower(ref.Name.Name) == t.name })
	return own && !isOne(s) && (len(s.From) != 1 || !j.single(s.From[0], tree.Conjuncts(s.Where)))
}

//nolint:gochecknoglobals // constants.
var (
	orderless = set("count sum avg min max bool_and bool_or every bit_and bit_or bit_xor stddev variance")
	ordered   = set(`any_value array_agg string_agg group_concat json_agg jsonb_agg json_object_agg jsonb_object_agg json_arrayagg json_objectagg
		json_group_array json_group_object jsonb_group_array jsonb_group_object xmlagg`)
	sums      = set("sum avg stddev variance total")
	exactOnes = set("coalesce ifnull nullif abs greatest least length char_length count")
)

// inOrder judges what a query over the target's rows makes of their order.
func (j *judge) inOrder(s *tree.Select, t *target) Judgement {
	res := judged(Safe, PlainValues, "")
	for _, q := range j.reached(s) {
		q.Exprs(func(e tree.Expr) bool {
			switch e := e.(type) {
			case *tree.Query:
				res = worse(res, j.ordering(e, t))
			case *tree.Call:
				if e.Over && !orderless[e.Name] || ordered[e.Name] && !j.sorted(q, e.OrderBy, t) || sums[e.Name] && j.rounds(&tree.List{Items: e.Args}, t) {
					res = worse(res, guardedBy(judged(CannotTell, OpenOrder, orderMatters), sortGuard))
				}
			}
			return true
		})
	}
	return res
}

// rounds reports whether a sum over an expression may be of floating point numbers, whose order decides how they round.
func (j *judge) rounds(e tree.Expr, t *target) (found bool) {
	tree.Exprs(e, func(e tree.Expr) bool {
		switch e := e.(type) {
		case *tree.Column:
			def := schema.Column(t.table, e.Name)
			found = found || def == nil && t.table != nil && slices.ContainsFunc(t.table.Columns, func(c *tree.ColumnDef) bool { return !j.exact(c.Type) }) || def != nil && !j.exact(def.Type)
		case *tree.Literal:
			exponent := strings.ContainsAny(e.Text, "eE")
			found = found || e.Kind == tree.Number && (j.dialect == dialect.SQLite && (exponent || strings.Contains(e.Text, ".")) || j.dialect == dialect.MySQL && exponent)
		case *tree.Cast:
			found = found || !j.exact(e.Type)
		case *tree.Call:
			found = found || !exactOnes[e.Name]
		}
		return !found
	})
	return found
}

// exact reports whether the numbers of a type are added without rounding.
func (j *judge) exact(name string) bool {
	switch base := baseType(name); {
	case typeOf(name) == integer, typeOf(name) == boolean:
		return true
	default:
		return j.dialect != dialect.SQLite && (base == "numeric" || base == "decimal" || base == "money" || base == "interval")
	}
}

// scansTarget reports whether a query reads the rows of the target, and nothing else.
func (j *judge) scansTarget(s *tree.Select, t *target) bool {
	if s.SetOp != "" || len(s.From) != 1 {
		return false
	}
	ref, plain := s.From[0].(*tree.TableRef)
	return plain && t.table != nil && j.with[strings.ToLower(ref.Name.Name)] == nil && j.schema.Table(ref.Name) == t.table
}

// numbers reports whether a query numbers its rows in an open order.
func (j *judge) numbers(s *tree.Select) (found bool) {
	for _, q := range j.reached(s) {
		q.Exprs(func(e tree.Expr) bool {
			c, ok := e.(*tree.Call)
			found = found || ok && c.Over && c.Name == "row_number" && len(c.OrderBy) == 0
			return !found
		})
	}
	return found
}

// sorted reports whether the rows of a query over the target come in the order of a unique column.
func (j *judge) sorted(q *tree.Select, by []tree.Order, t *target) bool {
	return len(by) > 0 && j.scansTarget(q, t) && j.ordered(&tree.Select{From: q.From, Items: q.Items, OrderBy: by}, t)
}

// unsorted judges what a query of other tables, which stay as they are, makes of the order of their rows: PostgreSQL may read
// them in another one, as with several workers.
func (j *judge) unsorted(s *tree.Select) Judgement {
	res := judged(Safe, PlainValues, "")
	if j.dialect != dialect.PostgreSQL {
		return res
	}
	open := judged(CannotTell, OpenOrder, "without ORDER BY the rows may come in another order the next time")
	for _, q := range j.reached(s) {
		q.Exprs(func(e tree.Expr) bool {
			switch e := e.(type) {
			case *tree.Query:
				if uses[e.Kind] == allInOrder && len(e.Select.OrderBy) == 0 && j.scans(e.Select) {
					res = worse(res, open)
				}
			case *tree.Call:
				if (ordered[e.Name] || e.Over && !orderless[e.Name]) && len(e.OrderBy) == 0 && !e.Distinct && j.scans(q) {
					res = worse(res, open)
				}
			}
			return true
		})
	}
	return res
}

// scans reports whether a query may find several rows of a table, in no order.
func (j *judge) scans(s *tree.Select) bool {
	if isOne(s) {
		return false
	}
	found := s.SetOp != ""
	tree.Sources(s.From, func(from tree.Source) {
		switch from := from.(type) {
		case *tree.TableRef:
			found = found || len(s.From) != 1 || !j.single(from, tree.Conjuncts(s.Where))
		case *tree.Derived:
			found = found || len(from.Query.OrderBy) == 0 && j.scans(from.Query)
		}
	})
	return found
}
