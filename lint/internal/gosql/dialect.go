package gosql

import (
	"go/ast"
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/types/typeutil"

	"github.com/semel-dev/semel/internal/dialect"
)

// dialectHints returns the dialects of the drivers that a package imports.
func dialectHints(pass *analysis.Pass) (names []string) {
	for _, imported := range pass.Pkg.Imports() {
		if d := driver(imported.Path()); d != 0 {
			names = append(names, d.String())
		}
	}
	return names
}

// driver returns the dialect of a driver's package, 0 for others.
func driver(path string) dialect.Dialect {
	switch {
	case strings.HasPrefix(path, "github.com/jackc/pg"), strings.HasPrefix(path, "github.com/lib/pq"), path == "gorm.io/driver/postgres":
		return dialect.PostgreSQL
	case strings.HasPrefix(path, "github.com/go-sql-driver/mysql"), path == "gorm.io/driver/mysql":
		return dialect.MySQL
	case strings.HasPrefix(path, "modernc.org/sqlite"), strings.HasPrefix(path, "github.com/mattn/go-sqlite3"), strings.HasPrefix(path, "github.com/ncruces/go-sqlite3"),
		strings.HasPrefix(path, "zombiezen.com/go/sqlite"), strings.HasPrefix(path, "crawshaw.io/sqlite"),
		path == "gorm.io/driver/sqlite", strings.HasPrefix(path, "github.com/glebarez/"):
		return dialect.SQLite
	}
	return 0
}

// isPostgres reports whether a call is one of pgx.
func (p *program) isPostgres(call *ast.CallExpr) bool {
	fn, ok := typeutil.Callee(p.pass.TypesInfo, call).(*types.Func)
	if !ok || fn.Pkg() == nil {
		return false
	}
	if strings.HasPrefix(fn.Pkg().Path(), "github.com/jackc/pg") {
		return true
	}
	for result := range fn.Signature().Results().Variables() {
		if strings.Contains(types.TypeString(result.Type(), nil), "github.com/jackc/pg") {
			return true
		}
	}
	return false
}
