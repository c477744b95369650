package archtest_test

import (
	"testing"

	"github.com/semel-dev/semel/proof/archtest"
)

func TestOnlyTheLinterReachesParsers(t *testing.T) {
	t.Parallel()
	const semel = archtest.Module
	const because = ": only semel lint and its commands may, so that programs of others can link Semel (docs/decisions/0032)"
	packages := []archtest.Package{
		{ImportPath: semel, Deps: []string{"github.com/sqlc-dev/oliphant/parser"}},
		{ImportPath: semel + "/check", TestImports: []string{semel + "/lint"}},
		{ImportPath: semel + "/cmd/semel", Deps: []string{semel + "/lint", "github.com/sqlc-dev/meyer"}},
		{ImportPath: semel + "/lint/cmd/semelvet", Deps: []string{"github.com/sqlc-dev/marino"}},
		{ImportPath: semel + "/ids", Deps: []string{"fmt"}, XTestImports: []string{"github.com/sqlc-dev/meyer"}},
		{ImportPath: semel + "/inbox", Deps: []string{"github.com/sqlc-dev/meyerbeer"}},
		{ImportPath: semel + "/lint/internal/mysql", Deps: []string{"github.com/sqlc-dev/marino/ast"}},
		{ImportPath: semel + "/internal/linters", Deps: []string{"github.com/sqlc-dev/marino/ast"}},
		{ImportPath: semel + "/lint", Deps: []string{semel + "/lint/internal/mysql", "github.com/sqlc-dev/marino/ast"}},
	}
	wantViolations(
		t, archtest.CheckParsers(packages),
		semel+": depends on github.com/sqlc-dev/oliphant"+because,
		semel+"/check: depends on github.com/sqlc-dev/marino in its tests"+because,
		semel+"/ids: depends on github.com/sqlc-dev/meyer in its tests"+because,
		semel+"/internal/linters: depends on github.com/sqlc-dev/marino"+because,
	)
}
