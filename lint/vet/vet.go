// Package vet finds statements in Go programs that are not safe to run twice.
//
// [Analyzers] returns analyzers for multichecker, go vet and golangci-lint; lint/cmd/semelvet is such a command. [Run] is
// semel lint: it judges the Go packages and the .sql files of paths together. docs/lint.md says which calls and texts
// are understood.
package vet

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"sync"

	"golang.org/x/tools/go/analysis"

	"github.com/semel-dev/semel/lint"
	"github.com/semel-dev/semel/lint/internal/config"
	"github.com/semel-dev/semel/lint/internal/gocheck"
	"github.com/semel-dev/semel/lint/internal/gosql"
)

// page has every rule.
const page = "https://github.com/semel-dev/semel/blob/main/docs/lint.md"

// Analyzers returns the analyzers, which report every finding that no comment answers. Nil options mean all defaults.
// The options are read when the first statement is met, so that flags may still set them.
func Analyzers(o *lint.Options) []*analysis.Analyzer {
	c := newChecks(o)
	return []*analysis.Analyzer{{
		Name: "semel", Doc: "report SQL statements that are not safe to run twice, or of which that cannot be told", URL: page,
		Requires: []*analysis.Analyzer{c.sql, c.program},
		Run: func(pass *analysis.Pass) (any, error) {
			result, ok := pass.ResultOf[c.sql].(*gosql.Result)
			if !ok {
				return nil, nil //nolint:nilnil // an analyzer without a result
			}
			if result.Err != nil {
				return nil, result.Err
			}
			found := append(c.certain(pass), result.Findings()...)
			if !c.tables() {
				found = folded(found)
			}
			report(pass, found)
			return nil, nil //nolint:nilnil // as above
		},
	}}
}

// checks are the analyzers behind the one that reports.
type checks struct {
	sql, program *analysis.Analyzer
	tables       func() bool // whether anything defines tables
}

func newChecks(o *lint.Options) *checks {
	if o == nil {
		o = &lint.Options{}
	}
	sql := gosql.New(o)
	return &checks{
		sql: sql, program: gocheck.New(sql, sync.OnceValue(func() []string { return guards(o) })),
		tables: sync.OnceValue(func() bool { return defines(o) }),
	}
}

// defines reports whether the options or their configuration say where tables are defined. A configuration that cannot be read
// is an error of the first statement.
func defines(o *lint.Options) bool {
	if len(o.Schema) > 0 || o.Database != nil || o.Models || o.Config == "" {
		return len(o.Schema) > 0 || o.Database != nil || o.Models
	}
	file, err := config.Load(o.Config)
	if err != nil || file.Models || len(file.Schema) > 0 {
		return true
	}
	return slices.ContainsFunc(file.Overrides, func(one config.Override) bool { return len(one.Schema) > 0 })
}

// unknownTable is the rule of a statement whose table nothing defines.
const unknownTable = "unknown-table"

// mostTables bounds the tables that a folded finding names.
const mostTables = 3

// folded makes one finding of the many that lack nothing but a schema.
func folded(all []lint.Finding) []lint.Finding {
	var first *lint.Finding
	var names []string
	count := 0
	rest := slices.DeleteFunc(slices.Clone(all), func(f lint.Finding) bool {
		if f.Rule != unknownTable || !f.Open() || isTest(f.File) {
			return false
		}
		if first == nil {
			first = &f
		}
		count++
		names = append(names, append(slices.Clone(f.Writes), f.Reads...)...)
		return true
	})
	if count < 2 {
		return all
	}
	slices.Sort(names)
	names = slices.Compact(names)
	tables := strings.Join(names[:min(mostTables, len(names))], ", ")
	if more := len(names) - mostTables; more > 0 {
		tables += fmt.Sprintf(" and %d more", more)
	}
	first.Why = fmt.Sprintf("no schema was given, so nothing is known of the tables of %d statements in this package (%s)", count, tables)
	first.Guard = "pass the files that define them: -schema=FOLDER, the setting schema of golangci-lint, or schema: [FOLDER] in semel-lint.yaml"
	return append(rest, *first)
}

// guards are those of the options and of the configuration, which writes a method as (*path.Type).Method. A configuration that
// cannot be read is an error of the first statement.
func guards(o *lint.Options) []string {
	all := slices.Clone(o.Guards)
	if o.Config == "" {
		return all
	}
	file, err := config.Load(o.Config)
	if err != nil {
		return all
	}
	for _, name := range file.Guards {
		all = append(all, strings.NewReplacer("(", "", "*", "", ")", "").Replace(name))
	}
	return all
}

// certain returns what is not safe in the program. Findings in other packages go to the package clause.
func (c *checks) certain(pass *analysis.Pass) (found []lint.Finding) {
	result, ok := pass.ResultOf[c.program].(*gocheck.Result)
	if !ok {
		return nil
	}
	for _, f := range result.Findings {
		here := slices.ContainsFunc(pass.Files, func(file *ast.File) bool { return pass.Fset.File(file.FileStart).Name() == f.File })
		if !here && len(pass.Files) > 0 {
			at := pass.Fset.Position(pass.Files[0].Package)
			f.Why = fmt.Sprintf("%s:%d: %s", f.File, f.Line, f.Why)
			f.File, f.Line, f.Column = at.Filename, at.Line, at.Column
		}
		if f.Verdict == lint.NotSafe {
			found = append(found, f)
		}
	}
	return found
}

// report reports the findings outside of tests.
func report(pass *analysis.Pass, found []lint.Finding) {
	files := map[string]*token.File{}
	for _, f := range pass.Files {
		at := pass.Fset.File(f.FileStart)
		files[at.Name()] = at
	}
	for _, f := range found {
		file := files[f.File]
		if file == nil || f.Line < 1 || f.Line > file.LineCount() || !f.Open() && f.Rule != lint.NotNeeded || isTest(f.File) {
			continue
		}
		pass.Report(analysis.Diagnostic{
			Pos: file.LineStart(f.Line) + token.Pos(f.Column-1), Category: f.Rule, URL: page + "#the-rules", Message: message(&f),
		})
	}
}

func isTest(file string) bool { return strings.HasSuffix(file, "_test.go") }

// message is a finding in one line.
func message(f *lint.Finding) string {
	if f.Rule == lint.NotNeeded {
		return f.Why
	}
	text := fmt.Sprintf("%s to run twice: %s", f.Verdict, f.Why)
	if f.Verdict == lint.CannotTell {
		text = "cannot tell whether it is safe to run twice: " + f.Why
	}
	if f.Guard != "" {
		text += "; " + f.Guard
	}
	return text + " [" + f.Rule + "]"
}
