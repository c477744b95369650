package expression

import (
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/texts"
)

// result says what kind of value an expression has, as far as the language
// knows without a database.
type result uint8

const (
	anything result = iota // a column
	text
	whole // a whole number
	day   // a date
	instant
	truth
)

// function is one function of the language.
type function struct {
	name string
	// takes lists the results that the first argument may have.
	takes []result
	gives result
	// takesColumn says that the first argument must be a column.
	takesColumn bool
}

// collated is the function that is the column itself, compared as its collation does.
const collated = "collated"

func functions() []function {
	return []function{
		{name: "lower", takes: []result{anything, text}, gives: text},
		{name: "upper", takes: []result{anything, text}, gives: text},
		{name: "trim", takes: []result{anything, text}, gives: text},
		{name: "year", takes: []result{anything, instant, day}, gives: whole},
		{name: "month", takes: []result{anything, instant, day}, gives: whole},
		{name: "day", takes: []result{anything, instant, day}, gives: whole},
		{name: "hour", takes: []result{anything, instant}, gives: whole},
		{name: "date", takes: []result{anything, instant}, gives: day},
		{name: "utc", takesColumn: true, takes: []result{anything}, gives: instant},
		{name: "coalesce", takes: []result{anything, text, whole}, gives: anything},
		{name: "is_null", takesColumn: true, takes: []result{anything}, gives: truth},
		{name: collated, takesColumn: true, takes: []result{anything}, gives: anything},
	}
}

// Functions lists the functions of the language.
func Functions() []string { return texts.Of(functions(), func(f function) string { return f.name }) }

func functionNamed(name string) (function, bool) {
	all := functions()
	i := slices.IndexFunc(all, func(f function) bool { return f.name == name })
	if i < 0 {
		return function{}, false
	}
	return all[i], true
}

// IsPart reports whether the function takes a part out of a date or a time.
func IsPart(name string) bool {
	return slices.Contains([]string{"year", "month", "day", "hour"}, name)
}

// gives returns the kind of value that the expression has.
func (e Expr) gives() result {
	if e.kind != call {
		return anything
	}
	f, _ := functionNamed(e.name)
	if e.name == "coalesce" {
		return e.args[0].gives()
	}
	return f.gives
}

// MayBeText reports whether the expression can be a text, which a collation compares.
func (e Expr) MayBeText() bool { return e.gives() <= text }

// IsNumber reports whether the expression is a whole number, as far as the language knows.
func (e Expr) IsNumber() bool { return e.gives() == whole }

// IsInstant reports whether the expression is a time with a zone, of which only a part can be indexed.
func (e Expr) IsInstant() bool { return e.gives() == instant }

// Accepted reports whether the function exists and takes the expression.
func (e Expr) Accepted(name string) bool {
	f, known := functionNamed(name)
	return known && e.kind != constant && (!f.takesColumn || e.kind == column) && f.accepts(e.gives())
}

// NeverNull reports whether the expression is not NULL whatever its columns are.
func (e Expr) NeverNull() bool {
	return e.kind == call && (e.name == "coalesce" || e.name == "is_null")
}

// notHere explains words that people write and the language lacks: the fault,
// and what to write instead.
func notHere(name string) (message, fix string, ok bool) {
	const (
		moving  = "gives something else every time, so no database can index it"
		keep    = "store the value in a column when the row is written, and name the column"
		another = "is called something else here"
	)
	switch strings.ToLower(name) {
	case "now", "current_date", "current_time", "current_timestamp", "sysdate", "localtime", "localtimestamp", "getdate",
		"utc_timestamp", "utc_date", "clock_timestamp", "statement_timestamp", "transaction_timestamp", "unix_timestamp", "julianday", "age":
		return moving, keep, true
	case "random", "rand", "uuid", "gen_random_uuid", "uuid_generate_v4", "randomblob", "nextval", "last_insert_id":
		return moving, keep, true
	case "current_user", "session_user", "user", "database", "version", "current_setting", "connection_id":
		return "depends on who asks, so no database can index it", keep, true
	case "concat", "concat_ws", "group_concat", "string_agg":
		return "makes 'ab' with 'c' the same as 'a' with 'bc'", "name the columns as fields of their own: [first, second]", true
	case "extract", "date_part", "date_trunc", "to_char", "date_format", "strftime", "datepart":
		return "differs between databases, or depends on the language of the session", "write year(x), month(x), day(x), hour(x) or date(x)", true
	case "week", "weekofyear", "isoweek", "yearweek", "quarter", "dayofweek", "weekday", "minute", "second":
		return "is not among the functions, as databases count it differently or no rule needs it", "store it in a column, and name the column", true
	case "lcase":
		return another, "write lower", true
	case "ucase":
		return another, "write upper", true
	case "btrim", "ltrim", "rtrim", "strip":
		return another, "write trim, which takes spaces away at both ends", true
	case "ifnull", "nvl", "isnull":
		return another, "write coalesce(x, 'constant'), or is_null(x)", true
	case "dayofmonth":
		return another, "write day", true
	case "select", "exists":
		return "is a query, and no database indexes those", "copy the value into a column of this table, and name the column", true
	case "cast", "convert":
		return "is not among the functions, as what a value becomes differs between databases", "give the column the type, or write the expression for each dialect: {postgresql: …, mysql: …, sqlite: …, columns: […]}", true
	case "unaccent":
		return "can change with a dictionary, so PostgreSQL does not index it", "use a collation that ignores accents, or store the text without them in a column", true
	}
	return "", "", false
}
