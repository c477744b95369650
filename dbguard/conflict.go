package dbguard

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/texts"
	"github.com/semel-dev/semel/rules"
)

// Conflict is a refusal of the database to hold the same thing twice, in the
// words of the rules file. It knows no value of either row: its text can be
// logged and shown.
type Conflict struct { //nolint:errname // the word of the rules file.
	// Rule is the uniqueness rule that was broken; nil when the index belongs to
	// none.
	Rule *rules.Unique
	// Fields are the columns that must not be the same twice, without those of
	// the rule's scope. Without a rule, what the database says of them: SQLite
	// names the columns, the others nothing.
	Fields []string
	// Table is the table, as the rule or else the database names it; "" when
	// neither does.
	Table string
	// Index is the index or constraint, as the database names it; "" when
	// SQLite names the columns instead.
	Index string
	// Existing locates the row that exists already, such as by its
	// URL or public id, when the application has set it. It is shown to the
	// caller, who must be allowed to know of it.
	Existing string

	cause error
}

// Error says which rule was broken, without any value.
func (c *Conflict) Error() string {
	switch {
	case c.Rule != nil:
		return fmt.Sprintf("dbguard: the row exists already: rule %s (%s)", c.Rule.Name, strings.Join(c.Fields, ", "))
	case c.Index != "":
		return fmt.Sprintf("dbguard: the row exists already: index %s, which no rule names", c.Index)
	}
	return fmt.Sprintf("dbguard: the row exists already: %s (%s), which no rule names", c.Table, strings.Join(c.Fields, ", "))
}

// Unwrap returns the driver's error, which may hold values of rows: do not log it.
func (c *Conflict) Unwrap() error { return c.cause }

// Translator tells which uniqueness rule a driver's error is about. It is safe
// for concurrent use.
//
// It is right wherever rows are written by statements of your own. It does not
// prevent anything: the unique index does, and without it no error occurs.
type Translator struct {
	rules []*rules.Unique
	table string // "" for all
	roots *roots
}

// NewTranslator returns a translator for the rules of a file, which it keeps.
func NewTranslator(list []rules.Unique) *Translator {
	t := &Translator{roots: newRoots()}
	for i := range list {
		t.rules = append(t.rules, &list[i])
	}
	return t
}

// For returns a translator that knows that errors are about this table: MariaDB
// does not say it, and there two tables may have indexes of one name.
func (t *Translator) For(table string) *Translator {
	return &Translator{rules: t.rules, table: lastName(table), roots: t.roots}
}

// Translate returns a [*Conflict] in the place of an error that says that a row
// is there already, and every other error as it is: nil, broken connections,
// and foreign keys, NOT NULL and CHECK, which are not conflicts. It asks no
// database; see [Translator.Resolve].
//
// An error of COMMIT, where deferred constraints are looked at, is translated
// like any other. Two rules on the same columns of a table cannot be distinguished
// on SQLite, which names the columns only: it is the first in the file.
func (t *Translator) Translate(err error) error {
	if c, ok := errors.AsType[*Conflict](err); ok && c.Rule != nil {
		return err
	}
	v, ok := violationOf(err)
	if !ok {
		return err
	}
	return t.conflict(v, err)
}

func (t *Translator) conflict(v violation, cause error) *Conflict {
	c := &Conflict{Table: cmp.Or(v.table, t.table), Index: v.index, Fields: v.columns, cause: cause}
	if rule := t.find(v); rule != nil {
		c.set(rule)
	}
	return c
}

func (c *Conflict) set(rule *rules.Unique) {
	c.Rule, c.Table, c.Fields = rule, rule.Table, fieldsOf(rule)
}

// find returns the rule that the violation is about; nil when there is none, or
// when it could be one of several.
func (t *Translator) find(v violation) *rules.Unique {
	if v.columns != nil {
		return t.findColumns(v.table, v.columns)
	}
	if v.index == "" && v.text == "" {
		return nil
	}
	var found *rules.Unique
	for _, rule := range t.rules {
		index, table := indexOf(rule), lastName(rule.Table)
		named := index == v.index && (v.table == "" || v.table == table)
		if !named && !v.ends(table, index) || t.table != "" && t.table != table {
			continue
		}
		if schema, _, ok := cutLast(rule.Table); ok && v.schema != "" && v.schema != schema {
			continue
		}
		switch {
		case found == nil || len(indexOf(found)) < len(index): // of it's and s, in '…it's', the longer
			found = rule
		case len(indexOf(found)) == len(index):
			return nil
		}
	}
	return found
}

// findColumns returns the first rule on exactly these columns of the table.
func (t *Translator) findColumns(table string, columns []string) *rules.Unique {
	if slices.Contains(columns, "") {
		return nil // an expression
	}
	want := slices.Sorted(slices.Values(columns))
	for _, rule := range t.rules {
		plain := texts.Of(rule.Terms(), func(t rules.Term) string { return t.Column })
		slices.Sort(plain)
		if lastName(rule.Table) == table && slices.EqualFunc(plain, want, strings.EqualFold) {
			return rule
		}
	}
	return nil
}

// fieldsOf lists the columns of the rule's fields, without its scope.
func fieldsOf(rule *rules.Unique) []string {
	var fields []string
	for _, term := range rule.Fields {
		columns := term.Columns
		if term.Column != "" {
			columns = []string{term.Column}
		}
		for _, column := range columns {
			if !slices.Contains(fields, column) {
				fields = append(fields, column)
			}
		}
	}
	return fields
}

func indexOf(rule *rules.Unique) string {
	return cmp.Or(rule.Index, rule.Name)
}

// lastName is the name of a table without its schema.
func lastName(path string) string {
	_, name, _ := cutLast(path)
	return name
}

// cutLast cuts the schema off a table's name.
func cutLast(path string) (schema, name string, qualified bool) {
	if at := strings.LastIndexByte(path, '.'); at >= 0 {
		return path[:at], path[at+1:], true
	}
	return "", path, false
}
