package serversql_test

import (
	"fmt"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/rules/expression"
	"github.com/semel-dev/semel/schema/internal/predicate"
	"github.com/semel-dev/semel/schema/internal/serversql"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	pg     = dialect.PostgreSQL
	my     = dialect.MySQL
	sqlite = dialect.SQLite
)

// TestExpression: SQL that servers of other versions write back, and that
// people type; "" means that it must not be understood.
func TestExpression(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		d          dialect.Dialect
		text, want string
	}{
		{pg, "lower(TRIM(BOTH FROM email))", "lower(trim(email))"},
		{pg, "lower(btrim((email)::text))", "lower(trim(email))"},
		{pg, "((lower((email)::character varying)))", "lower(email)"},
		{pg, "date_part('year'::text, issued_on)", "year(issued_on)"},
		{pg, "EXTRACT(year FROM issued_on)", "year(issued_on)"},
		{pg, "(EXTRACT(year FROM issued_on))::integer", "year(issued_on)"},
		{pg, "date_part('year'::text, timezone('UTC'::text, at))", "year(utc(at))"},
		{pg, "(((at AT TIME ZONE 'UTC'::text))::date)", "date(utc(at))"},
		{pg, "date(at)", "date(at)"},
		{pg, "COALESCE(n, ('-5'::integer)::bigint)", "coalesce(n, -5)"},
		{pg, "COALESCE(d, '1900-01-01'::date)", "coalesce(d, '1900-01-01')"},
		{pg, `lower("Odd ""Name")`, `lower("Odd ""Name")`},
		{my, "lcase(trim(`email`))", "lower(trim(email))"},
		{my, "(lower(trim(`email`)))", "lower(trim(email))"},
		{my, "extract(year from `d`)", "year(d)"},
		{my, "dayofmonth(`d`)", "day(d)"},
		{my, "day(`d`)", "day(d)"},
		{my, "cast(`ts` as date)", "date(ts)"},
		{my, "ifnull(`n`,0)", "coalesce(n, 0)"},
		{my, "coalesce(`note`,'it\\'s')", "coalesce(note, 'it''s')"},
		{my, `coalesce(` + "`note`" + `,_utf8mb4\'none\')`, "coalesce(note, 'none')"},
		{my, "(`n` is null)", "is_null(n)"},
		{my, "isnull(`n`)", "is_null(n)"},
		{sqlite, `lower(trim("email"))`, "lower(trim(email))"},
		{sqlite, `LOWER( [email] )`, "lower(email)"},
		{sqlite, "CAST(strftime('%Y', issued_on) AS INTEGER)", "year(issued_on)"},
		{sqlite, "strftime('%m', issued_on)", "month(issued_on)"},
		{sqlite, "ifnull(n, -1)", "coalesce(n, -1)"},
		{sqlite, "n IS NULL", "is_null(n)"},

		{pg, "(email)::character varying(3)", ""}, // it cuts
		{pg, "lower(email COLLATE \"C\")", ""},
		{pg, "(((at AT TIME ZONE 'Europe/Stockholm'::text))::date)", ""},
		{pg, "(amount)::integer", ""}, // it rounds
		{pg, "date_part('week'::text, d)", ""},
		{pg, "COALESCE(a, b)", ""},
		{pg, "COALESCE(a, 'x'::text, 'y'::text)", ""},
		{pg, "(a || b)", ""},
		{pg, "md5(a)", ""},
		{pg, "lower(a", ""},
		{pg, "'x'::text", ""},
		{pg, "", ""},
		{pg, "\"a", ""},
		{sqlite, "strftime('%W', d)", ""},
		{sqlite, "strftime('%Y', d, 'localtime')", ""},
		{sqlite, "trim(a, 'x')", ""},
		{my, "left(`a`,3)", ""},
		{my, "json_unquote(json_extract(`a`,'$.b'))", ""},
		{pg, strings.Repeat("(", 5000) + "a" + strings.Repeat(")", 5000), ""},
		{pg, strings.Repeat("lower(", 9000) + "a", ""},
	} {
		got, ok := serversql.Expression(tt.d, tt.text)
		if got.String() != tt.want || ok != (tt.want != "") {
			t.Errorf("%s: %s is read as %q, %v, want %q", tt.d, tt.text, got, ok, tt.want)
		}
	}
}

