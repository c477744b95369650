package sqltext_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/rules/sqltext"
	"github.com/semel-dev/semel/internal/texts"
)

func ExampleScan() {
	tokens, err := sqltext.Scan(dialect.PostgreSQL, `INSERT INTO "order" /* one */ VALUES ('it''s', $$a;b$$) -- end`)
	for _, t := range tokens {
		fmt.Print(t.Text, "|")
	}
	fmt.Println(err)
	// Output:
	// INSERT|INTO|order|VALUES|(|it's|,|a;b|)|<nil>
}

func ExampleSplit() {
	tokens, _ := sqltext.Scan(dialect.SQLite, "a, lower(b, c), d")
	fmt.Println(len(sqltext.Split(tokens, ",")))
	// Output:
	// 3
}

func ExampleClosing() {
	tokens, _ := sqltext.Scan(dialect.SQLite, "f(a, (b)) + 1")
	fmt.Println(sqltext.Closing(tokens, 1))
	// Output:
	// 7
}

func ExampleSource() {
	text := "a = lower( b )"
	tokens, _ := sqltext.Scan(dialect.SQLite, text)
	fmt.Println(sqltext.Source(text, tokens[2:]))
	// Output:
	// lower( b )
}

func TestScanQuotes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]map[dialect.Dialect]string{
		`a--b` + "\nc":        {dialect.PostgreSQL: "a c", dialect.MySQL: "a - - b c", dialect.SQLite: "a c"},
		"a # b\nc":            {dialect.PostgreSQL: "a # b c", dialect.MySQL: "a c", dialect.SQLite: "a # b c"},
		`'a\'`:                {dialect.PostgreSQL: `a\`, dialect.MySQL: "line 1: a quote that does not end", dialect.SQLite: `a\`},
		`e'a\'b' x`:           {dialect.PostgreSQL: `a'b x`, dialect.MySQL: "e a'b x", dialect.SQLite: "line 1: a quote that does not end"},
		`e'\n' '\n'`:          {dialect.PostgreSQL: "\n \\n", dialect.MySQL: "e \n \n", dialect.SQLite: `e \n \n`},
		`e'\x41'`:             {dialect.PostgreSQL: "line 1: an escape by the number of a character", dialect.MySQL: "e x41", dialect.SQLite: `e \x41`},
		`/* a /* b */ c */ d`: {dialect.PostgreSQL: "d", dialect.MySQL: "c * / d", dialect.SQLite: "c * / d"},
		"$1 $x$ ; $x$":        {dialect.PostgreSQL: "$1  ; ", dialect.MySQL: "$1 $x$ ; $x$", dialect.SQLite: "$1 $x$ ; $x$"},
		"x<=>-2 -- `y`":       {dialect.PostgreSQL: "x <=> -2", dialect.MySQL: "x <=> -2", dialect.SQLite: "x <=> -2", sqltext.RulesFile: "x <=> -2 - - ` y `"},
		"[a b] `c`":           {dialect.PostgreSQL: "[ a b ] ` c `", dialect.MySQL: "[ a b ] c", dialect.SQLite: "a b c"},
		"\n/* x":              {dialect.PostgreSQL: "line 2: a comment that does not end", dialect.MySQL: "line 2: a comment that does not end", dialect.SQLite: "line 2: a comment that does not end"},
		"/*!40101 SET x */":   {dialect.PostgreSQL: "", dialect.MySQL: "line 1: a comment that some servers run (/*! … */)", dialect.SQLite: ""},
	} {
		for d, want := range want {
			tokens, err := sqltext.Scan(d, text)
			got := strings.Join(texts.Of(tokens, func(t sqltext.Token) string { return t.Text }), " ")
			if err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: %q (-want +got):\n%s", d, text, diff)
			}
		}
	}
}

// Whatever the text, what is cut lies in it, in order, and there is an end.
func FuzzScan(f *testing.F) {
	f.Add(`SELECT 'a' "b" -- c`)
	f.Add("$$ \xff [ /* */ $a$")
	f.Fuzz(func(t *testing.T, text string) {
		for _, d := range dialect.All() {
			tokens, _ := sqltext.Scan(d, text)
			end := 0
			for _, token := range tokens {
				if token.Start < end || token.End <= token.Start || token.End > len(text) {
					t.Fatalf("%s: token %+v of %q after %d", d, token, text, end)
				}
				end = token.End
			}
		}
	})
}
