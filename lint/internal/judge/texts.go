package judge

import (
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/lint/internal/tree"
)

// Texts become the time of the run: 'now' as a timestamp in PostgreSQL, and as an argument of date() in SQLite.

// timedEffect looks for an argument that may be 'now', or for one that is left out, which means it.
func (j *judge) timedEffect(c *tree.Call) effect {
	least := 1
	if c.Name == "strftime" || c.Name == "age" {
		least = 2
	}
	taken := c.Args
	if len(taken) < least {
		return clock
	}
	switch j.dialect {
	case dialect.MySQL:
		return pure
	case dialect.PostgreSQL:
		if c.Name != "age" && slices.ContainsFunc(taken, j.mayBeNow) {
			return clock
		}
		return pure
	case dialect.SQLite:
	}
	switch c.Name {
	case "strftime": // behind its format
		taken = taken[1:2]
	case "timediff":
	default:
		taken = taken[:1]
	}
	if slices.ContainsFunc(taken, j.mayBeNowInSQLite) || slices.ContainsFunc(c.Args, isLocal) {
		return clock
	}
	return pure
}

// mayBeNowInSQLite reports whether the time value of a date function may be a text that means the time of the run.
func (j *judge) mayBeNowInSQLite(e tree.Expr) bool {
	if l := literal(e); l != nil {
		return l.Kind == tree.String && (l.Text == "" || slices.Contains([]string{"now", "subsec", "subsecond"}, strings.ToLower(l.Text)))
	}
	c, ok := e.(*tree.Call)
	return !ok || !timed[c.Name] // the arguments of that are looked at
}

func isLocal(e tree.Expr) bool {
	l := literal(e)
	return l != nil && strings.EqualFold(l.Text, "localtime")
}

// timeTypes read words for the time of the run from a text.
//
//nolint:gochecknoglobals // a constant.
var timeTypes = set("date time timetz timestamp timestamptz tsrange tstzrange daterange tsmultirange tstzmultirange datemultirange")

// baseType is the name of a type without its length and without the brackets of an array.
func baseType(name string) string {
	name, _, _ = strings.Cut(strings.TrimPrefix(strings.ToLower(name), "pg_catalog."), "(")
	name, _, _ = strings.Cut(name, "[")
	first, _, _ := strings.Cut(name, " ")
	return strings.Trim(first, `"`)
}

// readsTime reports whether a cast may read the time of the run from a text. Types of the schema may hold a time.
func (j *judge) readsTime(c *tree.Cast) bool {
	base := baseType(c.Type)
	return j.dialect == dialect.PostgreSQL && (timeTypes[base] || !builtin[base] && !plainTypes[base]) && j.mayBeNow(c.Value)
}

// plainTypes are further types of PostgreSQL that hold no time.
//
//nolint:gochecknoglobals // a constant.
var plainTypes = set(`int2 int4 int8 float4 float8 float dec bool bpchar varbit regtype regproc regprocedure regrole regnamespace regconfig
	regoper regoperator regdictionary regcollation xid xid8 tid cid oidvector int2vector unknown cstring`)

// texts are the types whose values are the text that they are cast from.
//
//nolint:gochecknoglobals // a constant.
var textTypes = set("text varchar character char bpchar name citext json jsonb unknown")

// passing are the functions whose result is one of their arguments.
//
//nolint:gochecknoglobals // a constant.
var passing = set("coalesce greatest least nullif min max first_value last_value nth_value lag lead unnest array_agg")

// datesOf are the functions whose result is a time, a date, an interval or a number, or an array of those.
//
//nolint:gochecknoglobals // a constant.
var datesOf = set(`now current_date current_time localtime localtimestamp clock_timestamp statement_timestamp transaction_timestamp date time
	date_trunc date_bin make_date make_time make_timestamp make_timestamptz to_timestamp to_date timezone age count sum avg extract date_part
	make_interval row_number rank dense_rank`)