// TestPredicate is [TestExpression] for predicates: want is a
// predicate as PostgreSQL would have it, "-" means that it must not be read.
func TestPredicate(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		d          dialect.Dialect
		text, want string
	}{
		{pg, "", ""},
		{pg, "(deleted_at IS NULL)", `"deleted_at" IS NULL`},
		{pg, "((merged_into IS NULL) AND (deleted_at IS NULL))", `"deleted_at" IS NULL AND "merged_into" IS NULL`},
		{pg, "(NOT archived)", `"archived" IS FALSE`},
		{pg, "archived", `"archived" IS TRUE`},
		{pg, "(NOT (archived IS TRUE))", `"archived" IS NOT TRUE`},
		{pg, "(archived IS NOT TRUE)", `"archived" IS NOT TRUE`},
		{pg, "(archived = false)", `"archived" IS FALSE`},
		{pg, "((status)::text <> 'cancelled'::text)", `"status" <> 'cancelled'`},
		{pg, "(status IS DISTINCT FROM 'cancelled'::status)", `"status" IS DISTINCT FROM 'cancelled'`},
		{pg, "((status)::text <> ALL ((ARRAY['a'::character varying, 'b'::character varying])::text[]))", `"status" <> 'a' AND "status" <> 'b'`},
		{pg, "(kind <> '-3'::integer)", `"kind" <> -3`},
		{pg, "(NOT (status = 'a'::text))", `"status" <> 'a'`},
		{pg, "((status)::text = 'a'::text)", `"status" = 'a'`},
		{my, "`deleted_at` is null and !(`status` <=> 'x')", `"deleted_at" IS NULL AND "status" IS DISTINCT FROM 'x'`},
		{my, "((`deleted_at` is null) and (not((`status` <=> _utf8mb4'x'))))", `"deleted_at" IS NULL AND "status" IS DISTINCT FROM 'x'`},
		{sqlite, "deleted_at ISNULL", `"deleted_at" IS NULL`},
		{sqlite, "deleted_at NOT NULL", `"deleted_at" IS NOT NULL`},
		{sqlite, "status IS NOT 'x'", `"status" IS DISTINCT FROM 'x'`},
		{sqlite, "status IS 'x'", `"status" = 'x'`},
		{sqlite, "status NOT IN ('a', 'b') AND archived = 0", `"archived" = 0 AND "status" <> 'a' AND "status" <> 'b'`},

		{pg, "((a IS NULL) OR (b IS NULL))", "-"},
		{pg, "(lower(a) = 'x'::text)", "-"},
		{pg, "(a = b)", "-"},
		{pg, "(n > 3)", "-"},
		{pg, "(NOT ((a IS NULL) AND (b IS NULL)))", "-"},
		{pg, "((a)::character varying(2) = 'x')", "-"},
		{sqlite, "a IS NULL AND", "-"},
		{sqlite, "a IS NULL;", "-"},
		{sqlite, "a IS NULL" + strings.Repeat(" AND b IS NULL", 100), "-"},
		{sqlite, "a NOT IN (0" + strings.Repeat(", 1", 100) + ")", "-"},
	} {
		got, ok := serversql.Predicate(tt.d, tt.text)
		if ok != (tt.want != "-") || ok && got.String() != tt.want {
			t.Errorf("%s: %s is read as %q, %v, want %q", tt.d, tt.text, got, ok, tt.want)
		}
	}
}

// TestGuardedFromCatalog: how people make an index partial in MySQL.
func TestGuardedFromCatalog(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]string{
		"if(`deleted_at` is null,`email`,NULL)":                  {`"deleted_at" IS NULL`, "email"},
		"case when `deleted_at` is null then lcase(`email`) end": {`"deleted_at" IS NULL`, "lower(email)"},
		"case when (`deleted_at` is null) then 1 else NULL end":  {`"deleted_at" IS NULL`, ""},
		"if(`deleted_at` is null and `archived` = 0,1,NULL)":     {`"archived" = 0 AND "deleted_at" IS NULL`, ""},
	} {
		p, value, ok := serversql.Guarded(my, text)
		if got := [2]string{p.String(), value.String()}; !ok || got != want {
			t.Errorf("%s is read as %q, %v, want %q", text, got, ok, want)
		}
	}
	for _, text := range []string{"if(`a` is null,1,0)", "case when `a` is null then 1 else 2 end", "`a`", "case when `a` > 1 then 1 end", "if(`a` is null, md5(`b`), NULL)"} {
		if p, value, ok := serversql.Guarded(my, text); ok {
			t.Errorf("%s is read as %q, %q", text, p, value)
		}
	}
}

