package expression

import (
	"cmp"
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/texts"
)

// Test is a test that a row must pass to count.
type Test uint8

// Tests of one column.
const (
	Null     Test = iota // it is NULL
	NotNull              // it is not NULL
	True                 // it is true
	False                // it is false
	NotTrue              // it is false or NULL
	NotFalse             // it is true or NULL
	Equal                // it has the value
	NotEqual             // it has another value, and is not NULL
	Differs              // it has another value, or is NULL
)

// Condition is a test of a column.
type Condition struct {
	Column string
	Test   Test
	// Value is for Equal, NotEqual and Differs.
	Value Constant
}

// maxConditions bounds the conditions of a catalogue that are read.
const maxConditions = 100

// Predicate says which rows count: those that pass every condition. The zero
// Predicate is every row.
type Predicate []Condition

// Render writes the predicate in the words of a dialect, "" for every row. Its
// text is the same whenever it is written, in whatever order its conditions are,
// so that an upsert can name the index by it. The error is an [*Error] that says
// what cannot be tested on columns of these types.
func (p Predicate) Render(d dialect.Dialect, types ColumnTypes) (string, error) {
	for _, c := range p.ordered() {
		if err := c.check(d, types); err != nil {
			return "", err
		}
	}
	return p.render(d), nil
}

// String writes the predicate for people, as PostgreSQL would have it.
func (p Predicate) String() string {
	return p.render(dialect.PostgreSQL)
}

func (p Predicate) render(d dialect.Dialect) string {
	return strings.Join(texts.Of(p.ordered(), func(c Condition) string { return c.render(d) }), " AND ")
}

// Columns returns the columns that are looked at, each once.
func (p Predicate) Columns() []string {
	var names []string
	for _, c := range p.ordered() {
		if !slices.Contains(names, c.Column) {
			names = append(names, c.Column)
		}
	}
	return names
}

// ordered returns the conditions in the one order, none twice.
func (p Predicate) ordered() Predicate {
	out := slices.Clone(p)
	slices.SortFunc(out, func(a, b Condition) int {
		return cmp.Or(cmp.Compare(a.Column, b.Column), cmp.Compare(a.Test, b.Test), cmp.Compare(a.Value.Text, b.Value.Text))
	})
	return slices.Compact(out)
}

func (c Condition) render(d dialect.Dialect) string {
	name, value := d.Quote(c.Column), c.Value.String()
	switch c.Test {
	case Null:
		return name + " IS NULL"
	case NotNull:
		return name + " IS NOT NULL"
	case True:
		return name + " IS TRUE"
	case False:
		return name + " IS FALSE"
	case NotTrue:
		return name + " IS NOT TRUE"
	case NotFalse:
		return name + " IS NOT FALSE"
	case Equal:
		return name + " = " + value
	case NotEqual:
		return name + " <> " + value
	case Differs:
	}
	switch d {
	case dialect.MySQL:
		return "NOT (" + name + " <=> " + value + ")"
	case dialect.SQLite:
		return name + " IS NOT " + value
	case dialect.PostgreSQL:
	}
	return name + " IS DISTINCT FROM " + value
}

// check reports a test that a column of its type does not have.
func (c Condition) check(d dialect.Dialect, types ColumnTypes) error {
	t := strings.ToLower(types.of(c.Column).Type)
	truth := c.Test == True || c.Test == False || c.Test == NotTrue || c.Test == NotFalse
	if d == dialect.PostgreSQL && truth && t != "" && t != "boolean" && t != "bool" {
		return &Error{
			Text: c.Column, Message: d.String() + ": the column is " + t + ", which is neither true nor false",
			Fix: "write what it equals: " + c.Column + " = …",
		}
	}
	return nil
}

// SamePredicate reports whether two predicates hold for the same rows: they have
// the same conditions in whatever order, as far as columns that are never NULL
// make conditions the same.
func SamePredicate(d dialect.Dialect, a, b Predicate, types ColumnTypes) bool {
	return slices.Equal(a.simplify(d, types), b.simplify(d, types))
}

func (p Predicate) simplify(d dialect.Dialect, types ColumnTypes) Predicate {
	out := make(Predicate, 0, len(p))
	never := func(c Condition) bool {
		return slices.ContainsFunc(p, func(o Condition) bool { return o.Test == NotNull && fold(d, o.Column) == c.Column })
	}
	for _, c := range p {
		t := types.of(c.Column)
		c.Column = fold(d, c.Column)
		c = c.number(d, t.Type)
		if t.NotNull || never(c) {
			switch c.Test {
			case Differs:
				c.Test = NotEqual
			case NotTrue:
				c.Test = False
			case NotFalse:
				c.Test = True
			case Null, NotNull, True, False, Equal, NotEqual:
			}
		}
		if c.Test == NotNull && t.NotNull {
			continue
		}
		out = append(out, c)
	}
	return out.ordered()
}

