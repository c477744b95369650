package rerun_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/testserver/databases"
	"github.com/semel-dev/semel/lint/internal/rerun"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/jackc/pgx/v5/pgxpool.(*Pool).backgroundHealthCheck"))
}

// row is a row of the truth table: what two runs of a statement were seen to do, with rows chosen by hand.
type row struct {
	number    string
	safe      bool
	statement string
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../judge/testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func truths(t *testing.T, d dialect.Dialect) (list []row) {
	t.Helper()
	for line := range strings.Lines(read(t, "truth.tsv")) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if fields[0] == d.String() {
			list = append(list, row{fields[1], fields[2] == "safe", fields[3]})
		}
	}
	return list
}

// define runs the definitions of the truth table.
func define(t *testing.T, d *databases.Database) {
	t.Helper()
	ddl := read(t, "schema_"+d.Dialect.String()+".sql")
	if d.Dialect != dialect.MySQL {
		d.Exec(t, ddl)
		return
	}
	for text := range strings.SplitSeq(ddl, ";\n") {
		if i := strings.Index(text, "; create "); i > 0 {
			d.Exec(t, text[:i])
			text = text[i+2:]
		}
		if text = strings.TrimSuffix(strings.TrimSpace(text), ";"); text != "" {
			d.Exec(t, text)
		}
	}
}

// vacuous are the statements that change nothing, however often they run.
func vacuous(statement string) bool {
	if strings.Contains(statement, "at<strftime('%f %J','now')") {
		return true // it compares texts that start with the seconds of the minute
	}
	return strings.HasPrefix(statement, "select ") || statement == "update t set n=n*1 where id=1"
}

// Two runs do what the truth table says, with rows that were not chosen by hand: in the long form all
// statements on all databases, otherwise every seventh on the servers.
func TestTruth(t *testing.T) {
	t.Parallel()
	databases.Each(t, func(t *testing.T, d *databases.Database) {
		letCopy(d)
		define(t, d)
		var rows []row
		for i, r := range truths(t, d.Dialect) {
			if i%7 == 3 || d.Dialect == dialect.SQLite || claimtest.Long() {
				rows = append(rows, r)
			}
		}
		var list []rerun.Statement
		for _, r := range rows {
			list = append(list, rerun.Statement{Text: strings.ReplaceAll(r.statement, "@now@", "2026-09-21 14:13:20")})
		}
		outcomes, err := rerun.Run(t.Context(), d.DSN, list, nil)
		if err != nil {
			t.Fatal(err)
		}
		counts := map[string]int{}
		for i, r := range rows {
			got := &outcomes[i]
			counts[got.Kind.String()]++
			if strings.Contains(r.statement, "@now@") && d.Dialect != dialect.MySQL {
				got = withinSecond(t, d, r.statement)
			}
			if strings.Contains(r.statement, `doc||'{"a":1}'::jsonb`) {
				continue // safe while doc holds objects; the rows made here hold arrays as well
			}
			proven := got.Kind == rerun.Differs || got.Kind == rerun.Time
			if proven == r.safe || got.Kind == rerun.NotRun || got.Kind == rerun.NoEvidence && !vacuous(r.statement) {
				t.Errorf("%s %s: %s\n%s, want safe %t", d.Dialect, r.number, r.statement, got, r.safe)
			}
		}
		t.Logf("%s: %d statements: %v", d.Dialect, len(rows), counts)
	})
}

