package rules

import (
	"slices"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/rules/expression"
)

// Unique is a uniqueness rule: which rows of a table are the same thing, and
// what a second one gets.
type Unique struct {
	// Name is unique within the file. It is a name for machines: lower case
	// letters, digits and underscores; logs, problems and, unless Index is set, the
	// index carry it.
	Name string
	// At is the position of the rule in the file.
	At Position
	// Says is the rule as a sentence for people.
	Says string
	// Table is the table, qualified with its schema where it must be.
	Table string
	// Scope says within what the rule holds: a tenant, a workspace, a source, a
	// parent. Its terms are part of the index, before Fields. Empty for the
	// whole table.
	Scope []Term
	// Fields must not be the same twice within a scope.
	Fields []Term
	// Nulls says what rows with NULL in a term are. Default: NullsDistinct, and
	// NullsForbidden where OnConflict is ReturnExisting or Upsert, which never find
	// a row with NULL.
	Nulls Nulls
	// NullsUnsaid says that the file leaves Nulls to its default.
	NullsUnsaid bool
	// Except are rows that do not count, because they are gone or merged. A row
	// counts when no exception holds.
	Except []Exception
	// OnConflict is the treatment of a second row.
	OnConflict Conflict
	// MayChange are the columns that an upsert may change; MustNotChange those
	// that must be as they are, or the upsert is refused.
	MayChange, MustNotChange []string
	// Index is the name of the index that enforces the rule. Default: Name.
	Index string
	// Messages say in people's languages (en, sv, hi, zh) that the thing is there
	// already, where the file does; see [Unique.Message].
	Messages map[string]Message
	// Labels are names of fields for people: language, then column.
	Labels map[string]map[string]string
	// Show are the columns whose values a message may repeat to the caller who
	// sent them.
	Show []string
}

// Terms are scope and fields, in the order of the index.
func (u *Unique) Terms() []Term { return slices.Concat(u.Scope, u.Fields) }

// Columns are the columns that scope and fields read, each once.
func (u *Unique) Columns() []string { return columnsOf(u.Terms()) }

// Predicate returns the condition of the rows that count: those that no exception holds for.
func (u *Unique) Predicate() expression.Predicate {
	p := make(expression.Predicate, len(u.Except))
	for i, e := range u.Except {
		p[i] = e.Counts
	}
	return p
}

// Render writes the term in the words of a dialect, without parentheses around
// it. The error says why the dialect cannot index it, or not on columns of these
// types, which may be nil.
func (t *Term) Render(d dialect.Dialect, types expression.ColumnTypes) (string, error) {
	if t.Raw == nil {
		return t.Expr.Render(d, types)
	}
	if text, ok := t.Raw[d]; ok {
		return text, nil
	}
	return "", &expression.Error{Text: t.Text, Message: "it has no SQL for " + d.String(), Fix: "add " + d.String() + ": … next to the other dialects"}
}

func columnsOf(terms []Term) []string {
	var names []string
	for _, t := range terms {
		for _, name := range t.Columns {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// Term is a column or an expression of a uniqueness rule.
type Term struct {
	// Text is the term as the file has it, such as lower(trim(email)).
	Text string
	// At is its position in the file.
	At Position
	// Column is set when the term is a column and nothing else.
	Column string
	// Columns are all columns that it reads.
	Columns []string
	// Expr is the term in the language of internal/rules/expression; zero when Raw is set.
	Expr expression.Expr
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

// Conflict is the treatment of a second row.
type Conflict uint8

// The treatments of a second row.
const (
	Reject         Conflict = iota // an error that says so
	ReturnExisting                 // the first row is the answer
	Upsert                         // the first row is changed where it may be
)

// Exception excludes rows from the rule by one column, such as deleted_at is set.
type Exception struct {
	// At is the exception's position in the file.
	At Position
	// Counts is the condition of the rows that still count.
	Counts expression.Condition
}

// String is the word in files and documents: distinct, same or forbidden.
func (n Nulls) String() string { return nullsWords()[n] }

func nullsWords() []string { return []string{"distinct", "same", "forbidden"} }

// String is the word in files and documents: reject, return_existing or upsert.
func (c Conflict) String() string { return conflictWords()[c] }

func conflictWords() []string { return []string{"reject", "return_existing", "upsert"} }

// Message is a sentence with placeholders: {fields} for the names of the fields,
// or {column} for what the caller sent as a column in [Unique.Show].
type Message struct {
	Text string
	At   Position
}
