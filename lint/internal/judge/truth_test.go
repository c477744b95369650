package judge_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/lint/internal/judge"
)

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// truth is a statement, and whether two runs of it were seen to do what one does.
type truth struct {
	number    string
	safe      bool
	statement string
}

// truths are those of a dialect.
func truths(t *testing.T, d dialect.Dialect) (list []truth) {
	t.Helper()
	for line := range strings.Lines(read(t, "truth.tsv")) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if fields[0] == d.String() {
			list = append(list, truth{fields[1], fields[2] == "safe", fields[3]})
		}
	}
	return list
}

// defines reports whether a statement is about definitions, not rows.
func (r truth) defines() bool {
	word, _, _ := strings.Cut(r.statement, " ")
	return slices.Contains([]string{"create", "alter", "drop", "truncate"}, strings.ToLower(word))
}

// No statement that a database was seen to change at the second run is called safe, and few of
// the others are called not safe.
func TestTruth(t *testing.T) {
	t.Parallel()
	for _, d := range dialect.All() {
		s := learn(d, read(t, "schema_"+d.String()+".sql"))
		var c struct{ rows, safe, alarms, cannot, falseSafe int }
		for _, r := range truths(t, d) {
			got := verdict(t, d, s, r.statement)
			c.rows++
			switch {
			case got.Verdict == judge.Safe && !r.safe:
				c.falseSafe++
				t.Errorf("%s %s: called safe (%s: %s): %s", d, r.number, got.Rule, got.Why, r.statement)
			case got.Verdict == judge.CannotTell:
				c.cannot++
				t.Logf("%s %s: cannot tell (%s: %s): %s", d, r.number, got.Rule, got.Why, r.statement)
			case got.Verdict == judge.NotSafe && r.safe:
				c.alarms++
				t.Logf("%s %s: false alarm (%s: %s): %s", d, r.number, got.Rule, got.Why, r.statement)
			case got.Verdict == judge.Safe:
				c.safe++
			}
		}
		t.Logf("%s: %+v", d, c)
		const fewest, mostAlarms, mostCannot = 175, 8, 15 // rows, percent
		if c.rows < fewest || c.alarms*100 > mostAlarms*c.rows || c.cannot*100 > mostCannot*c.rows {
			t.Errorf("%s: %d false alarms (at most %d %%) and %d that it cannot tell (at most %d %%) of %d", d, c.alarms, mostAlarms, c.cannot, mostCannot, c.rows)
		}
	}
}