// mayBeNow reports whether a value that PostgreSQL converts to a time may be a text such as "now". A parameter is the
// caller's.
func (j *judge) mayBeNow(e tree.Expr) bool {
	switch e := e.(type) {
	case nil:
		return false
	case *tree.Literal:
		return e.Kind == tree.String && timeWord(e.Text)
	case *tree.Param:
		return false
	case *tree.Column:
		return !j.holdsTime(e.Name)
	case *tree.Cast:
		base := baseType(e.Type)
		return !timeTypes[base] && (textTypes[base] || !builtin[base] && !plainTypes[base]) && j.mayBeNow(e.Value)
	case *tree.Call:
		if passing[e.Name] {
			return slices.ContainsFunc(e.Args, j.mayBeNow)
		}
		return e.Name == "generate_series" && slices.ContainsFunc(e.Args[:min(2, len(e.Args))], j.mayBeNow) || e.Name != "generate_series" && !datesOf[e.Name]
	case *tree.Op:
		switch e.Name {
		case "+", "-", "*", "/", "neg":
			return slices.ContainsFunc(e.Args, func(e tree.Expr) bool { l := literal(e); return l != nil && j.mayBeNow(l) })
		case "[]", "[:]", "collate":
			return len(e.Args) == 0 || j.mayBeNow(e.Args[0])
		}
		return true
	case *tree.Case:
		return j.mayBeNow(e.Else) || slices.ContainsFunc(e.Whens, func(w tree.Branching) bool { return j.mayBeNow(w.Then) })
	case *tree.List:
		return slices.ContainsFunc(e.Items, j.mayBeNow)
	case *tree.Query:
		s := e.Select
		return s == nil || s.SetOp != "" || s.Values != nil || e.Kind != tree.Scalar && e.Kind != tree.Array ||
			slices.ContainsFunc(s.Items, func(item tree.Item) bool { return j.mayBeNow(item.Expr) })
	}
	return true
}

// addQuery adds the effects of a query. A text in one row or part of it may become a time by the type of another.
func (j *judge) addQuery(s *tree.Select, f *effects) {
	if s == nil {
		return
	}
	s.Exprs(j.adding(f))
	if j.dialect != dialect.PostgreSQL {
		return
	}
	for _, side := range []*tree.Select{s.Left, s.Right} {
		if side == nil {
			continue
		}
		for _, item := range side.Items {
			f.words([]tree.Expr{item.Expr})
		}
		f.rows(side.Values)
	}
	if slices.ContainsFunc(s.Values, func(row []tree.Expr) bool {
		return slices.ContainsFunc(row, func(e tree.Expr) bool { return literal(e) == nil && !isParam(e) })
	}) {
		f.rows(s.Values)
	}
}

func (f *effects) rows(list [][]tree.Expr) {
	for _, row := range list {
		f.words(row)
	}
}

// holdsTime reports whether every column of a name is a date or a time, as far as the schema and the statement say.
func (j *judge) holdsTime(name string) bool {
	if j.renamed == nil {
		j.renamed = map[string]bool{}
		j.rename(j.st)
		j.schema.All(func(t *tree.Table) {
			if t.View != nil {
				j.rename(t.View)
			}
			for _, trigger := range t.Triggers {
				for _, st := range trigger.Body {
					j.rename(st)
				}
			}
		})
	}
	name = strings.ToLower(name)
	found, other := false, j.renamed[name]
	j.schema.All(func(t *tree.Table) {
		for _, c := range t.Columns {
			if strings.EqualFold(c.Name, name) {
				found = true
				other = other || !timeTypes[baseType(c.Type)]
			}
		}
	})
	return found && !other
}

// rename notes the names that a statement gives to other columns and to values.
func (j *judge) rename(st tree.Statement) {
	note := func(list ...string) {
		for _, name := range list {
			j.renamed[strings.ToLower(name)] = true
		}
	}
	items := func(list []tree.Item) {
		for _, item := range list {
			if c, ok := item.Expr.(*tree.Column); item.As != "" && (!ok || !strings.EqualFold(c.Name, item.As)) {
				note(item.As)
			}
		}
	}
	with := func(list []tree.With) {
		for _, w := range list {
			note(w.Columns...)
			j.rename(w.Body)
		}
	}
	sources := func(list []tree.Source) {
		tree.Sources(list, func(from tree.Source) {
			switch from := from.(type) {
			case *tree.Derived:
				note(from.Columns...)
				j.rename(from.Query)
			case *tree.Function:
				note(append([]string{from.As}, from.Columns...)...)
			}
		})
	}
	switch st := st.(type) {
	case *tree.Select:
		if st == nil {
			return
		}
		with(st.With)
		items(st.Items)
		sources(st.From)
		j.rename(st.Left)
		j.rename(st.Right)
		shallow := *st
		shallow.With, shallow.Left, shallow.Right = nil, nil, nil
		shallow.Exprs(j.renameIn)
		return
	case *tree.Insert:
		with(st.With)
		items(st.Returning)
		j.rename(st.Source)
	case *tree.Update:
		with(st.With)
		items(st.Returning)
		sources(st.From)
	case *tree.Delete:
		with(st.With)
		items(st.Returning)
		sources(st.Using)
	case *tree.Merge:
		with(st.With)
		items(st.Returning)
		sources([]tree.Source{st.Using})
	}
	tree.StatementExprs(st, j.renameIn)
}

func (j *judge) renameIn(e tree.Expr) bool {
	if q, ok := e.(*tree.Query); ok {
		j.rename(q.Select)
	}
	return true
}
