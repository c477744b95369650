package expression

import (
	"fmt"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
)

// ColumnType describes a column.
type ColumnType struct {
	// Type is the type in the server's words, such as "timestamp with time zone";
	// "" when it is not known.
	Type string
	// NotNull says that the column is never NULL.
	NotNull bool
}

// ColumnTypes are the columns of a table, by name. nil: nothing is known of
// them, and checks of types pass.
type ColumnTypes map[string]ColumnType

// Of returns the known type of a column.
func (c ColumnTypes) Of(name string) ColumnType {
	if t, ok := c[name]; ok {
		return t
	}
	for other, t := range c {
		if strings.EqualFold(other, name) {
			return t
		}
	}
	return ColumnType{}
}

// Render writes the expression in the words of a dialect, without parentheses
// around it: a part of an index that is not a plain column needs them. The error is
// an [*Error] that says why the dialect cannot index the expression, or not on
// columns of these types, and what to write instead.
func (e Expr) Render(d dialect.Dialect, types ColumnTypes) (string, error) {
	if err := e.check(d, types); err != nil {
		return "", err
	}
	return e.render(d), nil
}

func (e Expr) render(d dialect.Dialect) string {
	switch e.kind {
	case none:
		return ""
	case column:
		return d.Quote(e.name)
	case constant:
		return e.constant.String()
	case call:
	}
	x := e.args[0].render(d)
	switch {
	case e.name == "coalesce":
		return "coalesce(" + x + ", " + e.args[1].render(d) + ")"
	case e.name == "is_null":
		return "(" + x + " IS NULL)"
	case e.name == "lower", e.name == "upper":
		return e.name + "(" + x + ")"
	case e.name == "trim" && d == dialect.PostgreSQL:
		return "btrim(" + x + ")"
	case e.name == "trim":
		return "trim(" + x + ")"
	case e.name == "utc" && d == dialect.PostgreSQL:
		return "(" + x + " AT TIME ZONE 'UTC')"
	case e.name == "utc": // SQLite's functions count in UTC
		return x
	}
	return e.renderDate(d, x)
}

// renderDate writes the extraction of a part of a date or a time.
func (e Expr) renderDate(d dialect.Dialect, x string) string {
	switch d {
	case dialect.PostgreSQL:
		if e.name == "date" {
			return "CAST(" + x + " AS date)"
		}
		return "EXTRACT(" + e.name + " FROM " + x + ")"
	case dialect.MySQL:
		switch e.name {
		case "date":
			return "CAST(" + x + " AS date)"
		case "day":
			return "dayofmonth(" + x + ")"
		}
		return e.name + "(" + x + ")"
	case dialect.SQLite:
		if e.name == "date" {
			return "date(" + x + ")"
		}
		return "CAST(strftime('" + strftime(e.name) + "', " + x + ") AS INTEGER)"
	}
	return ""
}

// strftime is SQLite's format for a part of a date.
func strftime(part string) string {
	return map[string]string{"year": "%Y", "month": "%m", "day": "%d", "hour": "%H"}[part]
}

// check says why the dialect cannot index the expression.
func (e Expr) check(d dialect.Dialect, types ColumnTypes) error {
	if e.kind != call {
		return nil
	}
	wrong := func(fix, format string, args ...any) error {
		return &Error{Text: e.String(), Message: d.String() + ": " + fmt.Sprintf(format, args...), Fix: fix}
	}
	if e.name == "utc" && d == dialect.MySQL {
		return wrong("keep the time in a DATETIME column in UTC, and name that", "a time is not converted from the session's zone in an index")
	}
	name, bare := e.args[0].Column()
	t := strings.ToLower(types.Of(name).Type)
	if bare && d == dialect.MySQL && strings.HasPrefix(t, "char") && e.name != "is_null" {
		return wrong("make it VARCHAR", "%s is CHAR, whose spaces depend on the mode of the session, so MariaDB does not index %s of it", name, e.name)
	}
	if f, _ := functionNamed(e.name); bare && t != "" {
		switch f.gives {
		case whole, day, instant:
			if err := e.checkTime(d, name, t, wrong); err != nil {
				return err
			}
		case text:
			if isTime(t) || isNumber(t) {
				return wrong("write "+d.Quote(name)+" alone", "%s is %s, which has no letters", name, t)
			}
		case anything, truth:
		}
	}
	for _, arg := range e.args {
		if err := arg.check(d, types); err != nil {
			return err
		}
	}
	return nil
}

// checkTime reports a column that has no date, or one that depends on the zone
// of the session.
func (e Expr) checkTime(d dialect.Dialect, name, t string, wrong func(fix, format string, args ...any) error) error {
	zoned := d == dialect.PostgreSQL && (strings.HasPrefix(t, "timestamptz") || strings.HasSuffix(t, "with time zone"))
	switch {
	case e.name == "utc" && d == dialect.PostgreSQL && !zoned:
		return wrong("write it without utc", "%s is %s, which has no zone", name, t)
	case e.name == "utc":
		return nil
	case zoned:
		return wrong(fmt.Sprintf("write %s(utc(%s))", e.name, name), "%s is %s, and what %s it is depends on the zone of the session", name, t, e.name)
	case d == dialect.MySQL && strings.HasPrefix(t, "timestamp"):
		return wrong("keep the time in a DATETIME column in UTC", "%s is TIMESTAMP, and what %s it is depends on the zone of the session", name, e.name)
	case e.name == "hour" && t == "date":
		return wrong("write date or remove it", "%s is a date, which has no hour", name)
	case d != dialect.SQLite && !isTime(t):
		return wrong("name a column with a date", "%s is %s, which is not a date", name, t)
	}
	return nil
}

func isTime(t string) bool { return strings.HasPrefix(t, "date") || strings.HasPrefix(t, "timestamp") }

func isNumber(t string) bool {
	for _, prefix := range []string{"int", "bigint", "smallint", "tinyint", "mediumint", "serial", "bigserial", "numeric", "decimal", "double", "float", "real", "bool", "uuid"} {
		if strings.HasPrefix(t, prefix) {
			return true
		}
	}
	return false
}
