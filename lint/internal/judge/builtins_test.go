package judge //nolint:testpackage // it looks at the table of functions.

import (
	"slices"
	"strings"
	"testing"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/testserver/databases"
	"github.com/semel-dev/semel/lint/internal/schema"
	"github.com/semel-dev/semel/lint/internal/tree"
)

// Every function that is known for a database is one of its own.
func TestBuiltins(t *testing.T) {
	t.Parallel()
	t.Run("postgresql", func(t *testing.T) {
		t.Parallel()
		db := databases.Open(t, dialect.PostgreSQL).DB
		grammar := set("coalesce greatest least nullif trim grouping current_date current_time current_timestamp localtime localtimestamp")
		grammar["user"], grammar["current_role"], grammar["current_catalog"] = true, true, true
		// These wait, and their lock ends with the transaction; what the others say changes with the definitions alone.
		reads := set("pg_advisory_xact_lock pg_try_advisory_xact_lock")
		for _, name := range names(dialect.PostgreSQL) {
			var found, volatile, sets, folds bool
			err := db.QueryRowContext(t.Context(), `select count(*) > 0, coalesce(bool_or(provolatile = 'v'), false), coalesce(bool_or(proretset), false),
				coalesce(bool_or(prokind = 'a'), false) from pg_proc where proname = $1 and pronamespace = 'pg_catalog'::regnamespace`, name).Scan(&found, &volatile, &sets, &folds)
			switch {
			case err != nil || !found && !grammar[name]:
				t.Errorf("%s is not a function of PostgreSQL (%v)", name, err)
			case volatile && !clocks[name] && !randoms[name] && !actors[name] && !reads[name]:
				t.Errorf("%s may give another value at each call, and counts as one that does not", name)
			case sets && !rowSets[name]:
				t.Errorf("%s returns rows, and counts as one value", name)
			case folds && !orderless[name] && !ordered[name] && !others[name]:
				t.Errorf("%s is an aggregate, and counts as none", name)
			}
		}
	})
	t.Run("mysql", func(t *testing.T) {
		t.Parallel()
		db := databases.Open(t, dialect.MySQL).DB
		for _, name := range append(names(dialect.MySQL), "no_such_function") {
			_, err := db.ExecContext(t.Context(), "do "+name+"(1)")
			stranger := err != nil && strings.Contains(err.Error(), "1305")
			if stranger != (name == "no_such_function") {
				t.Errorf("%s is not a function of MariaDB (%v)", name, err)
			}
		}
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		db := databases.Connect(t, "sqlite", "file::memory:")
		for _, name := range names(dialect.SQLite) {
			var found bool
			err := db.QueryRowContext(t.Context(), "select exists (select 1 from pragma_function_list where name=?1 and builtin)", name).Scan(&found)
			if name == "json_each" || name == "json_tree" { // in FROM
				_, err = db.ExecContext(t.Context(), "select count(*) from "+name+"('[]')")
				found = err == nil
			}
			if (err != nil || !found) && name != "now" { // as CURRENT_TIMESTAMP is read
				t.Errorf("%s is not a function of SQLite (%v)", name, err)
			}
		}
	})
}

func names(d dialect.Dialect) (all []string) {
	for name := range builtins[d] {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// A function of another dialect may be one of the user's, and do anything.
func TestOtherDialects(t *testing.T) {
	t.Parallel()
	for _, d := range dialect.All() {
		for _, other := range dialect.All() {
			for _, name := range names(other) {
				st := &tree.Select{Items: []tree.Item{{Expr: &tree.Call{Name: name, Args: []tree.Expr{&tree.Literal{Kind: tree.Number, Text: "1"}}}}}}
				got := Statement(d, &schema.Schema{}, st)
				if !builtins[d][name] && got.Verdict < CannotTell {
					t.Errorf("%s: %s() is called %s", d, name, got.Verdict)
				}
			}
		}
	}
}

// What only reads is safe to ask for, and what depends on the session is safe to write under that condition.
func TestReading(t *testing.T) {
	t.Parallel()
	s := &schema.Schema{}
	s.Apply(&tree.Define{Kind: "create table", Table: &tree.Table{Name: tree.Name{Name: "d"}, Columns: []*tree.ColumnDef{{Name: "id", Type: "integer", NotNull: true}, {Name: "a", Type: "text"}}}})
	for _, c := range []struct {
		d     dialect.Dialect
		call  string
		value Verdict // of a statement that writes it
		under string
	}{
		{dialect.PostgreSQL, "version", Safe, ""},
		{dialect.PostgreSQL, "current_setting", Safe, "current_setting() gives the same in each session that runs it"},
		{dialect.PostgreSQL, "pg_get_serial_sequence", Safe, ""},
		{dialect.PostgreSQL, "pg_relation_size", NotSafe, ""},
		{dialect.MySQL, "database", Safe, "database() gives the same in each session that runs it"},
		{dialect.MySQL, "version", Safe, ""},
		{dialect.MySQL, "@@sql_mode", Safe, "@@sql_mode is the same in each session that runs it"},
		{dialect.MySQL, "@@identity", CannotTell, ""},
		{dialect.MySQL, "is_used_lock", NotSafe, ""},
		{dialect.SQLite, "sqlite_version", Safe, ""},
		{dialect.SQLite, "database", CannotTell, ""},
	} {
		call := &tree.Call{Name: c.call}
		if got := Statement(c.d, s, &tree.Select{Items: []tree.Item{{Expr: call}}}); got.Verdict != Safe && c.value != CannotTell || len(got.Assumes) > 0 {
			t.Errorf("%s: SELECT %s() is called %s (%s) under %q", c.d, c.call, got.Verdict, got.Why, got.Assumes)
		}
		got := Statement(c.d, s, &tree.Update{Table: tree.Name{Name: "d"}, Set: []tree.Assign{{Column: "a", Value: call}}})
		if got.Verdict != c.value || strings.Join(got.Assumes, "") != c.under {
			t.Errorf("%s: SET a = %s() is called %s (%s) under %q", c.d, c.call, got.Verdict, got.Why, got.Assumes)
		}
	}
}
