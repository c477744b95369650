package judge_test

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/lint/internal/judge"
	"github.com/semel-dev/semel/lint/internal/parse"
	"github.com/semel-dev/semel/lint/internal/schema"
)

var (
	ending     = regexp.MustCompile(`( order by [a-z, ]*)?( limit \d+)?$`)
	ofTable    = regexp.MustCompile(`^(update|delete from) t\b`)
	ownColumn  = regexp.MustCompile(`\bt\.(\w+)`)
	inList     = regexp.MustCompile(` in \((select [^()]*)\)`)
	keyword    = regexp.MustCompile(`'[^']*'|[a-z_]+`)
	identifier = regexp.MustCompile(`'[^']*'|\b(n|m|status|price|grp)\b`)
	blank      = regexp.MustCompile(`'[^']*'|not | `) // oliphant refuses NOT /* */ IN
)

// andTrue adds a condition to the outermost WHERE of UPDATE and DELETE.
func andTrue(s string) string {
	if !strings.HasPrefix(s, "update") && !strings.HasPrefix(s, "delete") {
		return s
	}
	depth := 0
	for i := range s {
		switch s[i] {
		case '(':
			depth++
		case ')':
			depth--
		case ' ':
			if depth == 0 && strings.HasPrefix(s[i:], " where ") {
				end := ending.FindStringIndex(s)[0]
				return s[:i] + " where (" + s[i+7:end] + ") and true" + s[end:]
			}
		}
	}
	return s
}

// outside replaces what is not in a string.
func outside(re *regexp.Regexp, s string, how func(string) string) string {
	return re.ReplaceAllStringFunc(s, func(found string) string {
		if strings.HasPrefix(found, "'") {
			return found
		}
		return how(found)
	})
}

// rewrites say the same in another way, as far as they apply. Of those that hide something, the verdict may get worse.
var rewrites = []struct {
	name string
	do   func(d dialect.Dialect, s string) string
}{
	{"and true", func(_ dialect.Dialect, s string) string { return andTrue(s) }},
	{"alias", func(d dialect.Dialect, s string) string {
		if !ofTable.MatchString(s) || strings.Contains(s, " from t x") || d == my && strings.HasPrefix(s, "delete") {
			return s
		}
		return ownColumn.ReplaceAllString(ofTable.ReplaceAllString(s, "$1 t as zz"), "zz.$1")
	}},
	{"common table expression", func(d dialect.Dialect, s string) string {
		found := inList.FindStringSubmatch(s)
		if found == nil || d == my || strings.HasPrefix(s, "with") || strings.Contains(found[1], "t.") || strings.Count(s, "(select") > 1 || strings.HasPrefix(s, "replace") {
			return s
		}
		return "with zz as (" + found[1] + ") " + strings.Replace(s, found[1], "select * from zz", 1)
	}},
	{"view", func(d dialect.Dialect, s string) string {
		if d == lite || !ofTable.MatchString(s) || strings.Contains(s, " from t x") {
			return s
		}
		return ownColumn.ReplaceAllString(ofTable.ReplaceAllString(s, "$1 tall"), "tall.$1")
	}},
	{"quoted", func(d dialect.Dialect, s string) string {
		quote := map[dialect.Dialect]string{pg: `"`, my: "`", lite: `"`}[d]
		return outside(identifier, s, func(name string) string { return quote + name + quote })
	}},
	{"upper case", func(_ dialect.Dialect, s string) string { return outside(keyword, s, strings.ToUpper) }},
	{"comments", func(_ dialect.Dialect, s string) string {
		return outside(blank, s, func(found string) string {
			if found != " " {
				return found
			}
			return " /* ; ' */\n"
		})
	}},
}

// A statement that is written in another way is not judged better.
func TestMetamorphic(t *testing.T) {
	t.Parallel()
	n := 1000
	if claimtest.Long() {
		n = 20000
	}
	start := seed(t)
	for _, d := range dialect.All() {
		t.Run(d.String(), func(t *testing.T) {
			t.Parallel()
			s := learned(d)
			worse, applied := map[string]int{}, map[string]int{}
			for i := range n {
				g := &generator{rand.New(rand.NewPCG(start, uint64(i))), d}
				statement := g.statement()
				was := verdict(t, d, s, statement)
				for _, re := range rewrites {
					other := re.do(d, statement)
					if other == statement {
						continue
					}
					applied[re.name]++
					got := verdict(t, d, s, other)
					switch {
					case got.Verdict == judge.Safe && was.Verdict != judge.Safe:
						t.Errorf("seed %d, statement %d, %s: %s (%s) becomes safe (%s):\n%s\n%s", start, i, re.name, was.Verdict, was.Why, got.Why, statement, other)
					case got.Verdict != judge.Safe && was.Verdict == judge.Safe:
						if worse[re.name]++; worse[re.name] < 5 {
							t.Logf("%s: no longer safe (%s): %s", re.name, got.Why, other)
						}
					}
				}
			}
			t.Logf("rewritten: %v; no longer safe: %v", applied, worse)
			for _, same := range []string{"and true", "quoted", "upper case", "comments"} {
				if worse[same] > 0 {
					t.Errorf("%s: %d statements are no longer safe", same, worse[same])
				}
			}
		})
	}
}

func learned(d dialect.Dialect) *schema.Schema {
	also := ""
	if d == pg {
		also = ", arr, tags"
	}
	return learn(d, randomSchema(d)+";create view tall as select id, n, m, status, name, price, tag, flag, r, grp, doc"+also+" from t;")
}

// learn reads a schema.
func learn(d dialect.Dialect, ddl string) *schema.Schema {
	s := &schema.Schema{}
	for _, p := range parse.Statements(d, ddl) {
		s.Apply(p.Statement)
	}
	return s
}
