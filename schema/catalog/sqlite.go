package catalog

import (
	"context"
	"database/sql"
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/rules/sqltext"
)

func (r *reader) sqlite(ctx context.Context) error {
	r.schema.Name = "main"
	err := r.each(ctx, "server", "SELECT sqlite_version()", func(rows *sql.Rows) error { return rows.Scan(&r.schema.Server) })
	if err != nil {
		return err
	}
	withoutRowid := make(map[int]bool)
	err = r.query(ctx, "sqlite_tables", func(rows *sql.Rows) error {
		var kind string
		var place int
		var without bool
		t := Table{Rows: -1}
		if err := rows.Scan(&t.Schema, &t.Name, &kind, &without, &place); err != nil {
			return err
		}
		if kind == "view" {
			t.Kind = View
		}
		// The first of main and the attached databases wins; temp tables belong to other connections.
		if t.Schema == "temp" {
			return nil
		}
		t.Visible = !slices.ContainsFunc(r.schema.Tables, func(o Table) bool { return o.Visible && strings.EqualFold(o.Name, t.Name) })
		withoutRowid[len(r.schema.Tables)] = without
		r.add(t)
		return nil
	}, MaxRows+1)
	for i := 0; err == nil && i < len(r.schema.Tables); i++ {
		err = r.sqliteTable(ctx, &r.schema.Tables[i], withoutRowid[i])
	}
	return err
}

func (r *reader) sqliteTable(ctx context.Context, t *Table, withoutRowid bool) error {
	made := make(map[string]string) // name of a table or index to the text that made it
	text := "SELECT name, coalesce(sql, '') FROM " + dialect.SQLite.Quote(t.Schema) + ".sqlite_schema WHERE tbl_name = ?"
	err := r.each(ctx, "sqlite schema", text, func(rows *sql.Rows) error {
		var name, text string
		defer func() { made[name] = text }()
		return rows.Scan(&name, &text)
	}, t.Name)
	if err != nil {
		return err
	}
	definitions := columnDefinitions(made[t.Name])
	var key []string
	err = r.query(ctx, "sqlite_columns", func(rows *sql.Rows) error {
		var c Column
		var refusesNull bool
		var place, hidden int
		if err := rows.Scan(&c.Name, &c.Type, &refusesNull, &c.Default, &place, &hidden, &c.References); err != nil {
			return err
		}
		definition := definitions[strings.ToLower(c.Name)]
		c.Base, c.Collation, c.Generated, c.Stored = base(c.Type), definition.collation, definition.generated, hidden == 3
		c.Loose = strings.EqualFold(c.Collation, "nocase")
		c.IgnoresCase = c.Loose
		c.Nullable = !refusesNull && (place == 0 || !withoutRowid)
		c.Minted = mintedBy(c.Default)
		if place > 0 {
			key = append(key, c.Name)
		}
		t.Columns = append(t.Columns, c)
		return nil
	}, t.Name, t.Schema)
	if err != nil {
		return err
	}
	err = r.query(ctx, "sqlite_indexes", func(rows *sql.Rows) error { return t.sqlitePart(rows, made) }, t.Name, t.Schema)
	t.rowid(key, withoutRowid)
	return err
}

// rowid adds the primary key that is the row's number, which has no index.
func (t *Table) rowid(key []string, withoutRowid bool) {
	if len(key) != 1 || withoutRowid || t.PrimaryKey() != nil {
		return
	}
	c, _ := t.Column(key[0])
	c.Nullable, c.Minted = false, true
	t.Indexes = slices.Insert(t.Indexes, 0, Index{
		Unique: true, Primary: true, Valid: true, Ready: true, Method: "btree", Parts: []Part{{Column: c.Name}},
	})
}

func (t *Table) sqlitePart(rows *sql.Rows, made map[string]string) error {
	x := Index{Valid: true, Ready: true, Method: "btree"}
	var p Part
	var origin, collation string
	var partial bool
	var place, column int
	err := rows.Scan(&x.Name, &x.Unique, &origin, &partial, &place, &column, &p.Column, &p.Descending, &collation)
	if err != nil {
		return err
	}
	x.Primary = origin == "pk"
	if origin != "c" {
		x.Constraint = x.Name
	}
	expressions, where := indexDefinition(made[x.Name])
	if partial {
		x.Where = where
	}
	if column < 0 && place < len(expressions) {
		p.Column, p.Expression = "", expressions[place]
	}
	p.IgnoresCase = strings.EqualFold(collation, "nocase")
	p.Loose = p.IgnoresCase
	own := "BINARY"
	if c, ok := t.Column(p.Column); ok && c.Collation != "" {
		own = c.Collation
	}
	if !strings.EqualFold(collation, own) {
		p.Collation = collation
	}
	t.part(x, p)
	return nil
}

// indexDefinition cuts the text of CREATE INDEX into its parts, without
// collation and order, and the predicate.
func indexDefinition(text string) (parts []string, where string) {
	list, rest := inParentheses(text)
	if list == nil {
		return nil, ""
	}
	for _, part := range sqltext.Split(list, ",") {
		if n := len(part); n > 1 && (part[n-1].Is("ASC") || part[n-1].Is("DESC")) {
			part = part[:n-1]
		}
		if n := len(part); n > 2 && part[n-2].Is("COLLATE") {
			part = part[:n-2]
		}
		parts = append(parts, sqltext.Source(text, part))
	}
	if len(rest) > 1 && rest[0].Is("WHERE") {
		where = sqltext.Source(text, rest[1:])
	}
	return parts, where
}

// inParentheses cuts a text into the tokens in its first parentheses, and those
// after them.
func inParentheses(text string) (list, rest []sqltext.Token) {
	tokens, err := sqltext.Scan(dialect.SQLite, text)
	open := slices.IndexFunc(tokens, func(t sqltext.Token) bool { return t.Is("(") })
	if err != nil || open < 0 {
		return nil, nil
	}
	end := sqltext.Closing(tokens, open)
	if end < 0 {
		return nil, nil
	}
	return tokens[open+1 : end], tokens[end+1:]
}

// definition holds the attributes of a column that pragmas omit.
type definition struct{ collation, generated string }

// columnDefinitions reads the columns in the text of CREATE TABLE, by their names
// in lower case.
func columnDefinitions(text string) map[string]definition {
	list, _ := inParentheses(text)
	found := make(map[string]definition)
	for _, column := range sqltext.Split(list, ",") {
		if len(column) == 0 {
			continue
		}
		var d definition
		for i, depth := 1, 0; i < len(column); i++ {
			switch token := column[i]; {
			case token.Is("AS") && depth == 0 && i+1 < len(column) && column[i+1].Is("("):
				if last := sqltext.Closing(column, i+1); last > i+2 {
					d.generated = sqltext.Source(text, column[i+2:last])
				}
			case token.Is("COLLATE") && depth == 0 && i+1 < len(column):
				d.collation = column[i+1].Text
			case token.Is("("):
				depth++
			case token.Is(")"):
				depth--
			}
		}
		found[strings.ToLower(column[0].Text)] = d
	}
	return found
}