// number makes tests with 0 and 1 tests with false and true, where those are
// the same.
func (c Condition) number(d dialect.Dialect, t string) Condition {
	if d == dialect.PostgreSQL || !c.Value.Number {
		return c
	}
	t = strings.ToLower(t)
	boolean := strings.HasPrefix(t, "bool") || t == "tinyint(1)"
	switch {
	case c.Value.Text == "0" && c.Test == Equal, c.Value.Text == "1" && c.Test == NotEqual && boolean:
		return Condition{Column: c.Column, Test: False}
	case c.Value.Text == "0" && c.Test == NotEqual, c.Value.Text == "1" && c.Test == Equal && boolean:
		return Condition{Column: c.Column, Test: True}
	case c.Value.Text == "0" && c.Test == Differs:
		return Condition{Column: c.Column, Test: NotFalse}
	case c.Value.Text == "1" && c.Test == Differs && boolean:
		return Condition{Column: c.Column, Test: NotTrue}
	}
	return c
}

// PredicateFromCatalog reads a predicate as the dialect's server writes it back,
// or as a person typed it into SQLite; "" is every row. ok is false for a
// predicate that is not a conjunction of conditions on columns.
func PredicateFromCatalog(d dialect.Dialect, s string) (p Predicate, ok bool) {
	if strings.TrimSpace(s) == "" {
		return nil, true
	}
	n, ok := readSQL(d, s)
	if !ok {
		return nil, false
	}
	p, ok = n.conditions()
	if !ok || len(p) > maxConditions {
		return nil, false
	}
	return p.ordered(), true
}

// GuardedFromCatalog reads the expression of a generated column that has a value
// for the rows that count only: CASE WHEN predicate THEN value END, or MySQL's
// if(predicate, value, NULL). value is zero when it is a constant.
func GuardedFromCatalog(d dialect.Dialect, s string) (p Predicate, value Expr, ok bool) {
	n, ok := readSQL(d, s)
	if !ok {
		return nil, Expr{}, false
	}
	conditional := n.op == "call" && (n.name == "if" || n.name == "iif") && len(n.args) == 3 && n.args[2].op == "null"
	if n.op != "case" && !conditional {
		return nil, Expr{}, false
	}
	p, ok = n.args[0].conditions()
	if !ok || len(p) > maxConditions {
		return nil, Expr{}, false
	}
	if what := n.args[1]; what.op != "true" {
		value, ok = what.expr()
	}
	if value.kind == constant {
		value = Expr{}
	}
	return p.ordered(), value, ok
}

// conditions turns SQL into conditions that must all hold.
func (n node) conditions() (Predicate, bool) {
	switch n.op {
	case "and":
		left, ok := n.args[0].conditions()
		right, okToo := n.args[1].conditions()
		return append(left, right...), ok && okToo
	case "not in":
		var all Predicate
		for _, value := range n.args[1:] {
			one, ok := node{op: "<>", args: []node{n.args[0], value}}.conditions()
			if !ok {
				return nil, false
			}
			all = append(all, one...)
		}
		return all, true
	case "same": // as a constant is never NULL
		return node{op: "=", args: n.args}.conditions()
	case "not":
		if n.args[0].op == "same" {
			return node{op: "differs", args: n.args[0].args}.conditions()
		}
		c, ok := n.args[0].condition()
		if !ok {
			return nil, false
		}
		c, ok = c.not(n.args[0].op)
		return Predicate{c}, ok
	}
	c, ok := n.condition()
	return Predicate{c}, ok
}

// condition turns SQL into one condition.
func (n node) condition() (Condition, bool) {
	subject := n
	if len(n.args) > 0 && n.op != "cast" {
		subject = n.args[0]
	}
	name, ok := subject.column()
	if !ok {
		return Condition{}, false
	}
	c := Condition{Column: name}
	switch n.op {
	case "column":
		c.Test = True
		return c, true
	case "is":
		tests := map[string]Test{"null": Null, "not null": NotNull, "true": True, "false": False, "not true": NotTrue, "not false": NotFalse}
		c.Test, ok = tests[n.name]
		return c, ok
	}
	tests := map[string]Test{"=": Equal, "<>": NotEqual, "differs": Differs}
	c.Test, ok = tests[n.op]
	if !ok {
		return Condition{}, false
	}
	return c.withValue(n.args[1])
}

// withValue takes the constant that the column is compared with.
func (c Condition) withValue(n node) (Condition, bool) {
	switch n.op {
	case "true", "false":
		boolean := map[Test][2]Test{Equal: {False, True}, NotEqual: {True, False}, Differs: {NotFalse, NotTrue}}
		tests, ok := boolean[c.Test]
		if c.Test = tests[0]; n.op == "true" {
			c.Test = tests[1]
		}
		return c, ok
	}
	value, ok := n.expr()
	if !ok || value.kind != constant {
		return Condition{}, false
	}
	c.Value = value.constant
	return c, true
}

// not is the condition that holds for exactly the rows of which NOT of this one,
// which was written with op, is true.
func (c Condition) not(op string) (Condition, bool) {
	opposite := map[Test]Test{
		Null: NotNull, NotNull: Null, True: NotTrue, False: NotFalse, NotTrue: True, NotFalse: False,
		Equal: NotEqual, NotEqual: Equal,
	}
	if op != "is" { // NOT of NULL is NULL, which is not true
		opposite[True], opposite[False] = False, True
	}
	test, ok := opposite[c.Test]
	c.Test = test
	return c, ok
}
