package dedupe

import (
	"context"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/texts"
	"github.com/semel-dev/semel/schema/catalog"
)

// winnerOrder orders the rows of a group, the winner first; t names them.
func (s *site) winnerOrder() string {
	root := s.tables[0]
	switch s.request.Winner {
	case "oldest":
		return root.age(false)
	case "newest":
		return root.age(true)
	case "most-children":
		var counts []string
		for _, e := range s.edges {
			if e.parent == root {
				counts = append(counts, "(SELECT count(*) FROM "+e.rows()+" AS c WHERE "+e.refers("t", "c")+e.alive("c")+")")
			}
		}
		if counts == nil {
			return root.age(false)
		}
		return "(" + strings.Join(counts, " + ") + ") DESC, " + root.age(false)
	case "most-complete":
		return "(" + strings.Join(texts.Of(root.stored(), func(name string) string {
			return "CASE WHEN " + quote(name) + " IS NULL THEN 0 ELSE 1 END"
		}), " + ") + ") DESC, " + root.age(false)
	}
	return s.request.Winner[len(orderBy):] + ", " + root.age(false)
}

// strange refuses values of a table that PostgreSQL would compare by another = than that of their type, or by none: the schema of the
// extension whose type it is is not in the search path.
func (s *dbSession) strange(ctx context.Context, t *table, values []string) error {
	if s.Dialect != dialect.PostgreSQL || len(values) == 0 {
		return nil
	}
	types := texts.Of(values, func(value string) string { return "pg_typeof((SELECT " + value + " FROM " + t.path + " LIMIT 0))" })
	var found string
	err := s.one(ctx, strings.Replace(postgresStrange, "$1", list(types), 1), nil, &found)
	if err == nil && found != "" {
		err = refuse("rows of %s are compared by %s, which the search path does not lead to (connect with its schema in search_path)", t.name, found)
	}
	return err
}

// losers selects the losers of all groups as l1, l2 …, and their winners as w1, w2 and so on.
func (s *site) losers() string {
	if len(s.request.Decided) > 0 {
		return s.decided()
	}
	n := len(s.tables[0].id)
	return "SELECT * FROM (" + s.grouped() + ") AS d WHERE " + s.tables[0].differ(numbered("d", "l", n), numbered("d", "w", n))
}

// members selects the same, and each winner as its own.
func (s *site) members() string {
	n := len(s.tables[0].id)
	l, w := numbered("d", "l", n), numbered("d", "w", n)
	if len(s.request.Decided) > 0 {
		return "SELECT " + list(l, w) + " FROM (" + s.decided() + ") AS d UNION SELECT " + list(w, w) + " FROM (" + s.decided() + ") AS d"
	}
	return "SELECT " + list(l, w) + " FROM (" + s.grouped() + ") AS d"
}

// grouped selects the rows of all groups, each with the winner of its group.
func (s *site) grouped() string {
	root, n := s.tables[0], len(s.request.Terms)
	where := whereOf(s.request.Where)
	terms := numbered("t", "semel_e", n)
	columns := of(quote(root.catalog.Name), texts.Of(root.catalog.Columns, columnName))
	rows := "SELECT * FROM (SELECT " + list(columns, as(s.request.Terms, "semel_e"), []string{"count(*) OVER (PARTITION BY " + list(s.request.Terms) + ") AS semel_n"}) +
		" FROM " + root.path + where + ") AS x WHERE semel_n > 1"
	if s.hashed { // in less time than all rows are sorted
		repeated := "SELECT " + list(as(s.request.Terms, "semel_g")) + " FROM " + root.path + where + " GROUP BY " + list(s.request.Terms) + " HAVING count(*) > 1"
		rows = "SELECT x.* FROM (SELECT " + list(columns, as(s.request.Terms, "semel_e")) + " FROM " + root.path + where + ") AS x JOIN (" + repeated + ") AS g ON " +
			equal(numbered("g", "semel_g", n), numbered("x", "semel_e", n))
	}
	firsts := texts.Of(of("t", root.id), func(c string) string { return "first_value(" + c + ") OVER semel_group" })
	return "SELECT " + list(as(of("t", root.id), "l"), as(firsts, "w"), as(terms, "e")) + " FROM (" + rows + ") AS t WINDOW semel_group AS (PARTITION BY " + list(terms) + " ORDER BY " + s.winnerOrder() + ")"
}

// insertMap writes the work of a run.
func (s *site) insertMap() string {
	n := len(s.tables[0].id)
	l, w := numbered("d", "l", n), numbered("d", "w", n)
	return "INSERT INTO semel_dedupe_map (run, item, grp, loser, winner) SELECT " + s.tables[0].integer("$1") + ", row_number() OVER (ORDER BY " + list(w, l) + "), dense_rank() OVER (ORDER BY " + list(w) + "), " +
		s.tables[0].key(l) + ", " + s.tables[0].key(w) + " FROM (" + s.losers() + ") AS d"
}

func columnName(c catalog.Column) string { return c.Name }
