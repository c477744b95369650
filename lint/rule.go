package lint

import (
	"embed"
	"regexp"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/lint/internal/config"
	"github.com/semel-dev/semel/lint/internal/parse"
	"github.com/semel-dev/semel/lint/internal/schema"
)

// Rule explains a rule, the word that every [Finding] has.
type Rule struct {
	ID       string
	Verdict  Verdict
	Means    string // in one sentence
	Cure     string // what makes it safe; empty where nothing is needed, or known
	Examples []Example
}

// Example is a statement that gets the verdict of a rule, in one dialect.
type Example struct {
	Dialect   string // postgresql, mysql or sqlite
	Statement string
	Why       string // as in the finding
}

//go:embed rulebook/*.sql
var exampleSchemas embed.FS

// exampleSchema returns the statements that define the tables of the examples in a dialect.
func exampleSchema(d string) string {
	text, err := exampleSchemas.ReadFile("rulebook/" + d + ".sql")
	if err != nil {
		return ""
	}
	return string(text)
}

// Rules returns all rules, with what the linter says of their examples.
func Rules() []Rule {
	all := make([]Rule, len(rulebook))
	for i := range rulebook {
		all[i] = rulebook[i].rule()
	}
	return all
}

// entry is a rule as the rulebook has it.
type entry struct {
	id          string
	verdict     Verdict
	means, cure string
	example     string // of PostgreSQL, and of the others where they have none of their own
	mysql       string
	sqlite      string
}

// absent says that a dialect has no such statement.
const absent = "-"

var placeholder = regexp.MustCompile(`\$\d+`)

func (e *entry) rule() Rule {
	r := Rule{ID: e.id, Verdict: e.verdict, Means: e.means, Cure: e.cure}
	if e.example == "" {
		return r
	}
	for _, d := range dialect.All() {
		text := e.example
		switch {
		case d == dialect.MySQL && e.mysql != "":
			text = e.mysql
		case d == dialect.SQLite && e.sqlite != "":
			text = e.sqlite
		case d != dialect.PostgreSQL:
			text = placeholder.ReplaceAllString(text, "?")
		}
		if text == absent {
			continue
		}
		one := Example{Dialect: d.String(), Statement: text}
		if found := ofExamples(d).Statements("", text); len(found) == 1 && found[0].Rule == e.id && found[0].Verdict == e.verdict {
			one.Why = found[0].Why
		}
		r.Examples = append(r.Examples, one)
	}
	return r
}

// ofExamples is the schema of the examples.
func ofExamples(d dialect.Dialect) *Schema {
	s := &Schema{config: &config.File{}, common: reading{dialects: []dialect.Dialect{d}}}
	k := knowledge{schema: &schema.Schema{}}
	for _, p := range parse.Statements(d, exampleSchema(d.String())) {
		k.schema.Apply(p.Statement)
	}
	s.common.known = map[dialect.Dialect]knowledge{d: k}
	return s
}