// TestSame: what is written differently and is the same, and what is not.
func TestSame(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		d    dialect.Dialect
		a, b string
		want bool
	}{
		{pg, "lower(trim(a))", "trim(lower(a))", true},
		{pg, "lower(lower(a))", "lower(a)", true},
		{pg, "trim(upper(trim(lower(trim(a)))))", "upper(lower(trim(a)))", true},
		{pg, "upper(lower(a))", "lower(upper(a))", false},
		{pg, "year(date(a))", "year(a)", true},
		{pg, "date(d)", "d", true},
		{sqlite, "date(d)", "d", false},
		{sqlite, "year(utc(a))", "year(a)", true},
		{pg, "year(utc(a))", "year(a)", false},
		{my, "Email", "email", true},
		{sqlite, "lower(Email)", "lower(email)", true},
		{pg, "Email", "email", false},
		{pg, "lower(a)", "upper(a)", false},
		{pg, "lower(a)", "a", false},
		{pg, "coalesce(a, '0')", "coalesce(a, 0)", false},
		{pg, "coalesce(a, 'x')", "coalesce(a, 'y')", false},
		{pg, "year(a)", "month(a)", false},
	} {
		types := expression.ColumnTypes{}
		if tt.d == pg {
			types["d"] = expression.ColumnType{Type: "date"}
		}
		if got := expression.Same(tt.d, parse(t, tt.a), parse(t, tt.b), types); got != tt.want {
			t.Errorf("%s: Same(%s, %s) = %v", tt.d, tt.a, tt.b, got)
		}
	}
}

// TestSamePredicate: a column that is never NULL makes conditions the same.
func TestSamePredicate(t *testing.T) {
	t.Parallel()
	notNull := expression.ColumnTypes{"a": {Type: "tinyint(1)", NotNull: true}, "b": {Type: "boolean", NotNull: true}}
	for _, tt := range []struct {
		d     dialect.Dialect
		a, b  string
		types expression.ColumnTypes
		want  bool
	}{
		{pg, "s IS DISTINCT FROM 'x'", "s <> 'x'", nil, false},
		{pg, "a IS DISTINCT FROM 'x'", "a <> 'x'", notNull, true},
		{pg, "s IS NOT NULL AND s <> 'x'", "s IS DISTINCT FROM 'x' AND s IS NOT NULL", nil, true},
		{pg, "b IS NOT TRUE", "NOT b", nil, false},
		{pg, "b IS NOT TRUE", "NOT b", notNull, true},
		{pg, "a IS NULL AND b IS NULL", "b IS NULL AND a IS NULL AND a IS NULL", nil, true},
		{pg, "c IS NULL AND b IS NULL", "c IS NULL", nil, false},
		{pg, "b IS NOT NULL AND c IS NULL", "c IS NULL", notNull, true},
		{my, "a is not true", "a = 0", notNull, true},
		{my, "a is not false", "a = 1", notNull, true},
		{my, "c is not false", "c = 1", nil, false},
		{sqlite, "c IS NOT TRUE", "c = 0", nil, false},
		{sqlite, "C IS NULL", "c IS NULL", nil, true},
		{pg, `"C" IS NULL`, "c IS NULL", nil, false},
		{pg, "c = 'x'", "c = 'y'", nil, false},
	} {
		a, ok := serversql.Predicate(tt.d, tt.a)
		b, okToo := serversql.Predicate(tt.d, tt.b)
		if got := predicate.Same(tt.d, a, b, tt.types); !ok || !okToo || got != tt.want {
			t.Errorf("%s: SamePredicate(%s, %s) = %v, want %v (%v, %v)", tt.d, tt.a, tt.b, got, tt.want, ok, okToo)
		}
	}
}

