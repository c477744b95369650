package catalog

import (
	"context"
	"database/sql"
)

func (r *reader) postgres(ctx context.Context) error {
	// The statements join in an order that is good for any schema: looking for another one took most of the time.
	const server = "SELECT current_setting('server_version'), coalesce(current_schema(), ''), set_config('join_collapse_limit', '1', true)"
	//semel:safe the setting ends with the transaction, and is the same each time
	err := r.each(ctx, "server", server, func(rows *sql.Rows) error {
		return rows.Scan(&r.schema.Server, &r.schema.Name, new(string))
	})
	if err != nil {
		return err
	}
	if err := r.query(ctx, "postgres_tables", r.postgresTable, MaxRows+1); err != nil {
		return err
	}
	folds := make(foldings)
	if err := r.query(ctx, "postgres_columns", func(rows *sql.Rows) error { return r.postgresColumn(rows, folds) }, MaxRows+1); err != nil {
		return err
	}
	if err := r.query(ctx, "postgres_indexes", func(rows *sql.Rows) error { return r.postgresPart(rows, folds) }, MaxRows+1); err != nil {
		return err
	}
	if err := r.ask(ctx, folds); err != nil {
		return err
	}
	r.relate()
	return nil
}

func (r *reader) postgresTable(rows *sql.Rows) error {
	var t Table
	var kind, rootSchema, parent, by string
	var partition, inherits bool
	err := rows.Scan(&t.Schema, &t.Name, &kind, &partition, &t.Visible, &t.Rows, &rootSchema, &t.Root, &inherits, &parent, &by)
	if err != nil {
		return err
	}
	switch {
	case kind == "f":
		t.Kind = Foreign
	case kind == "v", kind == "m":
		t.Kind = View
	case partition:
		t.Kind = Partition
	case kind == "p":
		t.Kind = Partitioned
	}
	if inherits {
		t.Root = parent // the parent by inheritance, until relate
	}
	if kind == "p" {
		t.PartitionBy = list(by)
		if len(t.PartitionBy) == 0 {
			t.PartitionBy = []string{""}
		}
	}
	r.add(t)
	return nil
}

// relate gives partitioned tables their leaves, and plain tables their children.
func (r *reader) relate() {
	for i := range r.schema.Tables {
		t := &r.schema.Tables[i]
		if t.Root == "" {
			continue
		}
		root := r.table(t.Schema, t.Root)
		for j := range r.schema.Tables { // the root may be in another schema
			if other := &r.schema.Tables[j]; root == nil && other.Name == t.Root && (other.Kind == Partitioned || t.Kind == Plain) {
				root = other
			}
		}
		switch {
		case t.Kind == Plain:
			t.Root = ""
			if root != nil {
				root.Children = append(root.Children, t.Path())
			}
		case root != nil && t.PartitionBy == nil: // a leaf
			root.Partitions = append(root.Partitions, t.Path())
		}
	}
}

func (r *reader) postgresColumn(rows *sql.Rows, folds foldings) error {
	var c Column
	var schema, table, generated, identity, expression string
	var loose bool
	err := rows.Scan(&schema, &table, &c.Name, &c.Type, &c.Base, &c.Nullable, &c.Collation, &loose,
		&generated, &identity, &expression, &c.References)
	if err != nil {
		return err
	}
	switch {
	case generated != "":
		c.Generated, c.Stored = expression, generated == "s"
	case identity != "":
		c.Minted = true
	default:
		c.Default, c.Minted = expression, mintedBy(expression)
	}
	t := r.table(schema, table)
	if t == nil {
		return nil
	}
	at := len(t.Columns)
	t.Columns = append(t.Columns, c)
	folds.collect(c.Base, c.Collation, loose, func(f Folding) { r.table(schema, table).Columns[at].Folding = f })
	return nil
}

func (r *reader) postgresPart(rows *sql.Rows, folds foldings) error {
	var x Index
	var p Part
	var schema, table, base string
	var equality, loose bool
	var place int
	err := rows.Scan(&schema, &table, &x.Name, &x.Constraint, &x.Unique, &x.Primary, &x.Exclusion, &equality, &x.Where, &x.NullsNotDistinct,
		&x.Valid, &x.Ready, &x.Deferrable, &x.Method, &x.Root, &place, &p.Column, &p.Expression, &p.Descending, &p.Collation, &loose, &base)
	if err != nil {
		return err
	}
	t := r.table(schema, table)
	if t == nil {
		return nil
	}
	if x.Exclusion {
		x.Unique = equality
	}
	collation := p.Collation
	own := `pg_catalog."default"`
	if c, ok := t.Column(p.Column); ok {
		own = c.Collation
	}
	if p.Collation == own {
		p.Collation = ""
	}
	t.part(x, p)
	index := len(t.Indexes) - 1
	folds.collect(base, collation, loose, func(f Folding) { r.table(schema, table).Indexes[index].Parts[place-1].Folding = f })
	return nil
}

// foldings collects who uses which nondeterministic collation, by its quoted
// name, to ask for each only once what it makes equal.
type foldings map[string][]func(Folding)

func (f foldings) collect(base, collation string, loose bool, tell func(Folding)) {
	switch {
	case loose:
		f[collation] = append(f[collation], tell)
	case base == "citext":
		tell(Folding{Loose: true, IgnoresCase: true})
	}
}

func (r *reader) ask(ctx context.Context, folds foldings) error {
	for path, users := range folds {
		found := Folding{Loose: true}
		question := "SELECT 'a' COLLATE " + path + " = 'A', 'e' COLLATE " + path + " = U&'\\00E9'"
		err := r.each(ctx, "collation "+path, question, func(rows *sql.Rows) error { return rows.Scan(&found.IgnoresCase, &found.IgnoresAccents) })
		if err != nil {
			return err
		}
		for _, tell := range users {
			tell(found)
		}
	}
	return nil
}
