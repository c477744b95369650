package dedupe

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/texts"
	"github.com/semel-dev/semel/schema/catalog"
)

// View is a view of the rows of a table that are not merged, for applications that do not know of merges.
type View struct {
	Table string `json:"table"`
	Name  string `json:"name"`
	// SQL makes it; Filter is the same for statements that name the table.
	SQL    string `json:"sql"`
	Filter string `json:"filter"`
	// Made says that this call made it.
	Made  bool     `json:"made"`
	Notes []string `json:"notes,omitempty"`
}

// invokerVersion is the first PostgreSQL in which a view can be read with the rights of the user who reads it.
const invokerVersion = 15

// Live returns the view of a table, and makes it on request. An empty name means TABLE_live; the view is in the table's schema.
func (d *Database) Live(ctx context.Context, table, name string, create bool) (*View, error) {
	schema, err := catalog.Read(ctx, d.DB, d.Dialect)
	if err != nil {
		return nil, catalog.Explain(err)
	}
	t, ok := schema.Table(table)
	if !ok {
		return nil, refuse("%w", schema.NoTable(table))
	}
	if t.Kind == catalog.View || t.Kind == catalog.Partition {
		return nil, refuse("%s is a view or a partition (name the table)", t.Path())
	}
	into, ok := t.Column(mergedInto)
	if !ok {
		return nil, refuse("%s has no column %s: its rows are not marked when they are merged, and none has to be left out", t.Path(), mergedInto)
	}
	name = cmp.Or(name, t.Name+"_live")
	v := &View{Table: fullName(t), Name: t.Schema + "." + name, Filter: d.Dialect.Quote(into.Name) + " IS NULL"}
	path := d.Dialect.Quote(t.Schema) + "." + d.Dialect.Quote(name)
	if other, taken := schema.Table(t.Schema + "." + name); taken && create {
		return nil, refuse("%s exists already (drop it first, or choose another name with --view)", fullName(other))
	}
	v.describe(d.Dialect, schema, t, path)
	if !create {
		return v, nil
	}
	if _, err := d.DB.ExecContext(ctx, v.SQL); err != nil {
		return nil, fmt.Errorf("make the view %s: %w", v.Name, err)
	}
	v.Made = true
	return v, nil
}

// describe writes the statement. The columns that a merge writes are not among those of the view: nothing can be merged, or
// inserted as merged, through it.
func (v *View) describe(d dialect.Dialect, schema *catalog.Schema, t *catalog.Table, path string) {
	create, with := "CREATE VIEW ", ""
	switch d {
	case dialect.PostgreSQL:
		major, _, _ := strings.Cut(schema.Server, ".")
		if n, err := strconv.Atoi(major); err == nil && n < invokerVersion {
			v.Notes = append(v.Notes, "it is read with the rights of its owner, whom row level security may not restrict: PostgreSQL "+major+" has no security_invoker")
		} else {
			with = " WITH (security_invoker = true)"
		}
		v.Notes = append(v.Notes, "users of the table need the same rights to the view (GRANT)")
	case dialect.MySQL:
		create = "CREATE ALGORITHM = MERGE SQL SECURITY INVOKER VIEW "
		v.Notes = append(v.Notes, "users with rights to the table alone need the same rights to the view (GRANT)")
	case dialect.SQLite:
		v.Notes = append(v.Notes, "SQLite only reads views: write to the table")
	}
	var columns []string
	for _, c := range t.Columns {
		switch strings.ToLower(c.Name) {
		case mergedInto, mergedAt, mergeRun:
			continue
		}
		if c.Generated == "" || !strings.HasPrefix(c.Name, "semel_") { // those of unique indexes go with them
			columns = append(columns, c.Name)
		}
	}
	//semel:safe a second CREATE VIEW is refused
	v.SQL = create + path + with + " AS\nSELECT " + list(texts.Of(columns, d.Quote)) + "\nFROM " + d.Quote(t.Schema) + "." + d.Quote(t.Name) + "\nWHERE " + v.Filter
}
