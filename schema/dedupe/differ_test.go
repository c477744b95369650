package dedupe_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/semel-dev/semel/internal/dialect"
)

// A plan names the columns in which the rows of its first groups differ, with values that say nothing of a person.
func TestDifferences(t *testing.T) {
	t.Parallel()
	everywhere(t, func(b *bench) {
		b.exec("CREATE TABLE a (id int PRIMARY KEY, k varchar(9), n int, same int, note varchar(2000), merged_into int, big decimal(60, 0))",
			"INSERT INTO a VALUES (1, 'x', 1, 7, 'same', NULL, 1), (2, 'X', NULL, 7, 'same', NULL, 1), (3, 'x', 30, 7, 'other', NULL, 1)",
			"INSERT INTO a VALUES (4, 'y', 1, 7, NULL, NULL, 1), (5, 'y', 1, 7, NULL, NULL, 1)",
			"INSERT INTO a VALUES (6, 'z', 1, 7, '"+strings.Repeat("a", 1500)+"', NULL, 1), (7, 'z', 1, 7, '"+strings.Repeat("a", 1499)+"b', NULL, 12345678901234567890123456789012345678901234567890)")
		p := b.plan("a", "lower(k)", marking())
		big := "1234567890123456789012345678901234567890…"
		if b.Dialect == dialect.SQLite {
			big = "1.2345678901234567e+49"
		}
		want := "[[k (not shown) n 1 | NULL | 30 note (not shown)] [] [big 1 | " + big + "]]"
		if got := fmt.Sprint(p.Differences); got != want {
			b.Errorf("got %s, want %s", got, want)
		}
	})
}

// A column whose type has a number's name in its own may still hold a text: of it, no value is shown.
func TestDifferencesHideTexts(t *testing.T) {
	t.Parallel()
	everywhere(t, func(b *bench) {
		b.exec(b.by("CREATE TYPE contact_point AS (name text); CREATE TABLE a (id int PRIMARY KEY, k int, n contact_point)", "CREATE TABLE a (id int PRIMARY KEY, k int, n point)", "CREATE TABLE a (id int PRIMARY KEY, k int, n int)"),
			b.by("INSERT INTO a VALUES (1, 1, ROW('Ada')), (2, 1, ROW('Eva'))", "INSERT INTO a VALUES (1, 1, point(52, 13)), (2, 1, point(52, 14))", "INSERT INTO a VALUES (1, 1, 'Ada'), (2, 1, 'Eva')"))
		if got := fmt.Sprint(b.plan("a", "k", request()).Differences); got != "[[n (not shown)]]" {
			b.Errorf("got %s", got)
		}
	})
}
