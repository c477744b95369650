package sqlite

import (
	"slices"

	"github.com/sqlc-dev/meyer/ast"

	"github.com/semel-dev/semel/lint/internal/tree"
)

// rowIDs are the names of the row id of a table, where no column has them.
var rowIDs = []string{"rowid", "_rowid_", "oid"} //nolint:gochecknoglobals // constant

// fold writes the ASCII letters of a name in lower case. SQLite folds no others.
func fold(name string) string {
	folded := []byte(name)
	for i, c := range folded {
		if 'A' <= c && c <= 'Z' {
			folded[i] = c + 'a' - 'A'
		}
	}
	return string(folded)
}

func ident(n *ast.Ident) string {
	if n == nil {
		return ""
	}
	return fold(n.Name)
}

func idents(list []*ast.Ident) []string {
	var all []string
	for _, n := range list {
		all = append(all, ident(n))
	}
	return all
}

func indexed(list []*ast.IndexedColumn) []string {
	var all []string
	for _, n := range list {
		all = append(all, ident(n.Name))
	}
	return all
}

func objectName(n *ast.QualifiedName) tree.Name {
	return tree.Name{Schema: ident(n.Schema), Name: ident(n.Name)}
}

// createdName is the name of a new object. The temporary ones are in a schema of their own.
func createdName(n *ast.QualifiedName, temporary bool) tree.Name {
	name := objectName(n)
	if temporary && name.Schema == "" {
		name.Schema = "temp"
	}
	return name
}

// target is the table that a statement writes.
func (t *translator) target(n *ast.QualifiedName, alias *ast.Ident) (tree.Name, string) {
	name, as := objectName(n), ident(alias)
	t.reserve(name.Name, as)
	return name, as
}

// reserve refuses a table or alias that is named like the table of the values of an upsert.
func (t *translator) reserve(names ...string) {
	for _, name := range names {
		if name == tree.Excluded {
			t.fail("a table or an alias is named " + tree.Excluded)
		}
	}
}

func isRowID(name string) bool {
	return slices.Contains(rowIDs, name)
}
