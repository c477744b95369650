package lintcmd

import (
	"fmt"
	"strings"

	"github.com/semel-dev/semel/internal/cli"
	"github.com/semel-dev/semel/internal/rules/spelling"
	"github.com/semel-dev/semel/internal/texts"
	"github.com/semel-dev/semel/lint"
)

// explainRule prints what a rule means.
func explainRule(p *cli.Process, id string) error {
	rules := lint.Rules()
	for i := range rules {
		if strings.EqualFold(rules[i].ID, id) {
			_, err := fmt.Fprint(p.Stdout, explained(&rules[i]))
			return err
		}
	}
	ids := texts.Of(rules, func(r lint.Rule) string { return r.ID })
	return cli.Usagef("--explain: no rule is called %q (%s)\nThe rules are:\n  %s", cli.PlainLine(id), spelling.Ask(spelling.Nearest(id, ids), "see below"),
		wrapped(strings.Join(ids, ", ")))
}

// databasesOf names the databases of a dialect.
func databasesOf(d string) string {
	return map[string]string{"postgresql": "PostgreSQL", "mysql": "MySQL, MariaDB", "sqlite": "SQLite"}[d]
}

func explained(r *lint.Rule) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n\n%s\n", r.ID, r.Verdict, strings.Join(wrap("It means that "+r.Means+".", pageWidth), "\n"))
	for _, e := range r.Examples {
		fmt.Fprintf(&b, "\n%s: %s\n  %s\n  %s\n", databasesOf(e.Dialect), r.Verdict, wrapped(e.Statement), wrapped(e.Why))
	}
	if r.Cure != "" {
		fmt.Fprintf(&b, "\nWhat makes it safe\n  %s\n", wrapped(r.Cure))
	}
	return b.String()
}

// wrapped fits a text below a heading.
func wrapped(s string) string {
	const indent = "  "
	return strings.Join(wrap(s, pageWidth-len(indent)), "\n"+indent)
}
