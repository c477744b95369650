package rules

import "github.com/semel-dev/semel/dialect"

// Unique is a uniqueness rule: which rows of a table are the same thing, and
// what becomes of a second one.
type Unique struct {
	// Name is unique within the file. It is a name for machines: lower case
	// letters, digits and underscores; logs, problems and, where nothing else is
	// said, the index carry it.
	Name string
	// At is where the rule starts in the file.
	At Position
	// Says is the rule as a sentence for people.
	Says string
	// Table is the table, qualified with its schema where it must be.
	Table string
	// Scope says within what the rule holds: a tenant, a workspace, a source, a
	// parent. Its terms are part of the index, before Fields. Empty for the
	// whole table.
	Scope []Term
	// Fields are what must not be the same twice within a scope.
	Fields []Term
	// Nulls says what rows with NULL in a term are.
	Nulls Nulls
	// Except are rows that do not count, because they are gone or merged. A row
	// counts when no exception holds.
	Except []Exception
	// OnConflict says what becomes of a second row.
	OnConflict Conflict
	// MayChange are the columns that an upsert may change; MustNotChange those
	// that must be as they are, or the upsert is refused.
	MayChange, MustNotChange []string
	// Index is the name of the index that enforces the rule. Default: Name.
	Index string
	// Messages say in people's languages (en, sv, hi, zh) that the thing is there
	// already. Language en is always there.
	Messages map[string]Message
	// Labels are names of fields for people: language, then column.
	Labels map[string]map[string]string
	// Show are the columns whose values a message may repeat to the caller who
	// sent them.
	Show []string
}

// Terms are scope and fields, in the order of the index.
func (u *Unique) Terms() []Term { return append(append([]Term(nil), u.Scope...), u.Fields...) }

// Term is a column or an expression of a uniqueness rule.
type Term struct {
	// Text is the term as the file has it, such as lower(trim(email)).
	Text string
	// At is where it stands.
	At Position
	// Column is set when the term is a column and nothing else.
	Column string
	// Columns are all columns that it reads.
	Columns []string
	// Raw, when set, is the expression in the words of each dialect; then it has
	// no portable form.
	Raw map[dialect.Dialect]string
}

// Nulls says what rows with NULL in a term are.
type Nulls uint8

// What NULL is.
const (
	// NullsDistinct rows with NULL never collide, as the SQL standard has it.
	NullsDistinct Nulls = iota
	// NullsSame rows with NULL in the same place collide.
	NullsSame
	// NullsForbidden terms are never NULL: their columns must be NOT NULL.
	NullsForbidden
)

// Conflict says what becomes of a second row.
type Conflict uint8

// What becomes of a second row.
const (
	Reject         Conflict = iota // an error that says so
	ReturnExisting                 // the first row is the answer
	Upsert                         // the first row is changed where it may be
)

// Exception tells rows that do not count by one column.
type Exception struct {
	// At is where it stands.
	At Position
	// Column is the column to look at.
	Column string
	// Is is set, null, true, false, or equals.
	Is ExceptionKind
	// Value is what the column equals, when Is says so.
	Value string
}

// ExceptionKind says what of a column makes a row not count.
type ExceptionKind uint8

// What of a column makes a row not count.
const (
	IsSet    ExceptionKind = iota // it is not NULL: deleted_at, merged_into
	IsNull                        // it is NULL: a draft without published_at
	IsTrue                        // it is true: archived
	IsFalse                       // it is false: active
	IsEquals                      // it has a value: status = 'cancelled'
)

// Message is a sentence with placeholders: {fields}, {existing}, or {column} of
// a column in [Unique.Show].
type Message struct {
	Text string
	At   Position
}
