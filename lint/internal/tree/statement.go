package tree

// Statement is one of *[Select], *[Insert], *[Update], *[Delete], *[Merge], *[Define],
// *[Neutral] and *[Opaque].
type Statement interface{ statement() }

// Name names a table or another object.
type Name struct {
	Schema string // as written; empty for the search path or the current database
	Name   string
}

// With is one common table expression.
type With struct {
	Name      string
	Columns   []string
	Body      Statement
	Recursive bool
}

// Select is a query: its clauses, or VALUES, or a set operation on two queries.
type Select struct {
	With       []With
	Values     [][]Expr // of VALUES; otherwise nil
	SetOp      string   // "union", "union all", "intersect", …; then Left and Right are set
	Left       *Select
	Right      *Select
	Items      []Item
	From       []Source // joined by commas
	Where      Expr
	GroupBy    []Expr
	Having     Expr
	Distinct   bool
	DistinctOn []Expr
	OrderBy    []Order
	Limit      Expr
	Offset     Expr
	Locks      bool // FOR UPDATE and the like
	Skips      bool // SKIP LOCKED
	Into       bool // SELECT INTO, which creates something
}

// Item is one column of a result. A star is a *[Star].
type Item struct {
	Expr Expr
	As   string
}

// Order is one term of ORDER BY.
type Order struct {
	Expr Expr
	Desc bool
}

// Source is one of *[TableRef], *[Derived], *[Function] and *[Join].
type Source interface{ source() }

// TableRef is a table or a view by its name, or a common table expression.
type TableRef struct {
	Name Name
	As   string
}

// Derived is a query in FROM.
type Derived struct {
	Query   *Select
	As      string
	Columns []string
	Lateral bool
}

// Function is a call in FROM.
type Function struct {
	Call    Expr
	As      string
	Columns []string
}

// Join joins two sources. Kind is "inner", "left", "right", "full" or "cross".
type Join struct {
	Kind        string
	Left, Right Source
	On          Expr
	Using       []string
	Natural     bool
}

// Insert is INSERT and REPLACE.
type Insert struct {
	With      []With
	Table     Name
	As        string
	Columns   []string // nil for all of the table, in its order
	Source    *Select  // VALUES, or a query; nil for DEFAULT VALUES
	Overrides bool     // OVERRIDING SYSTEM VALUE
	Conflict  *Conflict
	Ignore    bool // INSERT IGNORE, OR IGNORE
	Replace   bool // REPLACE, OR REPLACE
	Returning []Item
}

// Conflict is ON CONFLICT or ON DUPLICATE KEY UPDATE.
type Conflict struct {
	Target     []Expr // columns or expressions of a unique key; nil for any, as always in MySQL
	Where      Expr   // of a partial key
	Constraint string // ON CONSTRAINT
	Nothing    bool
	Set        []Assign // inserted values are [Column] with the Table [Excluded]
	If         Expr     // WHERE of DO UPDATE
}

// Excluded is the table of the values that were to be inserted: EXCLUDED, VALUES(c), the
// alias of a row.
const Excluded = "excluded"

// Assign sets a column.
type Assign struct {
	Column string
	Value  Expr
	// Of says that Value is a query or a row for several columns, of which this is the column
	// number Part.
	Of   bool
	Part int
}

// Update is UPDATE of one table.
type Update struct {
	With        []With
	Table       Name
	As          string
	Set         []Assign
	LeftToRight bool // an assignment sees those before it (MySQL)
	From        []Source
	Where       Expr
	OrderBy     []Order
	Limit       Expr
	Offset      Expr
	Returning   []Item
	Cursor      bool // WHERE CURRENT OF
}

// Delete is DELETE from one table.
type Delete struct {
	With      []With
	Table     Name
	As        string
	Using     []Source
	Where     Expr
	OrderBy   []Order
	Limit     Expr
	Offset    Expr
	Returning []Item
	Cursor    bool
}

// Merge is MERGE.
type Merge struct {
	With      []With
	Table     Name
	As        string
	Using     Source
	On        Expr
	Branches  []Branch
	Returning []Item
}

// Branch is one WHEN of MERGE. It updates (Set), inserts (Insert), deletes, or does nothing.
type Branch struct {
	Matched  bool
	BySource bool // WHEN NOT MATCHED BY SOURCE
	If       Expr
	Set      []Assign
	Insert   *Insert
	Delete   bool
}

// Neutral changes no data: BEGIN, SET, SHOW, EXPLAIN without ANALYZE, ANALYZE, PRAGMA that reads.
type Neutral struct{ What string }

// Opaque is a statement whose effect cannot be known: CALL, DO, one that cannot be translated.
type Opaque struct{ Why string }

func (*Select) statement()  {}
func (*Insert) statement()  {}
func (*Update) statement()  {}
func (*Delete) statement()  {}
func (*Merge) statement()   {}
func (*Define) statement()  {}
func (*Neutral) statement() {}
func (*Opaque) statement()  {}

func (*TableRef) source() {}
func (*Derived) source()  {}
func (*Function) source() {}
func (*Join) source()     {}
