package rerun

import (
	"fmt"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
)

// Statement is one statement to run.
type Statement struct {
	Text string
	// Dialects are those that can read it. None means any.
	Dialects []dialect.Dialect
}

// Kind says what two runs of a statement showed.
type Kind uint8

// The kinds of outcomes.
const (
	NotRun     Kind = iota // it was not run, or failed whatever rows there were
	NoEvidence             // it changed nothing, whatever rows there were
	Same                   // the second run left everything as it was
	Time                   // the second run changed times only
	Differs                // the second run changed something
)

// String is the kind as people read it.
func (k Kind) String() string {
	return [...]string{"not run", "no evidence", "same", "only times differ", "differs"}[k]
}

// Outcome holds what two runs of one statement showed.
type Outcome struct {
	Kind Kind
	// Why says why the statement was not run.
	Why string
	// Changes lists what the second run changed, at most [maxChanges] of them.
	Changes []Change
	// First and Second are the answers of the two runs, where they differed: the number of rows, or
	// the code of the error.
	First, Second string
	// Fillings counts how often the tables were filled with other rows.
	Fillings int
}

// maxChanges bounds the changes of one outcome.
const maxChanges = 5

// Change is one row that the second run changed.
type Change struct {
	Table string `json:"table"`
	// Key has the values of the primary key, or else of the whole row.
	Key string `json:"key"`
	// Columns are those that differ. Nil: the row is new, or gone.
	Columns []string `json:"columns,omitempty"`
	Before  string   `json:"before"` // empty for a new row
	After   string   `json:"after"`  // empty for a row that is gone
}

// String writes a change on one line: "t(id=1).n: 4 → 3".
func (c Change) String() string {
	switch {
	case c.Columns != nil:
		return fmt.Sprintf("%s(%s).%s: %s → %s", c.Table, c.Key, strings.Join(c.Columns, ", "), c.Before, c.After)
	case c.Before == "":
		return fmt.Sprintf("%s: new row %s", c.Table, c.After)
	}
	return fmt.Sprintf("%s: row %s is gone", c.Table, c.Before)
}

// String writes an outcome on one line.
func (o *Outcome) String() string {
	switch o.Kind {
	case NotRun:
		return "not run: " + o.Why
	case Time, Differs:
		list := make([]string, len(o.Changes))
		for i, c := range o.Changes {
			list[i] = c.String()
		}
		return o.Kind.String() + ": " + strings.Join(list, "; ")
	case NoEvidence, Same:
	}
	return o.Kind.String()
}
