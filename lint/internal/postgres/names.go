package postgres

import (
	"strings"

	pg "github.com/sqlc-dev/oliphant"

	"github.com/semel-dev/semel/lint/internal/tree"
)

// words returns the strings of a list of names.
func words(list []*pg.Node) []string {
	var all []string
	for _, n := range list {
		all = append(all, n.GetString_().GetSval())
	}
	return all
}

// dotted returns a qualified name as one string, without the schema of the catalog.
func dotted(list []*pg.Node) string {
	all := words(list)
	if len(all) > 1 && all[0] == "pg_catalog" {
		all = all[1:]
	}
	return strings.Join(all, ".")
}

// qualified returns the name of an object from its parts.
func qualified(parts []string) tree.Name {
	switch n := len(parts); n {
	case 0:
		return tree.Name{}
	case 1:
		return tree.Name{Name: parts[0]}
	default:
		return tree.Name{Schema: strings.Join(parts[:n-1], "."), Name: parts[n-1]}
	}
}

// relation returns the name of a table.
func relation(r *pg.RangeVar) tree.Name {
	name := tree.Name{Schema: r.GetSchemaname(), Name: r.GetRelname()}
	if r.GetCatalogname() != "" {
		name.Schema = r.GetCatalogname() + "." + name.Schema
	}
	return name
}

// typeNames are the usual names of types that the parser names as the catalog does.
var typeNames = map[string]string{ //nolint:gochecknoglobals // constant
	"int2": "smallint", "int4": "int", "int8": "bigint", "float4": "real", "float8": "double precision",
	"bool": "boolean", "bpchar": "char", "varbit": "bit varying",
}

// typeName returns a type in one spelling: "int" for integer and int4, "timestamptz(0)", "text[]".
func typeName(n *pg.TypeName) string {
	if n == nil {
		return ""
	}
	parts := words(n.GetNames())
	name := strings.Join(parts, ".")
	switch {
	case len(parts) == 2 && parts[0] == "pg_catalog" || len(parts) == 1 && parts[0] != "char":
		last := parts[len(parts)-1]
		name = last
		if usual, ok := typeNames[last]; ok {
			name = usual
		}
	case name == "char":
		name = `"char"`
	}
	var mods []string
	for _, m := range n.GetTypmods() {
		if text := tree.Text(literal(m.GetAConst())); text != "32767" { // which is any field of interval
			mods = append(mods, text)
		}
	}
	if len(mods) > 0 {
		name += "(" + strings.Join(mods, ",") + ")"
	}
	if n.GetPctType() {
		name += "%type"
	}
	return name + strings.Repeat("[]", len(n.GetArrayBounds()))
}
