package dbguard

import (
	"context"
	_ "embed"

	"github.com/semel-dev/semel/internal/dialect"
)

//go:embed sql/types_postgresql.sql
var typesPostgreSQL string

//go:embed sql/types_mysql.sql
var typesMySQL string

// What types_mysql.sql says of text, which is compared byte by byte.
const (
	typeText = "TEXT"
	typeChar = "CHAR"
)

// learnTypes makes the next comparison with a value exact, by the types of the
// columns: as the value would be stored, such as rounded to the scale of the
// column. SQLite needs none.
func (c *creation) learnTypes(ctx context.Context, s Session) error {
	if c.dialect == dialect.SQLite || c.types != nil {
		return nil
	}
	statement, args := typesPostgreSQL, []any{c.table}
	if c.dialect == dialect.MySQL {
		schema, name, _ := cutLast(c.Table)
		statement, args = typesMySQL, []any{schema, name}
	}
	types := make(map[string]string)
	err := eachRow(ctx, s, statement, args, func(rows Rows) error {
		var column, name string
		err := rows.Scan(&column, &name)
		types[column] = name
		return err
	})
	if err != nil {
		return err
	}
	c.types = types
	return c.prepare()
}

// stored is an argument as a column would store it, as far as the types are known.
func (c *creation) stored(column, placeholder string) string {
	t := c.types[column]
	if c.dialect == dialect.MySQL && (t == typeText || t == typeChar) {
		t = "" // here the collation counts, as it does in the index
	}
	return castTo(t, placeholder)
}

func castTo(t, placeholder string) string {
	if t == "" {
		return placeholder
	}
	return "CAST(" + placeholder + " AS " + t + ")"
}
