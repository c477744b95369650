package expression_test

import (
	"errors"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/rules/expression"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

func parse(tb testing.TB, text string) expression.Expr {
	tb.Helper()
	e, err := expression.Parse(text)
	if err != nil {
		tb.Fatal(err)
	}
	return e
}

// TestNotRead: what is wrong with an expression, and what to write instead.
func TestNotRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                  "a column is missing (write a column, or a function of one such as lower(email))",
		"now()":                             "now gives something else every time, so no database can index it (store the value in a column when the row is written, and name the column)",
		"date(now())":                       "now gives something else every time",
		"CURRENT_DATE":                      "CURRENT_DATE gives something else every time",
		"random()":                          "random gives something else every time",
		"(select max(n) from t)":            "select is a query, and no database indexes those",
		"first || last":                     "|| makes 'ab' with 'c' the same as 'a' with 'bc'",
		"concat(first, last)":               "name the columns as fields of their own",
		"email::text":                       "give the column the type",
		"lowr(email)":                       `the function "lowr" is not known (did you mean "lower"?)`,
		"LCASE(email)":                      "LCASE is called something else here (write lower)",
		"extract(year from d)":              "write year(x)",
		"frobnicate(email)":                 "use one of lower, upper",
		"lower()":                           "lower takes one argument, not 0",
		"lower(a, b)":                       "lower takes one argument, not 2",
		"lower(year(d))":                    "lower cannot be taken of year(d)",
		"year(lower(d))":                    "year cannot be taken of lower(d)",
		"hour(date(ts))":                    "hour cannot be taken of date(ts)",
		"lower('X')":                        "lower of a constant is the same in every row",
		"'x'":                               "a constant is the same in every row",
		"7":                                 "a constant is the same in every row",
		"utc(ts)":                           "utc(x) alone says the same as the column",
		"coalesce(a, b)":                    "coalesce takes a column and a constant",
		"coalesce(a)":                       "coalesce takes a column and a constant",
		"coalesce(year(d), 'x')":            "'x' is not a value that year(d) has",
		"coalesce(lower(a), 1)":             "1 is not a value that lower(a) has",
		"coalesce(a, 'x\\y')":               "a backslash, which databases read differently",
		"coalesce(a, 01)":                   "01 is not a number for an index",
		"coalesce(a, 1.5)":                  "a name has a dot",
		"coalesce(a, 99999999999999999999)": "is not a number for an index",
		"n + 1":                             "arithmetic differs between databases",
		"t.email":                           "a name has a dot",
		"lower(email":                       "a parenthesis is open",
		"lower(email))":                     "something follows where the expression ends",
		"email asc":                         "something follows where the expression ends",
		"email collate nocase":              `"collate" is SQL that databases read differently`,
		"'open":                             "a quote is open",
		`""`:                                "a name is empty",
		"lower(upper(lower(upper(lower(upper(lower(upper(lower(upper(a))))))))))": "functions are nested deeper than 8",
		strings.Repeat("a", 65):  "longer than 64 bytes",
		strings.Repeat("a", 301): "it has 301 bytes, more than 300",
		"e\u202email":            "holds control characters",
		"email;drop":             `";" means nothing here`,
		"is_null(lower(a))":      "is_null cannot be taken of lower(a)",
	} {
		e, err := expression.Parse(text)
		wrong, ok := errors.AsType[*expression.Error](err)
		if !ok || !strings.Contains(err.Error(), want) || wrong.Fix == "" || wrong.Offset > len(text) {
			t.Errorf("Parse(%q) = %v, %v, want an error with %q", text, e, err, want)
		}
	}
}

// TestNotExcepted is [TestNotRead] for exceptions.
func TestNotExcepted(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                       "a column is missing",
		"deleted_at":             "it says nothing about the column",
		"deleted_at is not null": "write is set for is not null",
		"deleted_at is gone":     `"gone" means nothing in an exception`,
		"a is set and b is set":  "exceptions have no and",
		"a = 1 or b = 2":         "exceptions have no or",
		"lower(a) = 'x'":         "exceptions look at a column, not at an expression",
		"status <> 'open'":       `"<>" means nothing`,
		"status = open":          "write a text in single quotes or a whole number",
		"status =":               "the value to compare status with is missing",
		"status = 'open":         "a quote is open",
		"status = 'a\\'":         "a backslash",
		strings.Repeat("a", 301): "more than 300",
	} {
		c, err := expression.ParseException(text)
		wrong, ok := errors.AsType[*expression.Error](err)
		if !ok || !strings.Contains(err.Error(), want) || wrong.Fix == "" {
			t.Errorf("ParseException(%q) = %v, %v, want an error with %q", text, c, err, want)
		}
	}
}

