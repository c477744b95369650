package gosql_test

import (
	"reflect"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"

	"github.com/semel-dev/semel/lint"
	"github.com/semel-dev/semel/lint/internal/gosql"
)

// reporting returns an analyzer that reports every finding, and the texts that are not known.
func reporting(o *lint.Options) *analysis.Analyzer {
	finds := gosql.New(o)
	return &analysis.Analyzer{
		Name: "reporting", Doc: "reports all findings", Requires: []*analysis.Analyzer{finds}, ResultType: reflect.TypeFor[*gosql.Result](),
		Run: func(pass *analysis.Pass) (any, error) {
			result, _ := pass.ResultOf[finds].(*gosql.Result)
			for _, call := range result.Calls {
				for _, f := range call.Findings {
					pass.Reportf(call.Pos, "%s: %s (%s) answered: %s SQL %s", f.Verdict, f.Rule, f.Why, f.Answer, f.SQL)
				}
				if len(call.Findings) == 0 && !call.Wrapper {
					pass.Reportf(call.Pos, "unknown: %s", call.Unknown)
				}
			}
			return result, nil
		},
	}
}

// Each package of testdata shows one way in which SQL reaches a database, with the verdicts as comments.
func TestPackages(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"plain", "misleading", "wrap", "wrap/inner", "answers", "forms"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			analysistest.Run(t, analysistest.TestData(), reporting(&lint.Options{Schema: []string{"testdata/schema.sql"}, Dialect: "postgresql"}), name)
		})
	}
}

// What a program fills in is known as far as the configuration says it.
func TestFilledIn(t *testing.T) {
	t.Parallel()
	analysistest.Run(t, analysistest.TestData(), reporting(&lint.Options{Schema: []string{"testdata/schema.sql"}, Dialect: "postgresql", Config: "testdata/filled.yaml"}), "filled")
}

// GORM's calls are judged as the statements that GORM writes for them.
func TestORM(t *testing.T) {
	t.Parallel()
	o := &lint.Options{Schema: []string{"testdata/gorm.sql"}, Dialect: "postgresql"}
	analysistest.Run(t, analysistest.TestData(), reporting(o), "gorm/calls", "gorm/hostile", "gorm/generic")
}

// In every dialect, a model defines its table, and GORM's statement on it is read.
func TestModels(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{"postgresql", "mysql", "sqlite"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			names := []string{"gorm/every"}
			if dialect == "postgresql" {
				names = append(names, "gorm/alone")
			}
			analysistest.Run(t, analysistest.TestData(), reporting(&lint.Options{Models: true, Dialect: dialect}), names...)
		})
	}
}