// An INSERT of a constant key is run where no row has it, however the constant is written. A unique boolean has no other value
// than the constants, and ends the search for one.
func TestConstantKey(t *testing.T) {
	t.Parallel()
	databases.Each(t, func(t *testing.T, d *databases.Database) {
		letCopy(d)
		shop(t, d)
		d.Exec(t, "CREATE TABLE flags (id integer PRIMARY KEY, up boolean UNIQUE)")
		outcomes, err := rerun.Run(t.Context(), d.DSN, texts("INSERT INTO flags (id, up) SELECT 9, NULL WHERE true <> false OR (SELECT max(id) FROM flags WHERE up = true OR up = false) > 0", "INSERT INTO stock VALUES (1, 'x', 1)", "INSERT INTO stock (n, id) VALUES (3, 2), (4, 7)", "INSERT INTO log (id) VALUES (3)"), &rerun.Options{Yes: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, got := range outcomes {
			if got.Kind != rerun.Same {
				t.Error(got.String())
			}
		}
	})
}

// The second run is later than the first, so that what depends on the time shows.
func TestClock(t *testing.T) {
	t.Parallel()
	databases.Each(t, func(t *testing.T, d *databases.Database) {
		letCopy(d)
		d.Exec(t, "CREATE TABLE seen (id integer PRIMARY KEY, at timestamp NULL)", "CREATE TABLE heard (n integer NOT NULL, at timestamp NULL)")
		outcomes, err := rerun.Run(t.Context(), d.DSN, texts("UPDATE seen SET at = CURRENT_TIMESTAMP", "UPDATE heard SET at = CURRENT_TIMESTAMP"), &rerun.Options{Yes: true})
		if err != nil {
			t.Fatal(err)
		}
		if outcomes[0].Kind != rerun.Time || outcomes[1].Kind != rerun.Time {
			t.Error(outcomes[0].String(), outcomes[1].String())
		}
	})
}

// withinSecond proves a statement whose condition is the present second: again and again, each time with the second in which
// it is about to run.
func withinSecond(t *testing.T, d *databases.Database, statement string) *rerun.Outcome {
	t.Helper()
	const tries, phases = 20, 4
	var outcomes []rerun.Outcome
	for range tries {
		list := make([]rerun.Statement, phases)
		list[0].Text = "SELECT 1"
		present := func(i int) {
			now := time.Now().UTC().Add(time.Duration(i) * time.Second / phases) // PostgreSQL rounds, and others do not
			list[i%phases].Text = strings.ReplaceAll(statement, "@now@", now.Format(time.DateTime))
		}
		var err error
		outcomes, err = rerun.Run(t.Context(), d.DSN, list, &rerun.Options{Progress: func(done, _ int, _ string) { present(done) }})
		if err != nil {
			t.Fatal(err)
		}
		for i := range outcomes {
			if outcomes[i].Kind == rerun.Differs {
				return &outcomes[i]
			}
		}
	}
	return &outcomes[0]
}

// The rows have arrays and objects of several members, and numbers at the end of their type.
func TestManyMembers(t *testing.T) {
	t.Parallel()
	databases.Each(t, func(t *testing.T, d *databases.Database) {
		letCopy(d)
		list := map[dialect.Dialect][]string{
			dialect.PostgreSQL: {"UPDATE kept SET doc = doc - 0", "UPDATE kept SET doc = doc #- '{b,0}' WHERE doc ? 'b'", "UPDATE kept SET tags = tags[2:]", "UPDATE kept SET ns = ns[2:]"},
			dialect.MySQL:      {"UPDATE kept SET doc = json_remove(doc, '$[0]')", "UPDATE kept SET n = n - 5, version = version + 1 WHERE version = ?", "UPDATE kept SET n = n - 5, version = version + 1 WHERE version = 127"},
			dialect.SQLite:     {"UPDATE kept SET doc = json_remove(doc, '$[0]')"},
		}[d.Dialect]
		switch d.Dialect {
		case dialect.PostgreSQL:
			d.Exec(t, "CREATE TABLE kept (id integer PRIMARY KEY, doc jsonb NOT NULL, tags text[] NOT NULL, ns integer[] NOT NULL)")
		case dialect.MySQL:
			d.Exec(t, "CREATE TABLE kept (id integer PRIMARY KEY, doc json NOT NULL, n integer NOT NULL, version tinyint NOT NULL)")
		case dialect.SQLite:
			d.Exec(t, "CREATE TABLE kept (id integer PRIMARY KEY, doc json NOT NULL)")
		}
		dsn := d.DSN
		if d.Dialect == dialect.MySQL {
			dsn += "?sql_mode=''"
		}
		outcomes, err := rerun.Run(t.Context(), dsn, texts(list...), &rerun.Options{Yes: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, got := range outcomes {
			if got.Kind != rerun.Differs {
				t.Error(got.String())
			}
		}
	})
}
