package verify

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
)

// formatVersion is the version of what [Report] looks like as JSON.
const formatVersion = 1

// Severity says how bad a finding is.
type Severity string

// Severities.
const (
	// Error: the database does not enforce what the rule says, or enforces more.
	Error Severity = "error"
	// Warning: it does, but something is likely not what was meant.
	Warning Severity = "warning"
)

// Report holds the findings of [Verify]. Its JSON is stable: members are added, never
// changed, while Version stays the same.
type Report struct {
	Version int    `json:"version"`
	Dialect string `json:"dialect"`
	// Server is the server's version in its words.
	Server string `json:"server"`
	// Rules counts the rules that were compared.
	Rules int `json:"rules"`
	// Findings are in the order of the rules file, then of the SQL files; never
	// nil.
	Findings []Finding `json:"findings"`
	// Unread are the places of SQL files that could not be read, so that nothing
	// is known of them; never nil.
	Unread []Unread `json:"unread"`
}

// Finding is one thing that is not as the rules say.
type Finding struct {
	Code     Code     `json:"code"`
	Severity Severity `json:"severity"`
	Rule     string   `json:"rule"`
	Table    string   `json:"table"`
	// Index is the index that it is about, or "".
	Index string `json:"index,omitempty"`
	// File and Line say where: the rule in the rules file, or a statement in a
	// file of SQL.
	File string `json:"file"`
	Line int    `json:"line"`
	// Message is a sentence, Fix what to do. Neither has values of rows.
	Message string `json:"message"`
	Fix     string `json:"fix"`
	// codeDuplicates are the rows that break the rule, for [codeDuplicates].
	Duplicates *Groups `json:"duplicates,omitempty"`
}

// Groups are sets of rows that are the same by a rule.
type Groups struct {
	// Count is their number; More says that there are more than that.
	Count int  `json:"count"`
	More  bool `json:"more"`
	// Rows counts their rows.
	Rows int64 `json:"rows"`
	// Sample are the primary keys of two rows of each of the first groups. It is
	// empty where the primary key is not a single column of numbers or UUIDs: other
	// keys can be personal data.
	Sample [][2]string `json:"sample,omitempty"`
}

// Unread is a place in a file of SQL from which on it could not be read.
type Unread struct {
	File string `json:"file"`
	Line int    `json:"line"`
	Why  string `json:"why"`
}

// Clean reports whether nothing at all was found. A command that ends with 0
// says no more than that: what was unread is not clean.
func (r *Report) Clean() bool { return len(r.Findings) == 0 && len(r.Unread) == 0 }

// Errors counts the findings of severity [Error].
func (r *Report) Errors() int {
	count := 0
	for i := range r.Findings {
		if r.Findings[i].Severity == Error {
			count++
		}
	}
	return count
}

// Table returns the findings for people: a head and a row for each.
func (r *Report) Table() (head []string, rows [][]string) {
	head = []string{"where", "rule", "table", "found", "what it is", "what to do"}
	for i := range r.Findings {
		f := &r.Findings[i]
		found := string(f.Code)
		if f.Severity == Warning {
			found += " (warning)"
		}
		rows = append(rows, []string{f.File + ":" + strconv.Itoa(f.Line), f.Rule, f.Table, found, f.Message, f.Fix})
	}
	for _, u := range r.Unread {
		rows = append(rows, []string{u.File + ":" + strconv.Itoa(u.Line), "", "", "unread", u.Why, "look at it yourself"})
	}
	return head, rows
}

// String writes a finding on one line.
func (f *Finding) String() string {
	return fmt.Sprintf("%s:%d: %s: %s: %s (%s)", f.File, f.Line, f.Severity, f.Code, f.Message, f.Fix)
}

// sort puts the findings on rules before those on SQL files, each by line.
func (r *Report) sort(rulesFile string) {
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		order := 0
		switch {
		case a.File == b.File:
		case a.File == rulesFile:
			order = -1
		case b.File == rulesFile:
			order = 1
		default:
			order = cmp.Compare(a.File, b.File)
		}
		return cmp.Or(order, cmp.Compare(a.Line, b.Line))
	})
}
