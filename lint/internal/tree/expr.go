package tree

// Expr is one of *[Column], *[Star], *[Literal], *[Param], *[Call], *[Op], *[Case], *[Query], *[Cast],
// *[List], *[Default] and *[Raw]. Nil is the absence of an expression.
type Expr interface{ expr() }

// Column is a column by its name, after the table or alias if it was written.
type Column struct{ Table, Name string }

// Star is * or t.*.
type Star struct{ Table string }

// LiteralKind is the type of a literal.
type LiteralKind uint8

// The types of literals.
const (
	Null LiteralKind = iota
	Bool
	Number
	String
	Bytes
)

// Literal is a constant. Text is "true" or "false", the number as written without a plus, or the
// value of the string without its quotes and escapes.
type Literal struct {
	Kind LiteralKind
	Text string
	// Written is a string as MySQL was given it, when the sql_mode decides what it means: one in double quotes
	// (ANSI_QUOTES), one with a backslash (NO_BACKSLASH_ESCAPES), an empty one (EMPTY_STRING_IS_NULL).
	Written string
}

// Param is a placeholder: $1, ?, :name, @name, sqlc.arg(name). Two with one name have one value;
// those without a name are numbered by the translator.
type Param struct{ Name string }

// Call is a function, an aggregate or a keyword such as CURRENT_TIMESTAMP, which is "now".
type Call struct {
	Schema   string
	Name     string // in lower case
	Args     []Expr
	Star     bool // count(*)
	Distinct bool
	Over     bool // a window function
	Filter   Expr
	OrderBy  []Order
	// Immutable says that it is a function of the schema that is declared so.
	Immutable bool
}

// Op is an operator on its operands. Name is in lower case and one for all dialects:
// and or not; = <> < <= > >= ; "is null" "is not null" "is distinct from" "is not distinct from";
// "is true" "is false" "is unknown" and "is not true" …; in "not in" (the second operand is a
// *[List]); between "not between"; like "not like" ilike "not ilike" regexp "not regexp" glob …;
// + - * / % and "neg" for the sign; & | ^ << >> ~ ("#" of PostgreSQL is ^); || for
// concatenation and JSON; -> ->> #> #>> @> <@ ? and others as written; "collate", whose second
// operand is the name of the collation as a *[Literal]; and "pos" for a plus that takes the affinity from a
// column in SQLite.
// "not?" is a NOT that MySQL reads as that of the first operand alone under the sql_mode HIGH_NOT_PRECEDENCE.
// and, or and not take the numbers of operands that were written: "a and b and c" is one
// Op with three.
type Op struct {
	Name string
	Args []Expr
	// Pipes says that MySQL may not mean "or" by it: it was written || and is a concatenation under
	// the sql_mode PIPES_AS_CONCAT.
	Pipes bool
}

// Case is CASE. Operand is nil without one, Else without one.
type Case struct {
	Operand Expr
	Whens   []Branching
	Else    Expr
}

// Branching is one WHEN … THEN.
type Branching struct{ If, Then Expr }

// QueryKind says what an expression makes of the rows of a query.
type QueryKind uint8

// The kinds of queries within expressions.
const (
	Scalar QueryKind = iota + 1 // the only row, in SQLite the first one
	Exists
	In
	NotIn
	Any
	All
	Array // all rows, in their order
)

// String is the kind as it is written.
func (k QueryKind) String() string {
	names := [...]string{"", "scalar", "exists", "in", "not in", "any", "all", "array"}
	if int(k) >= len(names) {
		return ""
	}
	return names[k]
}

// Query is a query within an expression. Left is the left operand of in, any and all, and Op the operator of any and all.
type Query struct {
	Kind   QueryKind
	Left   Expr
	Op     string
	Select *Select
}

// Cast is a conversion. Type is in lower case as written, without blanks around its
// brackets: "timestamp(0)", "jsonb", "numeric(10,2)".
type Cast struct {
	Value Expr
	Type  string
}

// List is a row, the right side of IN, or an array.
type List struct{ Items []Expr }

// Default is the keyword DEFAULT as a value.
type Default struct{}

// Raw is an expression that the translator does not know.
type Raw struct{ Why string }

func (*Column) expr()  {}
func (*Star) expr()    {}
func (*Literal) expr() {}
func (*Param) expr()   {}
func (*Call) expr()    {}
func (*Op) expr()      {}
func (*Case) expr()    {}
func (*Query) expr()   {}
func (*Cast) expr()    {}
func (*List) expr()    {}
func (*Default) expr() {}
func (*Raw) expr()     {}

// And joins the conditions that are not nil.
func And(conditions ...Expr) Expr {
	var all []Expr
	for _, c := range conditions {
		if c != nil {
			all = append(all, Conjuncts(c)...)
		}
	}
	switch len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	}
	return &Op{Name: "and", Args: all}
}

// Conjuncts returns the conditions that must all hold.
func Conjuncts(e Expr) []Expr {
	if e == nil {
		return nil
	}
	op, ok := e.(*Op)
	if !ok || op.Name != "and" {
		return []Expr{e}
	}
	var all []Expr
	for _, arg := range op.Args {
		all = append(all, Conjuncts(arg)...)
	}
	return all
}
