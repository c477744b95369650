package gormmodel

import (
	"fmt"
	"go/types"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
)

// Define writes the definition of the table as AutoMigrate makes it: its columns, its keys, and which columns the database fills.
// It is empty when the table is not known.
func (m *Model) Define(d dialect.Dialect) string {
	if m.Unknown != "" {
		return ""
	}
	var parts []string
	for _, f := range m.Fields {
		if f.Column != "" {
			parts = append(parts, f.define(d))
		}
	}
	for i, key := range m.Keys {
		var columns []string
		for _, f := range key {
			columns = append(columns, d.Quote(f.Column))
		}
		kind := "UNIQUE"
		if i == 0 && len(m.Primary()) > 0 {
			kind = "PRIMARY KEY"
		}
		parts = append(parts, fmt.Sprintf("%s (%s)", kind, strings.Join(columns, ", ")))
	}
	return fmt.Sprintf("CREATE TABLE %s (%s);", d.QuotePath(m.Table), strings.Join(parts, ", "))
}

// define writes one column.
func (f *Field) define(d dialect.Dialect) string {
	sql := d.Quote(f.Column) + " " + f.sqlType(d)
	switch {
	case f.Numbered && d == dialect.MySQL:
		sql += " AUTO_INCREMENT"
	case f.Numbered:
	case f.Default != "":
		sql += " DEFAULT " + f.Default
	case f.Defaulted: // by an expression, of which nothing is known
		sql += " DEFAULT (random())"
		if d == dialect.MySQL {
			sql = strings.TrimSuffix(sql, "(random())") + "(rand())"
		}
	}
	if f.NotNull || f.Primary {
		sql += " NOT NULL"
	}
	return sql
}

func (f *Field) sqlType(d dialect.Dialect) string {
	t := bare(f.Type)
	basic, _ := t.Underlying().(*types.Basic)
	switch {
	case f.Numbered && d == dialect.PostgreSQL:
		return "bigserial"
	case f.Numbered && d == dialect.SQLite:
		return "integer"
	case isTime(t), f.Deleted:
		return map[dialect.Dialect]string{dialect.PostgreSQL: "timestamptz", dialect.MySQL: "datetime(3)", dialect.SQLite: "datetime"}[d]
	case basic == nil:
		return map[dialect.Dialect]string{dialect.PostgreSQL: "text", dialect.MySQL: "varchar(191)", dialect.SQLite: "text"}[d]
	case basic.Info()&types.IsInteger != 0:
		return "bigint"
	case basic.Info()&types.IsFloat != 0:
		return "double precision"
	case basic.Info()&types.IsBoolean != 0:
		return "boolean"
	case d == dialect.MySQL:
		return "varchar(191)"
	}
	return "text"
}
