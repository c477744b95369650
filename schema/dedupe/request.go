package dedupe

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/rules/expression"
	"github.com/semel-dev/semel/rules"
)

// Request says what to merge, and how. A plan keeps it.
type Request struct {
	// Name is that of the rule, or of the table.
	Name string `json:"name"`
	// Table is the table with the duplicates, qualified by its schema where it must be.
	Table string `json:"table"`
	// Terms are the SQL expressions that are equal in all rows of a group, Where the condition of the rows that count.
	Terms []string `json:"terms"`
	Where string   `json:"where,omitempty"`
	// Known says that no term of a row that counts is NULL.
	Known bool `json:"known,omitempty"`
	// Decided are the keys of a winner and a loser each, which a person has decided about. Terms is empty then, and Winner
	// does not count.
	Decided [][2]string `json:"decided,omitempty"`
	// Answers are those to the questions of an earlier plan.
	Answers []Answer `json:"answers,omitempty"`
	// Winner is oldest, newest, most-children, most-complete, or "order by" and SQL.
	Winner string `json:"winner"`
	// Losers is mark or delete.
	Losers string `json:"losers"`
	// Cycles is refuse or break.
	Cycles string `json:"cycles"`
	// Columns are policies for columns of winners: [TABLE.]COLUMN=POLICY.
	Columns []string `json:"columns,omitempty"`
	// References are columns that refer to the table, or to another one whose rows are merged, without a foreign key:
	// TABLE.COLUMN[,COLUMN…] [to TABLE] [where SQL]; or to none, where the name only looks like it.
	References []string `json:"references,omitempty"`
	// Yields say what happens to rows of which a parent may have one: TABLE=winner, oldest or newest for the row that stays, and
	// after a colon COLUMN=VALUE[;COLUMN=VALUE…] for the others, which are merged into it without.
	Yields []string `json:"yields,omitempty"`
	// Checks are TABLE.COLUMN, whose sum must not change, or TABLE, of which no row may be merged.
	Checks []string `json:"checks,omitempty"`
	// Triggers says that triggers of the tables may fire.
	Triggers bool `json:"triggers,omitempty"`
	// Index, when set, is the name of the unique index to come, instead of the rule's.
	Index string `json:"index,omitempty"`
}

const (
	markLosers   = "mark"
	deleteLosers = "delete"

	refuseCycles = "refuse"
	breakCycles  = "break"

	orderBy = "order by "

	mergedInto = "merged_into"
	mergedAt   = "merged_at"
	mergeRun   = "merge_run"

	// maxKeyIndex bounds the bytes of the name that an index gets from its columns: every database has room for it.
	maxKeyIndex = 59
)

// Check reports what is malformed, whatever the database of this dialect holds.
func (q *Request) Check(d dialect.Dialect) error {
	_, badColumn := q.policies()
	_, badReference := q.references()
	_, badChild := q.yieldings(d)
	return cmp.Or(q.check(), badColumn, badReference, badChild)
}

// check reports a value that is not one of those allowed.
func (q *Request) check() error {
	winners := []string{"oldest", "newest", "most-children", "most-complete"}
	switch {
	case !slices.Contains(winners, q.Winner) && !hasPrefixFold(q.Winner, orderBy):
		return fmt.Errorf("the winner %q is not one of %s, and does not begin with %q", q.Winner, strings.Join(winners, ", "), orderBy)
	case q.Losers != markLosers && q.Losers != deleteLosers:
		return fmt.Errorf("losers: %q is neither %s nor %s", q.Losers, markLosers, deleteLosers)
	case q.Cycles != refuseCycles && q.Cycles != breakCycles:
		return fmt.Errorf("cycles: %q is neither %s nor %s", q.Cycles, refuseCycles, breakCycles)
	}
	return nil
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// KeyRule returns the uniqueness rule of a table and terms, such as "tenant_id" and "lower(trim(email))". A column compares as its
// type and its collation do. Merged rows do not count.
func KeyRule(table string, terms []string, marked bool) (*rules.Unique, error) {
	u := &rules.Unique{Name: strings.ReplaceAll(table, ".", "_"), Table: table}
	for _, text := range terms {
		e, err := expression.Parse(strings.TrimSpace(text))
		if err != nil {
			return nil, err
		}
		column, bare := e.Column()
		if bare {
			e = expression.Collated(column)
			text = e.String()
		}
		u.Fields = append(u.Fields, rules.Term{Text: text, Column: column, Columns: e.Columns(), Expr: e})
	}
	u.Index = strings.Join(append([]string{u.Name}, u.Columns()...), "_")
	u.Index = u.Index[:min(len(u.Index), maxKeyIndex)] + "_key"
	if marked {
		u.Except = []rules.Exception{{Counts: expression.Condition{Column: mergedInto, Test: expression.Null}}}
	}
	return u, nil
}

// marks reports whether the rule leaves out merged rows.
func marks(p expression.Predicate) bool {
	return slices.ContainsFunc(p, func(c expression.Condition) bool { return c.Column == mergedInto && c.Test == expression.Null })
}

// policy changes a column of a winner.
type policy struct {
	table, column, kind string
}

const sqlPolicy = "sql:"

// policies parses the policies of columns; those without a table are about the request's.
func (q *Request) policies() ([]policy, error) {
	var all []policy
	for _, text := range q.Columns {
		target, kind, ok := strings.Cut(text, "=")
		known := slices.Contains([]string{"keep", "fill", "longest", "sum", "latest", askPolicy}, kind) || strings.HasPrefix(kind, sqlPolicy)
		if !ok || !known {
			return nil, fmt.Errorf("column %q: write [TABLE.]COLUMN= and keep, fill, longest, sum, latest, ask or sql:EXPRESSION", text)
		}
		p := policy{table: q.Table, column: target, kind: kind}
		if dot := strings.LastIndexByte(target, '.'); dot >= 0 {
			p.table, p.column = target[:dot], target[dot+1:]
		}
		if kind != "keep" {
			all = append(all, p)
		}
	}
	return all, nil
}

// reference is a declared reference: to a table, "" for the request's, or to noTable.
type reference struct {
	table   string
	columns []string
	to      string
	where   string
}

const (
	noTable = "none"
	// declaredName begins the names of declared links.
	declaredName = "reference "
)

func (q *Request) references() ([]reference, error) {
	var all []reference
	for _, text := range q.References {
		target, where := text, ""
		if i := strings.Index(strings.ToLower(text), " where "); i >= 0 {
			target, where = text[:i], strings.TrimSpace(text[i+len(" where "):])
		}
		target, to, hasTo := strings.Cut(target, " to ")
		to = strings.TrimSpace(to)
		dot := strings.LastIndexByte(strings.SplitN(target, ",", 2)[0], '.')
		if dot < 0 || hasTo && to == "" || to == noTable && where != "" {
			return nil, fmt.Errorf("reference %q: write TABLE.COLUMN, then to and a table where it is not the one with the duplicates, and after where a condition in SQL; or TABLE.COLUMN to %s", text, noTable)
		}
		r := reference{table: strings.TrimSpace(target[:dot]), to: to, where: where}
		for name := range strings.SplitSeq(target[dot+1:], ",") {
			r.columns = append(r.columns, strings.TrimSpace(name))
		}
		all = append(all, r)
	}
	return all, nil
}
