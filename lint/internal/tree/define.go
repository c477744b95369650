package tree

// Define changes the schema. What it makes or changes is in the field of its kind; a
// statement of any other kind has Kind alone.
type Define struct {
	// Kind is in lower case: "create table", "create index", "create trigger", "create view",
	// "alter table", "drop table", "truncate", "create function", "create sequence", …
	Kind        string
	Name        Name // of the object; empty for one that the database names itself
	Guarded     bool // IF NOT EXISTS, IF EXISTS, OR REPLACE
	Table       *Table
	Index       *Key     // with Table.Name set
	Trigger     *Trigger // with Table.Name set
	View        *Select
	Changes     []Change // of ALTER TABLE
	Unreadable  string   // why the definition was not understood
	Destructive bool     // TRUNCATE and DROP remove rows; with Guarded, OR REPLACE
	Function    *Routine // of CREATE FUNCTION
	Others      []Name   // further objects of one DROP or TRUNCATE
}

// Table describes a table as far as a schema knows it.
type Table struct {
	Name     Name
	Columns  []*ColumnDef
	Keys     []*Key
	Foreign  []*Foreign
	Triggers []*Trigger
	View     *Select // of a view; then Columns may be empty
	Rules    bool    // PostgreSQL rewrites statements on it
	// Parents are the tables that it is a partition of or inherits from: what writes to them can fire its triggers.
	Parents []Name
	// Like are the tables whose columns it has as well.
	Like []Like
	// NoRowID says that SQLite keeps the rows by their primary key.
	NoRowID bool
	// RowID is the column that is the row id in SQLite. Other names of it are rowid, _rowid_ and oid, as
	// far as no column has them.
	RowID   string
	Unknown string // why parts of it are not known
}

// Like takes the columns of another table into a new one, before its own column number At.
type Like struct {
	Table                   Name
	At                      int
	Defaults, Numbers, Keys bool // what it takes with them; Numbers are those of serial and identity columns
	Named                   bool // the keys keep their names
}

// ColumnDef describes a column as far as a schema knows it.
type ColumnDef struct {
	Name      string
	Type      string // in lower case, as in [Cast]
	NotNull   bool
	Default   Expr // nil for none
	Serial    bool // numbered by the database: serial, identity, AUTO_INCREMENT, an INTEGER PRIMARY KEY of SQLite
	Generated Expr // of a generated column
	// NullIsNow says that MySQL without explicit_defaults_for_timestamp takes NULL for the time.
	NullIsNow bool
	OnUpdate  bool // ON UPDATE CURRENT_TIMESTAMP
	Collation string
}

// Key is a primary key, a unique constraint or an index. One that is not unique is kept for its name.
type Key struct {
	Name    string
	Unique  bool
	Primary bool
	Parts   []Expr // *Column, or an expression
	Where   Expr   // of a partial index
	// NullsSame says that two NULLs are the same (NULLS NOT DISTINCT).
	NullsSame bool
	Deferred  bool
	// Exclusion says that it is an exclusion constraint that compares all parts by =: it refuses what a unique key refuses, but
	// ON CONFLICT with columns or with an update never finds a row by it.
	Exclusion bool
	// First begins the name that the database gives a key without one, if that is not its first column: it holds in MySQL
	// the column that came first when the key was made, in PostgreSQL the table.
	First string
	// Hidden says that the key is on the row id of SQLite under one of its own names, which an
	// INSERT without columns and a SELECT * leave out.
	Hidden bool
}

// Foreign is a foreign key.
type Foreign struct {
	Columns  []string
	Table    Name
	Targets  []string // nil for the primary key
	OnDelete string   // "", "cascade", "set null", "set default", "restrict"
	OnUpdate string
}

// Acts reports whether the key changes rows of its own table when others are deleted or changed.
func (f *Foreign) Acts() bool { return Acts(f.OnDelete) || Acts(f.OnUpdate) }

// Acts reports whether an action of a foreign key changes rows.
func Acts(action string) bool {
	return action == "cascade" || action == "set null" || action == "set default"
}

// Trigger is a trigger. Body holds its statements when they are known.
type Trigger struct {
	Name      string
	Before    bool
	Instead   bool
	EachRow   bool
	Insert    bool
	Update    bool
	Delete    bool
	Columns   []string // of UPDATE OF
	When      Expr
	Body      []Statement
	Sets      []Assign // NEW.c := e in a BEFORE trigger
	Unknown   string   // why the body is not known; empty when Body and Sets are all of it
	Function  string   // that it calls
	Reordered bool     // its assignments happen under conditions
	// NewRows and OldRows are the names that the body has for tables of the changed rows (REFERENCING NEW TABLE AS).
	NewRows, OldRows string
	Does             []Statement // as those of the [Routine] that it calls
	Hides            string
}

// Transitions reports whether the body reads the changed rows as a table.
func (t *Trigger) Transitions() bool { return t.NewRows != "" || t.OldRows != "" }

// Change is one action of ALTER TABLE.
type Change struct {
	// Kind is in lower case: "add column", "drop column", "alter column", "add constraint", "rename column", "rename table", …
	Kind    string
	Guarded bool   // IF NOT EXISTS, IF EXISTS
	Name    string // of the column or constraint; empty for one that the database names
	To      string // of a renaming
	Column  *ColumnDef
	Key     *Key
	Foreign *Foreign
	Known   bool // the fields say all that it changes
}
