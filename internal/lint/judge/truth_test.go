package judge_test

import (
	"os"
	"strings"
	"testing"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/lint/judge"
	"github.com/semel-dev/semel/internal/lint/mysql"
	"github.com/semel-dev/semel/internal/lint/postgres"
	"github.com/semel-dev/semel/internal/lint/schema"
	"github.com/semel-dev/semel/internal/lint/sqlite"
	"github.com/semel-dev/semel/internal/lint/tree"
)

func parse(d dialect.Dialect, text string) []tree.Parsed {
	switch d {
	case dialect.PostgreSQL:
		return postgres.Parse(text)
	case dialect.MySQL:
		return mysql.Parse(text)
	case dialect.SQLite:
	}
	return sqlite.Parse(text)
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// No statement that a database was seen to change at the second run is called safe, and few of
// the others are called not safe.
func TestTruth(t *testing.T) {
	t.Parallel()
	schemas := map[dialect.Dialect]*schema.Schema{}
	for _, d := range dialect.All() {
		s := &schema.Schema{}
		for _, p := range parse(d, read(t, "schema_"+d.String()+".sql")) {
			if def, ok := p.Statement.(*tree.Define); !ok || def.Unreadable != "" {
				t.Logf("%s: %+v", d, p.Statement)
			}
			s.Apply(p.Statement)
		}
		schemas[d] = s
	}
	type tally struct{ rows, safe, alarms, cannot, falseSafe int }
	counts := map[dialect.Dialect]*tally{}
	for _, d := range dialect.All() {
		counts[d] = &tally{}
	}
	for line := range strings.Lines(read(t, "truth.tsv")) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if fields[0] == "dialect" {
			continue
		}
		d, err := dialect.Parse(fields[0])
		if err != nil {
			t.Fatal(err)
		}
		parsed := parse(d, fields[3])
		if len(parsed) != 1 {
			t.Errorf("%s: %d statements in %s", d, len(parsed), fields[3])
			continue
		}
		got := judge.Statement(d, schemas[d], parsed[0].Statement)
		c := counts[d]
		c.rows++
		switch {
		case got.Verdict == judge.Safe && fields[2] != "safe":
			c.falseSafe++
			t.Errorf("%s %s: called safe (%s: %s): %s", d, fields[1], got.Rule, got.Why, fields[3])
		case got.Verdict == judge.CannotTell:
			c.cannot++
			t.Logf("%s %s: cannot tell (%s: %s): %s", d, fields[1], got.Rule, got.Why, fields[3])
		case got.Verdict == judge.NotSafe && fields[2] == "safe":
			c.alarms++
			t.Logf("%s %s: false alarm (%s: %s): %s", d, fields[1], got.Rule, got.Why, fields[3])
		case got.Verdict == judge.Safe:
			c.safe++
		}
	}
	for d, c := range counts {
		t.Logf("%s: %+v", d, *c)
		const mostAlarms, mostCannot = 8, 15 // percent
		if c.alarms*100 > mostAlarms*c.rows || c.cannot*100 > mostCannot*c.rows {
			t.Errorf("%s: %d false alarms (at most %d %%) and %d that it cannot tell (at most %d %%) of %d", d, c.alarms, mostAlarms, c.cannot, mostCannot, c.rows)
		}
	}
}
