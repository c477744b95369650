// Package catalog reads from a live database what enforces uniqueness there:
// tables, columns, and unique indexes with their state.
package catalog

import "github.com/semel-dev/semel/internal/dialect"

// Schema describes a database, as far as uniqueness goes.
type Schema struct {
	Dialect dialect.Dialect
	// Server is the server's version as it says it, such as "10.11.19-MariaDB".
	Server string
	// Name is the schema (PostgreSQL) or the database (MySQL) where unqualified
	// names are looked for; "main" in SQLite.
	Name string
	// Tables are in the order of schema and name.
	Tables []Table
}

// Table is a table that rows can be put into, or a view that looks like one.
type Table struct {
	Schema, Name string
	Kind         Kind
	// Visible says that the name without the schema means this table.
	Visible bool
	Columns []Column
	// Indexes are all indexes, unique or not, in the order of their names. The
	// integer primary key of SQLite is there as one without a name.
	Indexes []Index
	// Partitions are the names of the leaves, for a partitioned table.
	Partitions []string
	// PartitionBy are the columns that a unique index has to hold: those of the partition key, in MySQL also those in its
	// expression. "" for an expression over which nothing can be unique.
	PartitionBy []string
	// Root is the partitioned table that a partition belongs to in the end.
	Root string
	// Children are the tables that inherit from a plain table: no index of it
	// knows their rows.
	Children []string
	// Engine is the storage engine, in MySQL.
	Engine string
	// Rows is the server's estimate; -1 without one.
	Rows int64
}

// Kind says what a table is.
type Kind uint8

// Kinds of tables.
const (
	Plain Kind = iota
	Partitioned
	Partition
	View
	Foreign
)

// Column is a column of a table.
type Column struct {
	Name string
	// Type is the type in the server's words, such as "character varying(40)".
	Type string
	// Base is the type below a domain, or the type without its size, in lower
	// case: varchar, int8, citext.
	Base     string
	Nullable bool
	// Collation is its name in SQL, with the schema in PostgreSQL; "" where the type has none.
	Collation string
	Folding
	// Generated is the expression of a generated column; Stored says that its
	// values are kept.
	Generated string
	Stored    bool
	Default   string
	// Minted says that the server makes a new value for each row that does not
	// bring one: serial, identity, AUTO_INCREMENT, random UUIDs.
	Minted bool
	// References is the table that a foreign key of the column names, or "".
	References string
}

// Folding says what a collation takes no notice of.
type Folding struct {
	// Loose says that it treats different texts as equal: letters of another case or
	// with other accents.
	Loose bool
	// IgnoresCase and IgnoresAccents say why Loose is set.
	IgnoresCase, IgnoresAccents bool
}

// Index is an index, or the constraint that an index keeps.
type Index struct {
	Name string
	// Constraint is the name of the constraint it belongs to, or "".
	Constraint string
	Unique     bool
	Primary    bool
	// Exclusion says that the constraint is an exclusion constraint. Such a one is
	// Unique when all its operators are equality.
	Exclusion bool
	// Root is the index of the partitioned table that the index of a partition
	// belongs to in the end, or "".
	Root  string
	Parts []Part
	// Where is the predicate of a partial index in the server's words, or "".
	Where string
	// NullsNotDistinct says that rows with NULL collide.
	NullsNotDistinct bool
	// Valid is false for an index that a failed CREATE INDEX CONCURRENTLY left,
	// or that is being built; Ready is false while it takes no new rows.
	Valid, Ready bool
	// Ignored says that the server keeps it up to date but no query uses it.
	Ignored bool
	// Deferrable constraints may be checked only when the transaction ends.
	Deferrable bool
	// Method is btree, gist, hash.
	Method string
}

// Part is one part of an index.
type Part struct {
	// Column is the column, or "" for an expression.
	Column string
	// Expression is the expression in the server's words, or "".
	Expression string
	// Collation, when set, is another one than the column's, or for an expression
	// than the default.
	Collation string
	Folding
	// Prefix is the number of characters or bytes of the column that count; 0 for all.
	Prefix     int
	Descending bool
}
