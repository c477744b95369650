package plan_test

import (
	"strings"
	"testing"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/testserver/databases"
)

// MySQL and MariaDB: NULL is forbidden without losing other attributes of a
// column, an index of the name is replaced, and a generated column that an
// interrupted run left is used.
func TestMySQL(t *testing.T) {
	t.Parallel()
	d := databases.Open(t, dialect.MySQL)
	d.Exec(t,
		"CREATE TABLE seats (id integer PRIMARY KEY, show_id integer DEFAULT NULL COMMENT 'which, NULL for none', place varchar(10) CHARACTER SET latin1 DEFAULT 'A1', show_after integer AS (show_id + 1) VIRTUAL INVISIBLE, UNIQUE INDEX seat (place))",
		"INSERT INTO seats VALUES (1, 1, 'A1')")
	file := parse(t, seats+"    nulls: forbidden\n")
	for done := 0; ; done++ {
		p := mustMake(t, d, file, nil)
		if p.Enforced == 1 {
			break
		}
		run(t, d, p.Steps[0].Up[:min(done, len(p.Steps[0].Up))])
		if done > 20 {
			t.Fatalf("it never ends: %+v", p.Steps)
		}
	}
	var table, text string
	noError(t, d.DB.QueryRowContext(t.Context(), "SHOW CREATE TABLE seats").Scan(&table, &text))
	for _, want := range []string{
		"`show_id` int(11) NOT NULL COMMENT 'which, NULL for none'", "`place` varchar(10) CHARACTER SET latin1", "NOT NULL DEFAULT 'A1'",
		"UNIQUE KEY `seat` (`show_id`,`semel_seat_2`)",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the table has no %q: %s", want, text)
		}
	}
	// A statement that does not list its columns goes on as before.
	d.Exec(t, "INSERT INTO seats VALUES (2, 1, 'a1')")
	if _, err := d.DB.ExecContext(t.Context(), "INSERT INTO seats VALUES (3, 1, 'a1')"); err == nil || !isDuplicate(err) {
		t.Errorf("a duplicate is answered by %v", err)
	}
}

// A table whose engine has no transactions is converted first, and only once, even if it has the index already; the undo
// restores the engine.
func TestMySQLEngine(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{"MyISAM", "Aria", "MEMORY"} {
		d := databases.Open(t, dialect.MySQL)
		d.Exec(t, "CREATE TABLE seats (id integer PRIMARY KEY, show_id integer, place varchar(10) COLLATE utf8mb4_bin, code integer NOT NULL, UNIQUE INDEX code (code)) ENGINE="+engine,
			"INSERT INTO seats VALUES (1, 1, 'A1', 1)")
		file := parse(t, seats+"    nulls: forbidden\n  - {name: code, says: One code., table: seats, scope: global, fields: [code]}\n")
		p := mustMake(t, d, file, nil)
		if len(p.Steps) != 1 || p.Enforced != 1 || p.Steps[0].Up[1].SQL != "ALTER TABLE `seats` ENGINE=InnoDB" {
			t.Fatalf("%s: %+v, want one step that converts the table first", engine, p)
		}
		apply(t, d, p)
		if again := mustMake(t, d, file, nil); again.Enforced != 2 {
			t.Errorf("%s: the second plan: %+v", engine, again.Steps)
		}
		run(t, d, p.Steps[0].Down)
		file.Unique = file.Unique[1:]
		if p := mustMake(t, d, file, nil); len(p.Steps) != 1 || len(p.Steps[0].Up) != 2 || p.Steps[0].Down[0].SQL != "ALTER TABLE `seats` ENGINE="+engine {
			t.Errorf("%s: %+v, want a conversion and nothing else", engine, p)
		}
	}
}

// What an index cannot hold whole is refused.
func TestMySQLUnboundedText(t *testing.T) {
	t.Parallel()
	d := databases.Open(t, dialect.MySQL)
	d.Exec(t, "CREATE TABLE seats (id integer PRIMARY KEY, show_id integer, place text)")
	refused := mustMake(t, d, parse(t, seats), nil).Refused()
	if len(refused) != 1 || !strings.Contains(refused[0].Refused.Why, "first bytes") {
		t.Errorf("refused: %+v", refused)
	}
}

