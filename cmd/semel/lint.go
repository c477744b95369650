package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/lint"
)

type lintFlags struct {
	dialect, failOn, format string
	schema                  []string
	json, all               bool
}

func newLint(p *process) *cobra.Command {
	f := &lintFlags{}
	cmd := &cobra.Command{
		Use:   "lint PATH…",
		Short: "Find SQL statements that are not safe to run twice",
		Long: `Reads the statements in files, and in the .sql files of folders, and says of each
whether it is safe to run twice: safe, not safe, or cannot tell, with the reason and
what would make it safe. It runs nothing.

Give it the statements that define the tables: without the keys and triggers of a
table, no statement that writes to it is called safe. A comment at a statement,
"-- semel:safe REASON", answers a finding.`,
		Example: `  semel lint --dialect postgresql --schema migrations queries
  semel lint --schema schema.sql --fail-on cannot-tell --format github queries/*.sql`,
		Annotations: map[string]string{"exit1": "a statement is not safe to run twice (--fail-on cannot-tell: or it cannot tell), and no comment answers that"},
		RunE: func(cmd *cobra.Command, paths []string) error {
			if err := f.check(paths); err != nil {
				return err
			}
			found, err := lint.Run(cmd.Context(), paths, &lint.Options{Dialect: f.dialect, Schema: f.schema})
			if err != nil {
				return usage(err)
			}
			return f.print(p, found)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.dialect, "dialect", "", "`name` of the dialect: postgresql, mysql (or mariadb), sqlite (default: what the path says, or the worst of all that can read it)")
	flags.StringArrayVar(&f.schema, "schema", nil, "`PATH` of a file or folder that defines the tables: DDL, or migrations in their order; can be repeated")
	flags.StringVar(&f.failOn, "fail-on", "not-safe", "the `verdict` from which the exit code is 1: not-safe or cannot-tell")
	flags.StringVar(&f.format, "format", "", "github prints annotations of workflows")
	flags.BoolVar(&f.json, "json", false, "print JSON, one object per statement")
	flags.BoolVar(&f.all, "all", false, "print the statements that are safe as well")
	return cmd
}

func (f *lintFlags) check(paths []string) error {
	if f.dialect != "" {
		if _, err := dialect.Parse(f.dialect); err != nil {
			return usagef("--dialect: %v", err)
		}
	}
	switch {
	case len(paths) == 0:
		return usagef("name the files or folders with the statements: semel lint PATH…")
	case f.failOn != "not-safe" && f.failOn != "cannot-tell":
		return usagef("--fail-on %q is neither not-safe nor cannot-tell", plainLine(f.failOn))
	case f.format != "" && f.format != "github":
		return usagef("--format %q is not known: github is (or --json)", plainLine(f.format))
	case f.json && f.format != "":
		return usagef("--json and --format exclude each other")
	}
	return nil
}

// print shows the findings.
func (f *lintFlags) print(p *process, all []lint.Finding) error {
	out := f.listing(p)
	counts, answered, fails := map[lint.Verdict]int{}, 0, 0
	bound := lint.NotSafe
	if f.failOn == "cannot-tell" {
		bound = lint.CannotTell
	}
	for i := range all {
		one := &all[i]
		if one.Answer == "" {
			counts[one.Verdict]++
		} else {
			answered++
		}
		if one.Open() && one.Verdict >= bound {
			fails++
		}
		if one.Open() || f.all || one.Rule == lint.NotNeeded {
			if err := out.write(one); err != nil {
				return err
			}
		}
	}
	if err := out.end(); err != nil {
		return err
	}
	fmt.Fprintf(p.stderr, "%s: %d safe, %d safe apart from a timestamp, %d not safe, %d cannot tell, %d answered\n", count(len(all), "statement"), //nolint:errcheck // a remark.
		counts[lint.Safe], counts[lint.SafeButTime], counts[lint.NotSafe], counts[lint.CannotTell], answered)
	if fails > 0 {
		return found(fmt.Errorf("look at %s, or answer with a comment: -- semel:safe REASON", count(fails, "statement")))
	}
	return nil
}

// listing prints findings in the form that was asked for.
func (f *lintFlags) listing(p *process) listing[lint.Finding] {
	switch {
	case f.json:
		return jsonOf(p, lintView)
	case f.format == "github":
		return listing[lint.Finding]{func(one *lint.Finding) error {
			level := "warning"
			if one.Verdict == lint.NotSafe {
				level = "error"
			}
			_, err := fmt.Fprintf(p.stdout, "::%s file=%s,line=%d,col=%d,title=semel lint: %s::%s\n", level, githubText(one.File), one.Line, one.Column, githubText(one.Verdict.String()), githubText(advice(one)))
			return err
		}, func() error { return nil }}
	}
	return sheetOf(newSheet(p, []string{"PLACE", "VERDICT", "STATEMENT", "WHY"}, "Every statement is safe to run twice."), func(one *lint.Finding) []string {
		return []string{plainLine(fmt.Sprintf("%s:%d", one.File, one.Line)), one.Verdict.String(), plainLine(shorten(one.Text, statementWidth)), plainLine(advice(one)) + " [" + one.Rule + "]"}
	})
}

const statementWidth = 60

// advice is the reason of a finding and what to do about it.
func advice(one *lint.Finding) string {
	if one.Guard == "" {
		return one.Why
	}
	return one.Why + "; " + one.Guard
}

// githubText escapes a text for an annotation.
func githubText(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(s)
}

// lintView is a finding as JSON.
func lintView(one *lint.Finding) json.Marshaler { return lintJSON{one} }

type lintJSON struct{ *lint.Finding }

// MarshalJSON implements [json.Marshaler].
func (v lintJSON) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		File      string   `json:"file"`
		Line      int      `json:"line"`
		Column    int      `json:"column"`
		Name      string   `json:"name,omitempty"`
		Statement string   `json:"statement"`
		Verdict   string   `json:"verdict"`
		Rule      string   `json:"rule"`
		Why       string   `json:"why"`
		Guard     string   `json:"guard,omitempty"`
		Assumes   []string `json:"assumes,omitempty"`
		Answer    string   `json:"answer,omitempty"`
	}{v.File, v.Line, v.Column, v.Name, v.Text, v.Verdict.String(), v.Rule, v.Why, v.Guard, v.Assumes, v.Answer})
}