// TestSameText: what the language cannot say is compared word by word.
func TestSameText(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"left(email, 3)", `"left"(("email")::text, 3)`, true},
		{"LEFT( Email,3 )", "left(email, 3)", true},
		{`left("Email", 3)`, "left(email, 3)", false},
		{"left(email, 3)", "left(email, 4)", false},
		{"replace(a, 'X', '')", "replace(a, 'x', '')", false},
		{"(at)::date", "at", false},
		{"'a", "'a", false},
	} {
		if got := serversql.Same(pg, tt.a, tt.b); got != tt.want {
			t.Errorf("Same(%s, %s) = %v", tt.a, tt.b, got)
		}
	}
}

// FuzzServerSQL: whatever a catalogue holds is read without harm.
func FuzzServerSQL(f *testing.F) {
	for _, seed := range []string{
		"EXTRACT(year FROM (at AT TIME ZONE 'UTC'::text))",
		"case when `a` is null and !(`b` <=> 'x') then 1 end", "(s <> ALL ((ARRAY['a'::text])::text[]))", "now()", "((((", "a::b(", "_utf8mb4\\'", "x IS NOT", "is_null(a)",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, d := range dialect.All() {
			if e, ok := serversql.Expression(d, text); ok && !expression.Same(d, e, e, nil) {
				t.Errorf("%s: %q is read as %s, which is not itself", d, text, e)
			}
			if p, ok := serversql.Predicate(d, text); ok {
				checkRendered(t, d, p)
			}
			_, _, _ = serversql.Guarded(d, text)
		}
	})
}

// checkRendered: a predicate that was read is rendered as the same one.
func checkRendered(t *testing.T, d dialect.Dialect, p expression.Predicate) {
	t.Helper()
	text, err := p.Render(d, nil)
	if err != nil {
		t.Errorf("%s cannot be rendered: %v", p, err)
	}
	again, ok := serversql.Predicate(d, text)
	if !strings.Contains(text, `\`) && (!ok || !predicate.Same(d, p, again, nil)) {
		t.Errorf("%s: %s is rendered %s, and that is read as %s, %v", d, p, text, again, ok)
	}
}

func parse(tb testing.TB, text string) expression.Expr {
	tb.Helper()
	e, err := expression.Parse(text)
	if err != nil {
		tb.Fatal(err)
	}
	return e
}

// expressions generates sound expressions of the columns of [table].
func expressions() *rapid.Generator[expression.Expr] {
	return rapid.Custom(func(t *rapid.T) expression.Expr {
		text := rapid.SampledFrom([]string{"email", "note", `"Odd Name"`, "code"}).Draw(t, "text")
		for range rapid.IntRange(0, 3).Draw(t, "nesting") {
			text = rapid.SampledFrom([]string{"lower", "upper", "trim"}).Draw(t, "function") + "(" + text + ")"
		}
		part := rapid.SampledFrom([]string{"year(d)", "month(ts)", "day(d)", "hour(ts)", "year(date(ts))", "year(utc(tz))", "hour(utc(tz))"}).Draw(t, "part")
		constant := "'" + strings.ReplaceAll(rapid.StringMatching(`[a-z' %_?$:é日-]{0,12}`).Draw(t, "constant"), "'", "''") + "'"
		number := rapid.Int32().Draw(t, "number")
		s := rapid.SampledFrom([]string{
			text, "coalesce(" + text + ", " + constant + ")", fmt.Sprintf("coalesce(n, %d)", number),
			part, fmt.Sprintf("coalesce(%s, %d)", part, number), "date(ts)", "date(utc(tz))", "is_null(b)",
		}).Draw(t, "expression")
		e, err := expression.Parse(s)
		if err != nil {
			t.Fatalf("%s: %v", s, err)
		}
		return e
	})
}

// TestTextRoundTrip: an expression reads as it is written, and as every dialect
// writes it.
func TestTextRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		e := expressions().Draw(t, "e")
		if got, err := expression.Parse(e.String()); err != nil || !got.Equal(e) {
			t.Fatalf("Parse(%s) = %s, %v", e, got, err)
		}
		for _, d := range dialect.All() {
			text, err := e.Render(d, nil)
			if err != nil {
				continue
			}
			if got, ok := serversql.Expression(d, text); !ok || !expression.Same(d, got, e, nil) {
				t.Fatalf("%s: %s reads as %s, %v, want %s", d, text, got, ok, e)
			}
		}
	})
}
