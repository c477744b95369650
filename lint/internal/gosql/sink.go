package gosql

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/types/typeutil"
)

// takesSQL is a fact about a function, one of whose parameters is SQL, or about a field whose value is.
type takesSQL struct {
	Param int // of the parameter; 0 for a field
	// Before and After are put around the text before a database gets it.
	Before, After string
	// Open says that more is put around it, which is not known.
	Open bool
}

// AFact implements [analysis.Fact].
func (*takesSQL) AFact() {}

// String implements [fmt.Stringer].
func (f *takesSQL) String() string { return "takesSQL" }

// libraries lists the packages whose methods and functions of certain names take SQL.
func libraries() []string {
	return []string{
		"database/sql", "github.com/jackc/pgx", "github.com/jackc/pgconn", "github.com/jmoiron/sqlx", "gorm.io/gorm", "github.com/georgysavva/scany",
		"github.com/uptrace/bun", "zombiezen.com/go/sqlite", "crawshaw.io/sqlite",
	}
}

// runs reports whether a method or function of a library, which has this name, takes SQL.
func runs(name string) bool {
	switch strings.TrimSuffix(strings.TrimSuffix(name, "Context"), "x") {
	case "Exec", "Query", "QueryRow", "Prepare", "MustExec", "Raw", "NewRaw", "Queue",
		"Get", "Select", "NamedExec", "NamedQuery", "PrepareNamed", "ExecParams", "Execute", "ExecuteTransient", "ExecuteScript", "ExecScript":
		return true
	}
	return false
}

// reachesSQL reports whether a package can hand SQL to a database: it, or a package that it imports, knows a library.
func reachesSQL(pass *analysis.Pass) bool {
	if strings.HasPrefix(pass.Pkg.Path(), "database/sql") { // its own code hands nothing on but what it is given
		return false
	}
	if len(pass.AllObjectFacts()) > 0 {
		return true
	}
	seen := map[*types.Package]bool{}
	var reaches func(*types.Package) bool
	reaches = func(pkg *types.Package) bool {
		if seen[pkg] {
			return false
		}
		seen[pkg] = true
		return isLibrary(pkg.Path()) || slices.ContainsFunc(pkg.Imports(), reaches)
	}
	return slices.ContainsFunc(pass.Pkg.Imports(), reaches)
}

func isLibrary(path string) bool {
	return slices.ContainsFunc(libraries(), func(l string) bool { return path == l || strings.HasPrefix(path, l+"/") })
}

// sink returns which argument of a call is SQL.
func (p *program) sink(call *ast.CallExpr) (index int, fact *takesSQL, ok bool) {
	fn, _ := typeutil.Callee(p.pass.TypesInfo, call).(*types.Func)
	if fn == nil {
		return 0, nil, false
	}
	fn = fn.Origin()
	signature := fn.Signature()
	if fact = p.factOf(fn); fact != nil {
		return fact.Param, fact, fact.Param < len(call.Args) && !call.Ellipsis.IsValid() || fact.Param < signature.Params().Len()-1 && fact.Param < len(call.Args)
	}
	if fn.Pkg() == nil || !known(fn, signature) {
		return 0, nil, false
	}
	index = textParam(signature)
	return index, &takesSQL{Param: index}, index >= 0 && index < len(call.Args)
}

// known reports whether the shape of a function says that it takes SQL.
func known(fn *types.Func, s *types.Signature) bool {
	if !runs(fn.Name()) || strings.Contains(fn.Pkg().Path(), "gocql") || strings.Contains(fn.Pkg().Path(), "cassandra") {
		return false
	}
	if fn.Pkg().Path() == orm { // Select and Get of GORM take no SQL
		return fn.Name() == "Raw" || fn.Name() == "Exec"
	}
	if isLibrary(fn.Pkg().Path()) {
		return true
	}
	if s.Recv() == nil || fn.Name() == "Get" || fn.Name() == "Select" {
		return false
	}
	return types.IsInterface(s.Recv().Type()) && takesAny(s) || answersRows(s)
}

// takesAny reports whether the last parameter is ...any.
func takesAny(s *types.Signature) bool {
	if !s.Variadic() {
		return false
	}
	last, ok := s.Params().At(s.Params().Len() - 1).Type().(*types.Slice)
	if !ok {
		return false
	}
	of, ok := last.Elem().Underlying().(*types.Interface)
	return ok && of.Empty()
}

// answersRows reports whether a function returns a type of a library: rows, a result, or a statement.
func answersRows(s *types.Signature) bool {
	for result := range s.Results().Variables() {
		of := result.Type()
		if pointer, ok := of.(*types.Pointer); ok {
			of = pointer.Elem()
		}
		if named, ok := types.Unalias(of).(*types.Named); ok && named.Obj().Pkg() != nil && isLibrary(named.Obj().Pkg().Path()) {
			return true
		}
	}
	return false
}

// textParam returns the parameter that is a text by its type, and SQL by its name if there are several; -1 for none.
func textParam(s *types.Signature) int {
	first := -1
	for i := range s.Params().Len() {
		param := s.Params().At(i)
		if s.Variadic() && i == s.Params().Len()-1 || !isText(param.Type()) {
			continue
		}
		switch strings.ToLower(param.Name()) {
		case "query", "sql", "sqlstr", "statement", "script":
			return i
		}
		if first < 0 {
			first = i
		}
	}
	return first
}

// isText reports whether a type is a kind of string.
func isText(t types.Type) bool {
	if t == nil {
		return false
	}
	basic, ok := t.Underlying().(*types.Basic)
	return ok && basic.Info()&types.IsString != 0
}

// isWhole reports whether a type is a kind of integer.
func isWhole(t types.Type) bool {
	if t == nil {
		return false
	}
	basic, ok := t.Underlying().(*types.Basic)
	return ok && basic.Info()&types.IsInteger != 0
}
