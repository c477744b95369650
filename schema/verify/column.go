package verify

import (
	"regexp"
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/rules/expression"
	"github.com/semel-dev/semel/rules"
)

var (
	// Names of people and places: two of them can be the same in any scope.
	personal = regexp.MustCompile(`^((first|last|middle|given|family|full|sur|nick|customer|person|patient|employee|contact)_?name|surname|city|town|street|country|address(_?line)?[0-9]?|birth_?(day|date)|date_of_birth|gender)$`)
	// Names of things: they may be unique in a scope, but not everywhere.
	title = regexp.MustCompile(`^((display|company|product|project|event|group|team)_?name|name|title|label|description|subject|caption|note|comment|amount|price|total)$`)
	// Tables of people and firms, whose names repeat in any scope.
	people = regexp.MustCompile(`(customer|client|person|people|patient|employee|contact|member|author|student|teacher|user|compan|supplier|vendor|mathematician|guest|citizen|child|parent|player|artist)`)
	// Columns that hold when a row was made or changed.
	moment = regexp.MustCompile(`^(created|updated|changed|modified|inserted|received|submitted|requested|logged)(_?(at|on|time|date|day|hour|minute|week|month|year|ts|utc|epoch|bucket|window))?$|^(timestamp|ts|epoch)$`)
	// Ids that other systems give.
	external = regexp.MustCompile(`^(external|ext|foreign|remote|upstream|provider|source|vendor|partner)_?(id|ref|reference|key|number|no)$|_external_id$|^external_`)
)

// columns reports columns that do not fit the rule.
func (c *check) columns() {
	if len(c.rule.Fields) == 1 && len(c.rule.Fields[0].Columns) == 1 {
		c.weak(c.rule.Fields[0].Columns[0])
	}
	c.moments()
	for _, name := range c.rule.Columns() {
		column, ok := c.table.Column(name)
		if !ok {
			continue
		}
		switch {
		case external.MatchString(strings.ToLower(name)) && wholeNumber(column.Base) && column.References == "":
			c.add(codeExternalIDType, "", "make it a text, and compare it exactly",
				"%s is %s, and ids of other systems have letters and leading zeros sooner or later", name, column.Type)
		case inexact(column.Base):
			c.add(codeInexactType, "", "make it a decimal or a whole number", "%s is %s, whose values differ in their last bit", name, column.Type)
		}
		if c.rule.Nulls == rules.NullsForbidden && column.Nullable {
			c.add(codeNullable, "", "run: semel rules plan", "%s may be NULL, and rows with NULL never clash", name)
		}
	}
	if c.rule.NullsUnsaid && c.rule.Nulls == rules.NullsDistinct {
		c.nullsUnsaid()
	}
}

// nullsUnsaid reports terms whose NULL lets rows slip past a rule that says
// nothing about NULL. Rows that the rule excepts for their NULL are fine.
func (c *check) nullsUnsaid() {
	for _, want := range c.wants {
		excepted := slices.ContainsFunc(c.rule.Except, func(e rules.Exception) bool {
			return e.Counts.Test == expression.NotNull && slices.Contains(want.term.Columns, e.Counts.Column)
		})
		if want.nullable && !excepted {
			c.add(codeNullsUnsaid, "", "write nulls: forbidden or nulls: same, or nulls: distinct if that is meant",
				"%s may be NULL, and rows with NULL never clash", want.term.Text)
		}
	}
}

// moments reports a rule whose fields are nothing but the time at which a row was made or changed, rounded or not.
func (c *check) moments() {
	only := !slices.ContainsFunc(c.rule.Fields, func(t rules.Term) bool {
		return len(t.Columns) == 0 || slices.ContainsFunc(t.Columns, func(name string) bool { return !moment.MatchString(strings.ToLower(name)) })
	})
	if only && len(c.rule.Fields) > 0 {
		c.add(codeWeakColumn, "", "name what the caller sends and a second request repeats, such as a number, or a key of the request",
			"%s says when, not what: two things can be of one time, and one thing that is sent twice of two", c.rule.Fields[0].Text)
	}
}

// weak reports a field that people wrongly take for unique.
func (c *check) weak(name string) {
	lower := strings.ToLower(name)
	alone := len(c.rule.Scope) == 0 || people.MatchString(strings.ToLower(c.table.Name))
	if personal.MatchString(lower) || alone && title.MatchString(lower) {
		c.add(codeWeakColumn, "", "name what tells them apart, such as a number or an id of another system, or a scope",
			"%s is the only field, and two that are not the same can have the same %s", name, name)
	}
}

// minted reports a rule that can never be broken, because the server makes a
// column of it.
func (c *check) minted() bool {
	found := false
	for _, want := range c.wants {
		column, ok := c.table.Column(want.term.Column)
		if ok && column.Minted && (wholeNumber(column.Base) || !slices.Contains(c.table.PrimaryKey(), column.Name)) {
			c.add(codeMinted, "", "name what the caller sends and a second request repeats",
				"the server gives each row its own %s, so that a row sent twice is two rows", column.Name)
			found = true
		}
	}
	return found
}

// wholeNumber reports whether a type has whole numbers only.
func wholeNumber(base string) bool {
	base = strings.TrimSuffix(base, " unsigned")
	return slices.Contains([]string{
		"int2", "int4", "int8", "int", "integer", "bigint", "smallint", "mediumint", "tinyint", "numeric", "decimal",
	}, base)
}

func inexact(base string) bool {
	base = strings.TrimSuffix(base, " unsigned")
	return slices.Contains([]string{"float4", "float8", "float", "double", "real", "double precision"}, base)
}

// uuid reports whether a column holds UUIDs as text.
func (c *check) uuid(name string) bool {
	column, ok := c.table.Column(name)
	if !ok || wholeNumber(column.Base) {
		return false
	}
	lower := strings.ToLower(name)
	return strings.Contains(lower, "uuid") || strings.Contains(lower, "guid") ||
		c.schema.Dialect != dialect.SQLite && strings.HasSuffix(column.Type, "(36)") && strings.HasSuffix(lower, "id")
}
