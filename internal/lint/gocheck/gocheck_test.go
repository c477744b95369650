package gocheck_test

import (
	"go/token"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"

	"github.com/semel-dev/semel/internal/lint/gocheck"
	"github.com/semel-dev/semel/internal/lint/gosql"
	"github.com/semel-dev/semel/lint"
)

// reporting returns an analyzer that reports the open findings: those of other packages at the package clause.
func reporting(guards ...string) *analysis.Analyzer {
	sql := gosql.New(&lint.Options{Schema: []string{"testdata/schema.sql"}, Dialect: "postgresql"})
	checks := gocheck.New(sql, func() []string { return guards })
	return &analysis.Analyzer{
		Name: "reporting", Doc: "reports all findings", Requires: []*analysis.Analyzer{checks},
		Run: func(pass *analysis.Pass) (any, error) {
			result, _ := pass.ResultOf[checks].(*gocheck.Result)
			for _, f := range result.Findings {
				if f.Open() {
					pass.Reportf(position(pass, &f), "%s: %s (%s)", f.Rule, f.Why, f.Verdict)
				}
			}
			return nil, nil
		},
	}
}

func position(pass *analysis.Pass, f *lint.Finding) token.Pos {
	for _, file := range pass.Files {
		if of := pass.Fset.File(file.Package); of.Name() == f.File {
			return of.LineStart(f.Line)
		}
	}
	return pass.Files[0].Package
}

// Each package of testdata shows what a check finds, as comments, and next to it what it must not find. They are loaded together, because
// most of the time goes into the standard library.
func TestPackages(t *testing.T) {
	t.Parallel()
	analysistest.Run(t, analysistest.TestData(), reporting("handler/named.once", "handler/named.server.once"),
		"insert", "retry", "retry/keyed", "order", "order/intent",
		"handler/plain", "handler/routers", "handler/far/cmd", "handler/guarded", "handler/outside", "handler/service", "handler/named",
	)
}
