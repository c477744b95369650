package gosql

import (
	"context"
	"fmt"
	"path/filepath"
	"reflect"
	"sync"

	"golang.org/x/tools/go/analysis"

	"github.com/semel-dev/semel/lint"
)

// New returns an analyzer whose result is a *[Result]. It reports nothing, and reads the schema when it meets the first
// statement. Options that change before that count. A schema that cannot be read is in the result: of an analyzer that fails,
// go vet does not say why.
func New(o *lint.Options) *analysis.Analyzer {
	if o == nil {
		o = &lint.Options{}
	}
	s := &settings{options: o}
	return &analysis.Analyzer{
		Name:       "semelsql",
		Doc:        "find the calls that hand SQL to a database, and judge whether the statements are safe to run twice",
		Run:        s.analyze,
		ResultType: reflect.TypeFor[*Result](),
		FactTypes:  []analysis.Fact{(*takesSQL)(nil), (*namesTable)(nil), (*isPlaceholders)(nil)},
	}
}

// settings are those of an analyzer.
type settings struct {
	options *lint.Options

	once   sync.Once
	schema *lint.Schema
	err    error
}

// tables returns the schema.
func (s *settings) tables() (*lint.Schema, error) {
	s.once.Do(func() { s.schema, s.err = lint.ReadSchema(context.Background(), s.options) })
	return s.schema, s.err
}

func (s *settings) analyze(pass *analysis.Pass) (of any, err error) {
	result := &Result{answers: readSafeComments(pass.Fset, pass.Files)}
	if !reachesSQL(pass) {
		return result, nil
	}
	defer func() {
		if r := recover(); r != nil { // one package must not hide the verdicts on the others
			of, err = &Result{answers: result.answers, Calls: []Call{crashed(pass, r)}}, nil
		}
	}()
	p := newProgram(pass)
	p.exportTables()
	p.exportPlaceholders()
	sites := p.sites()
	if m := pass.Module; m != nil && m.Version != "" { // of a dependency, only the facts matter
		return result, nil
	}
	j := &judge{pass: pass, settings: s, hints: dialectHints(pass)}
	for _, site := range sites {
		call, err := j.call(site)
		if err != nil {
			result.Err = err
			return result, nil
		}
		if site.orm != nil && len(call.Findings) == 0 { // it writes nothing
			continue
		}
		if reason, ok := result.Answer(site.at()); ok {
			accept(call.Findings, reason)
		} else if reason, ok := result.Answer(site.last()); ok {
			accept(call.Findings, reason)
		}
		result.Calls = append(result.Calls, call)
	}
	return result, nil
}

// crashed is the finding for a package that the analyzer cannot follow.
func crashed(pass *analysis.Pass, why any) Call {
	at := pass.Fset.Position(pass.Files[0].Package)
	return Call{Pos: pass.Files[0].Package, Unknown: "the package", Findings: []lint.Finding{{
		File: filepath.ToSlash(at.Filename), Line: at.Line, Column: at.Column, Text: "package " + pass.Pkg.Name(), Verdict: lint.CannotTell,
		Rule: VariableText, Why: fmt.Sprintf("semel failed to follow the package, which is a mistake of ours: %v", why),
	}}}
}

// accept answers the open findings of a call, or says that none is open.
func accept(all []lint.Finding, reason string) {
	open := false
	for i := range all {
		if all[i].Open() {
			open = true
			all[i].Accept(reason)
		}
	}
	if !open && len(all) > 0 && all[0].Answer == "" {
		all[0].Accept(reason)
	}
}
