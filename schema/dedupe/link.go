package dedupe

import (
	"cmp"
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/schema/catalog"
)

// link is a foreign key of the catalogue, or a declared reference.
type link struct {
	name          string
	child, parent string // schema.name
	cols, refs    []string
	where         string
	// casts follow values of the columns: the parent's collation and type decide what is the same, as in a foreign key.
	casts []string
	// source and path are the child and the parent in SQL.
	source, path string
}

// cast completes a link.
func (l *link) cast(schema *catalog.Schema) {
	l.casts = make([]string, len(l.cols))
	child, _ := schema.Table(l.child)
	parent, _ := schema.Table(l.parent)
	for i := range l.cols {
		if child == nil || parent == nil {
			return
		}
		c, _ := child.Column(l.cols[i])
		p, found := parent.Column(l.refs[i])
		if c == nil || !found {
			continue
		}
		own, its := c.Collation, p.Collation
		if schema.Dialect == dialect.MySQL { // of two charsets, the wider one decides
			own, _, _ = strings.Cut(own, "_")
			its, _, _ = strings.Cut(its, "_")
		}
		switch {
		case p.Base == "citext" && c.Base != p.Base:
			l.casts[i] = "::" + p.Type
		case p.Collation == c.Collation, schema.Dialect == dialect.MySQL && own != its, schema.Dialect == dialect.PostgreSQL && (own == "" || its == ""):
		default:
			l.casts[i] = " COLLATE " + cmp.Or(p.Collation, "BINARY")
		}
	}
}

// refers holds where one row, of the child, refers to another.
func (e *edge) refers(parent, child string) string {
	return equal(of(parent, e.refs), cast(of(child, e.cols), e.casts))
}

// cast completes values.
func cast(values, casts []string) []string {
	all := slices.Clone(values)
	for i, text := range casts {
		all[i] += text
	}
	return all
}
