package rerun

import (
	"database/sql"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/schema/catalog"
)

// family is a family of types whose values are made alike.
type family uint8

const (
	whole family = iota
	fraction
	truth
	word
	moment
	day
	clock
	document
	uuid
	binary
	list
	other
)

// familyOf names the family of a column.
func familyOf(d dialect.Dialect, c *catalog.Column, checks string) family {
	kind := strings.ToLower(c.Base)
	switch {
	case d == dialect.PostgreSQL && strings.HasPrefix(kind, "_"):
		return list
	case strings.Contains(checks, "json_valid(`"+c.Name+"`"), strings.Contains(kind, "json"),
		d != dialect.PostgreSQL && (strings.HasPrefix(strings.Trim(c.Default, "'\""), "{") || strings.HasPrefix(strings.Trim(c.Default, "'\""), "[")):
		return document
	case strings.Contains(kind, "uuid"):
		return uuid
	case strings.Contains(kind, "timestamp"), strings.Contains(kind, "datetime"):
		return moment
	case kind == "date":
		return day
	case strings.HasPrefix(kind, "time"):
		return clock
	case strings.HasPrefix(kind, "bool"):
		return truth
	case strings.Contains(kind, "int") && kind != "interval" && kind != "point", kind == "year", kind == "bit" && d == dialect.MySQL, kind == "" && d == dialect.SQLite:
		return whole
	case kind == "numeric", kind == "decimal", kind == "real", kind == "money", strings.HasPrefix(kind, "double"), strings.HasPrefix(kind, "float"):
		return fraction
	case strings.Contains(kind, "blob"), strings.Contains(kind, "binary"), kind == "bytea":
		return binary
	case d == dialect.SQLite && (strings.HasSuffix(c.Name, "_at") || c.Name == "at"):
		return moment
	case strings.Contains(kind, "char"), strings.Contains(kind, "text"), strings.Contains(kind, "clob"), kind == "name":
		return word
	case d == dialect.SQLite:
		return whole
	}
	return other
}

// pool lists values of a family: texts with blanks inside and letters that repeat, numbers of both signs, times of
// several years.
func (f family) pool() []string {
	switch f {
	case whole:
		return []string{"-7", "-1", "0", "1", "2", "3", "4", "5", "6", "7", "8", "10", "12", "15", "40"}
	case fraction:
		return []string{"-7.5", "-1", "0", "0.5", "1", "1.25", "2", "3.75", "5", "10"}
	case truth:
		return []string{"true", "false"}
	case moment:
		return []string{"2020-01-01 00:00:00", "2021-01-01 00:00:00", "2023-01-01 00:00:00", "2025-01-01 00:00:00", "2028-01-01 00:00:00", "2031-01-01 00:00:00"}
	case day:
		return []string{"2020-01-01", "2023-01-01", "2025-01-01", "2028-01-01"}
	case clock:
		return []string{"00:00:00", "08:30:00", "23:59:59"}
	case document:
		return []string{"{}", `{"a":0}`, `{"a":1,"b":[1,2,3]}`, "[1]", "[1,2,3,4]"}
	case uuid:
		return []string{"00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002"}
	case list:
		return []string{"{}", "{1}", "{1,2,3}", "{1,1}"}
	case other:
		return []string{"1", "127.0.0.1", "1 hour", "(1,1)", "[1,2)"}
	case word, binary:
	}
	return []string{" nAme ", "abba", "aaaa", "ab c", "a  b", "x", "ABC", "abc"}
}

// distinct is the nth of the values of a family that differ from each other.
func (f family) distinct(n int) string {
	switch f {
	case whole, fraction, other:
		return strconv.Itoa(n + 1)
	case truth:
		return strconv.FormatBool(n == 0)
	case moment:
		return fmt.Sprintf("%d-01-01 00:00:00", 2018+n*2)
	case day:
		return fmt.Sprintf("%d-01-01", 2018+n*2)
	case clock:
		return fmt.Sprintf("%02d:30:00", n%24)
	case document:
		return fmt.Sprintf(`{"a":%d}`, n)
	case uuid:
		return fmt.Sprintf("00000000-0000-4000-8000-%012d", n+1)
	case list:
		return fmt.Sprintf("{%d}", n)
	case word, binary:
	}
	return fmt.Sprintf("u%d x", n)
}

var numeral = regexp.MustCompile(`^-?\d{1,18}(\.\d{1,9})?$`)

// takes reports whether a constant may be a value of the family.
func (f family) takes(constant string) bool {
	switch f {
	case whole, fraction:
		return numeral.MatchString(constant)
	case truth:
		return constant == "true" || constant == "false"
	case moment, day, clock:
		return len(constant) > 4 && constant[0] >= '0' && constant[0] <= '9'
	case document:
		return strings.HasPrefix(constant, "{") || strings.HasPrefix(constant, "[")
	case list:
		return strings.HasPrefix(constant, "{")
	case uuid:
		return len(constant) == len("00000000-0000-4000-8000-000000000001")
	case word, binary, other:
	}
	return true
}

// near are a constant and the values next to it.
func (f family) near(constant string) []string {
	switch f {
	case whole:
		if n, err := strconv.ParseInt(constant, 10, 64); err == nil {
			return []string{constant, strconv.FormatInt(n-1, 10), strconv.FormatInt(n+1, 10)}
		}
	case word:
		return []string{constant, strings.ToUpper(constant), strings.ToLower(constant), constant + " ", " " + constant}
	case fraction, truth, moment, day, clock, document, uuid, binary, list, other:
	}
	return []string{constant}
}

// literal writes a value as a statement has it.
func literal(d dialect.Dialect, f family, v sql.NullString) string {
	switch {
	case !v.Valid:
		return "NULL"
	case d != dialect.PostgreSQL && (f == whole || f == fraction) && numeral.MatchString(v.String):
		return v.String
	case d != dialect.PostgreSQL && f == truth:
		return map[bool]string{true: "1", false: "0"}[v.String == "true"]
	}
	return quoted(d, v.String)
}

// quoted writes a text in quotes.
func quoted(d dialect.Dialect, s string) string {
	s = strings.ReplaceAll(strings.ReplaceAll(s, "\x00", ""), "'", "''")
	if d == dialect.MySQL {
		s = strings.ReplaceAll(s, `\`, `\\`)
	}
	return "'" + s + "'"
}