// TestCannotBeIndexed: an expression that one dialect cannot index, or not on a
// column of the type, is refused with what to write instead.
func TestCannotBeIndexed(t *testing.T) {
	t.Parallel()
	zoned := expression.ColumnTypes{"at": {Type: "timestamp with time zone"}}
	for _, tt := range []struct {
		d     dialect.Dialect
		text  string
		types expression.ColumnTypes
		want  string
	}{
		{dialect.PostgreSQL, "year(at)", zoned, "depends on the zone of the session (write year(utc(at)))"},
		{dialect.PostgreSQL, "year(date(at))", zoned, "write date(utc(at))"},
		{dialect.PostgreSQL, "coalesce(year(at), 0)", zoned, "write year(utc(at))"},
		{dialect.PostgreSQL, "year(utc(at))", zoned, ""},
		{dialect.PostgreSQL, "year(utc(at))", expression.ColumnTypes{"at": {Type: "timestamp without time zone"}}, "write it without utc"},
		{dialect.PostgreSQL, "year(at)", expression.ColumnTypes{"at": {Type: "timestamp without time zone"}}, ""},
		{dialect.PostgreSQL, "year(at)", expression.ColumnTypes{"at": {Type: "text"}}, "at is text, which is not a date"},
		{dialect.PostgreSQL, "hour(at)", expression.ColumnTypes{"at": {Type: "date"}}, "which has no hour"},
		{dialect.PostgreSQL, "lower(n)", expression.ColumnTypes{"n": {Type: "integer"}}, "n is integer, which has no letters"},
		{dialect.MySQL, "year(at)", expression.ColumnTypes{"at": {Type: "timestamp"}}, "keep the time in a DATETIME column in UTC"},
		{dialect.MySQL, "year(at)", expression.ColumnTypes{"AT": {Type: "datetime"}}, ""},
		{dialect.MySQL, "year(utc(at))", nil, "keep the time in a DATETIME column in UTC, and name that"},
		{dialect.MySQL, "lower(code)", expression.ColumnTypes{"code": {Type: "char(5)"}}, "make it VARCHAR"},
		{dialect.SQLite, "year(at)", expression.ColumnTypes{"at": {Type: "text"}}, ""},
	} {
		text, err := parse(t, tt.text).Render(tt.d, tt.types)
		if tt.want == "" && err == nil && text != "" {
			continue
		}
		if tt.want == "" || err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %s is rendered %q, %v, want %q", tt.d, tt.text, text, err, tt.want)
		}
	}
	p := expression.Predicate{{Column: "n", Test: expression.NotTrue}}
	if text, err := p.Render(dialect.PostgreSQL, expression.ColumnTypes{"n": {Type: "integer"}}); err == nil {
		t.Errorf("a number is tested for truth: %s", text)
	}
}

// TestCheckSQL: what in the words of a database cannot be indexed.
func TestCheckSQL(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"date(starts_at)": "", "((at AT TIME ZONE 'UTC')::date)": "", "regexp_replace(a, '-- ;', '')": "", "lower(now)": "", "a || b": "",
		"now()": "gives something else every time", "a; drop table t": "the end of a statement", "a -- b": "comment", "a /* b */": "comment",
		"lower/* x */(email)": "comment", "lower(email -- x\n)": "comment",
		"(select 1)": "is a query", "lower(a": "a parenthesis is open", "a)": "parentheses do not match", "(a": "a parenthesis is open", "'a": "a quote is open",
		"a\nb\x00": "control", "current_date": "every time", "random() + a": "every time",
	} {
		err := expression.CheckSQL(dialect.PostgreSQL, text)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("CheckSQL(%q) = %v, want %q", text, err, want)
		}
	}
}

// A column whose name is a keyword is quoted, and the written text can be read
// again.
func TestColumnsInQuotes(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"select": `"select"`, "Select": `"Select"`, "current_user": `"current_user"`, "user": "user", "é": `"é"`, "1a": `"1a"`} {
		text := expression.Column(name).String()
		read, err := expression.Parse(text)
		if got, _ := read.Column(); text != want || err != nil || got != name {
			t.Errorf("column %s is written %s and read as %q, %v", name, text, got, err)
		}
	}
	if _, err := expression.Parse("select"); err == nil || !strings.Contains(err.Error(), `write "select" in double quotes`) {
		t.Errorf("select: %v", err)
	}
}

// collated(x) is the column, under the name that says how it compares; nothing goes around it.
func TestCollated(t *testing.T) {
	t.Parallel()
	e, err := expression.Parse(`collated("Odd Name")`)
	if err != nil {
		t.Fatal(err)
	}
	if name, ok := e.Column(); !ok || name != "Odd Name" || !e.IsCollated() || e.String() != `collated("Odd Name")` || e.Equal(expression.Column(name)) {
		t.Errorf("got %v, the column %q", e, name)
	}
	for _, text := range []string{"lower(collated(x))", "collated(lower(x))", "collated('x')", "coalesce(collated(x), 'y')", "collated(x, y)"} {
		if e, err := expression.Parse(text); err == nil {
			t.Errorf("%s is read as %s", text, e)
		}
	}
}

// FuzzExpression: whatever is read from a file is written so that it is read again.
func FuzzExpression(f *testing.F) {
	for _, seed := range []string{
		"lower(trim(email))", "coalesce(a, 'it''s')", `"Odd ""Name"`, "now()", "((((", "a::b(", "is_null(a)",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if e, err := expression.Parse(text); err == nil {
			again, err := expression.Parse(e.String())
			if err != nil || !again.Equal(e) || len(e.Columns()) == 0 {
				t.Errorf("%q is read as %s, and that as %s, %v", text, e, again, err)
			}
		}
		_, _ = expression.ParseException(text)
		for _, d := range dialect.All() {
			_ = expression.CheckSQL(d, text)
		}
	})
}
