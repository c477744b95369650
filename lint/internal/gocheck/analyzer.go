package gocheck

import (
	"context"
	"go/build"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"sync"

	"golang.org/x/tools/go/analysis"

	"github.com/semel-dev/semel/lint"
	"github.com/semel-dev/semel/lint/internal/gosql"
)

// The rules of the checks.
const (
	CheckThenInsert  = "check-then-insert"
	ReadModifyWrite  = "read-modify-write"
	UnguardedHandler = "unguarded-handler"
	RetryLoop        = "retry-loop"
	InterceptorOrder = "interceptor-order"
)

// Result holds what the checks found in a package. In package main, that is also what concerns the whole program, at
// positions in other packages.
type Result struct {
	Findings []lint.Finding
}

// New returns an analyzer whose result is a *[Result]; sql is that of package gosql. Functions that guards names, as
// "import/path.Func" or "import/path.Type.Method", make what they are given happen once.
func New(sql *analysis.Analyzer, guards func() []string) *analysis.Analyzer {
	return &analysis.Analyzer{
		Name:       "semelgo",
		Doc:        "find what runs a statement twice that is not safe to run twice",
		Requires:   []*analysis.Analyzer{sql},
		Run:        func(pass *analysis.Pass) (any, error) { return analyze(pass, sql, guards()) },
		ResultType: reflect.TypeFor[*Result](),
		FactTypes:  []analysis.Fact{(*program)(nil)},
	}
}

func analyze(pass *analysis.Pass, sql *analysis.Analyzer, guards []string) (any, error) {
	known := &program{}
	for _, imported := range pass.Pkg.Imports() {
		var p program
		if pass.ImportPackageFact(imported, &p) {
			known.merge(&p)
		}
	}
	statements, ok := pass.ResultOf[sql].(*gosql.Result)
	if !ok || isOthers(pass) {
		if len(known.Packages) > 0 {
			pass.ExportPackageFact(known)
		}
		return &Result{}, nil
	}
	c := newCollector(pass, statements, guards, known)
	c.descriptors()
	c.functions()
	c.routes()
	c.answers()
	c.implementations()
	c.checkThenInsert()
	c.readModifyWrite()
	c.retries()
	c.order()
	c.prune()
	known.merge(&program{Packages: []*summary{c.summary}})
	pass.ExportPackageFact(known)
	return &Result{Findings: c.report(known)}, nil
}

// inModuleCache recognises a file of another module, where the driver does not say whose it is.
var inModuleCache = regexp.MustCompile(`/pkg/mod/.+@v`)

// isOthers reports whether a package is of the standard library or of another module.
func isOthers(pass *analysis.Pass) bool {
	if m := pass.Module; m != nil && m.Version != "" {
		return true
	}
	if len(pass.Files) == 0 {
		return true
	}
	name := filepath.ToSlash(filepath.Clean(pass.Fset.Position(pass.Files[0].Package).Filename))
	return strings.HasPrefix(name, standardLibrary()) || inModuleCache.MatchString(name)
}

var standardLibrary = sync.OnceValue(func() string { //nolint:gochecknoglobals // it is never changed.
	return filepath.ToSlash(filepath.Join(goroot(build.Default.GOROOT), "src")) + "/"
})

// goroot returns the folder of the Go that loads packages. A program built with -trimpath knows none of its own.
func goroot(known string) string {
	if known != "" {
		return known
	}
	out, _ := exec.CommandContext(context.Background(), "go", "env", "GOROOT").Output() // without a go command nothing is loaded
	return strings.TrimSpace(string(out))
}
