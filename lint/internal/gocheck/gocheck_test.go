package gocheck_test

import (
	"errors"
	"go/token"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"

	"github.com/semel-dev/semel/lint"
	"github.com/semel-dev/semel/lint/internal/gocheck"
	"github.com/semel-dev/semel/lint/internal/gosql"
)

// reporting returns an analyzer that reports the open findings: those of other packages at the package clause.
func reporting(schema string, guards ...string) *analysis.Analyzer {
	sql := gosql.New(&lint.Options{Schema: []string{schema}, Dialect: "postgresql"})
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
	analysistest.Run(t, analysistest.TestData(), reporting("testdata/schema.sql", "handler/named.once", "handler/named.server.once"),
		"insert", "modify", "retry", "retry/keyed", "order", "order/intent",
		"handler/plain", "handler/routers", "handler/far/cmd", "handler/guarded", "handler/outside", "handler/service", "handler/named",
	)
}

// GORM's calls and models are those of package gosql's tests.
func TestGORM(t *testing.T) {
	t.Parallel()
	src := filepath.Join(t.TempDir(), "src")
	code, err := os.ReadFile("testdata/gorm.txt")
	if err := errors.Join(err, os.CopyFS(src, os.DirFS("../gosql/testdata/src")), os.Mkdir(filepath.Join(src, "modify"), 0o700)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(src, "modify", "modify.go"), code, 0o600); err != nil {
		t.Fatal(err)
	}
	analysistest.Run(t, filepath.Dir(src), reporting("../gosql/testdata/gorm.sql"), "modify")
}