// SQLite: an index of the name is replaced, one that ignores case does not count, and
// NULL cannot be forbidden in a table that is there.
func TestSQLite(t *testing.T) {
	t.Parallel()
	d := databases.Open(t, dialect.SQLite)
	d.Exec(t, `CREATE TABLE seats (id integer PRIMARY KEY, show_id integer, place text COLLATE NOCASE)`, `CREATE UNIQUE INDEX seat ON seats (show_id, place)`)
	p := mustMake(t, d, parse(t, seats), nil)
	apply(t, d, p)
	taken := try(t, d, "seats", "show_id, place", "1, 'A1'", "1, 'a1'", "1, 'A1'")
	if !taken[0] || !taken[1] || taken[2] {
		t.Errorf("rows taken: %v, want the third refused only", taken)
	}
	if again := mustMake(t, d, parse(t, seats), nil); again.Enforced != 1 {
		t.Errorf("the second plan: %+v", again.Steps)
	}
	refused := mustMake(t, d, parse(t, seats+"    nulls: forbidden\n"), nil).Refused()
	if len(refused) != 1 || !strings.Contains(refused[0].Refused.Why, "SQLite cannot forbid NULL") {
		t.Errorf("refused: %+v", refused)
	}
}

// A rule that names a generated column is enforced by an index of that column, as by that of its expression otherwise.
func TestRuleNamesGeneratedColumn(t *testing.T) {
	t.Parallel()
	databases.Each(t, func(t *testing.T, d *databases.Database) {
		kind := "STORED"
		if d.Dialect != dialect.PostgreSQL {
			kind = "VIRTUAL"
		}
		d.Exec(t, "CREATE TABLE seats (id integer PRIMARY KEY, show_id integer, written varchar(10), place varchar(10) GENERATED ALWAYS AS (lower(trim(written))) "+kind+")")
		apply(t, d, mustMake(t, d, parse(t, seats), nil))
		if again := mustMake(t, d, parse(t, seats), nil); again.Enforced != 1 {
			t.Errorf("the second plan: %+v", again.Steps)
		}
		taken := try(t, d, "seats", "show_id, written", "1, 'A1'", "1, 'B1'", "1, ' a1'")
		if !taken[0] || !taken[1] || taken[2] {
			t.Errorf("rows taken: %v, want the third refused only", taken)
		}
	})
}

// A rule that compares as the column does is kept by a plain index on the column, where NULL is a value as well, and rows
// are the same as the column's collation or type says.
func TestPlanAsColumnCompares(t *testing.T) {
	t.Parallel()
	loose := map[dialect.Dialect][]string{
		dialect.PostgreSQL: {"CREATE EXTENSION IF NOT EXISTS citext", "place citext"},
		dialect.MySQL:      {"SELECT 1", "place varchar(10) COLLATE utf8mb4_general_ci"},
		dialect.SQLite:     {"SELECT 1", "place text COLLATE NOCASE"},
	}
	databases.Each(t, func(t *testing.T, d *databases.Database) {
		for _, nulls := range []string{"distinct", "same"} {
			d.Exec(t, loose[d.Dialect][0], "DROP TABLE IF EXISTS seats", "CREATE TABLE seats (id integer PRIMARY KEY, show_id integer NOT NULL, "+loose[d.Dialect][1]+")",
				"INSERT INTO seats VALUES (1, 1, 'A1'), (2, 1, 'a1')")
			file := parse(t, strings.Replace(seats, "[place]", "[collated(place)]", 1)+"    nulls: "+nulls+"\n")
			refused := mustMake(t, d, file, nil).Refused()
			if len(refused) != 1 || refused[0].Refused.Duplicates == nil || refused[0].Refused.Duplicates.Groups != 1 {
				t.Fatalf("%s: %+v, want a group of duplicates", nulls, refused)
			}
			d.Exec(t, "DELETE FROM seats")
			p := mustMake(t, d, file, nil)
			if nulls == "distinct" && strings.Contains(strings.ToUpper(p.Steps[0].Up[len(p.Steps[0].Up)-1].SQL), "COLLAT") {
				t.Errorf("%s: %+v, want a plain index", nulls, p.Steps[0].Up)
			}
			apply(t, d, p)
			if again := mustMake(t, d, file, nil); again.Enforced != 1 {
				t.Errorf("%s: the second plan: %+v", nulls, again.Steps)
			}
			taken := try(t, d, "seats", "show_id, place", "1, 'A1'", "1, 'a1'", "1, NULL", "1, NULL")
			if !taken[0] || taken[1] || !taken[2] || taken[3] != (nulls == "distinct") {
				t.Errorf("%s: rows taken: %v", nulls, taken)
			}
		}
	})
}
