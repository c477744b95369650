package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/rules/sqltext"
)

func (r *reader) mysql(ctx context.Context, others []string) error {
	err := r.each(ctx, "server", "SELECT VERSION(), COALESCE(DATABASE(), '')", func(rows *sql.Rows) error {
		return rows.Scan(&r.schema.Server, &r.schema.Name)
	})
	if err != nil {
		return err
	}
	if r.schema.Name == "" {
		return errors.New("the DSN names no database: write …/database at its end")
	}
	for _, database := range append([]string{r.schema.Name}, others...) {
		if len(r.schema.Tables) > 0 && database == r.schema.Name {
			continue
		}
		if err := r.mysqlDatabase(ctx, database); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) mysqlDatabase(ctx context.Context, database string) error {
	before := len(r.schema.Tables)
	if err := r.query(ctx, "mysql_tables", r.mysqlTable, database, database, MaxRows+1); err != nil {
		return err
	}
	if len(r.schema.Tables) == before {
		return r.mysqlRights(ctx, database)
	}
	if err := r.query(ctx, "mysql_columns", r.mysqlColumn, database, database, MaxRows+1); err != nil {
		return err
	}
	return r.query(ctx, "mysql_indexes", r.mysqlPart, database, MaxRows+1)
}

// mysqlRights distinguishes a database without tables from one whose tables are
// hidden.
func (r *reader) mysqlRights(ctx context.Context, database string) error {
	var user string
	var may bool
	err := r.query(ctx, "mysql_rights", func(rows *sql.Rows) error { return rows.Scan(&user, &may) }, database)
	if err == nil && !may {
		name, host, _ := strings.Cut(user, "@")
		err = fmt.Errorf("user %s sees no table of database %s (run: GRANT SELECT ON %s.* TO '%s'@'%s')",
			user, database, dialect.MySQL.Quote(database), name, host)
	}
	return err
}

func (r *reader) mysqlTable(rows *sql.Rows) error {
	var t Table
	var kind, by string
	if err := rows.Scan(&t.Schema, &t.Name, &kind, &t.Engine, &t.Rows, &by); err != nil {
		return err
	}
	t.Visible = t.Schema == r.schema.Name
	switch {
	case strings.Contains(kind, "SEQUENCE"):
		return nil
	case strings.Contains(kind, "VIEW"):
		t.Kind = View
	case by != "":
		t.Kind = Partitioned
		t.PartitionBy = partitionColumns(by)
	}
	r.add(t)
	return nil
}

// partitionColumns returns the columns of a partition expression, each of which a unique key has to hold: the server
// quotes them. An expression without such names gives "".
func partitionColumns(text string) []string {
	tokens, err := sqltext.Scan(dialect.MySQL, text)
	if err != nil {
		return []string{""}
	}
	var columns []string
	for _, token := range tokens {
		if token.Kind == sqltext.Name && !slices.Contains(columns, token.Text) {
			columns = append(columns, token.Text)
		}
	}
	if len(columns) == 0 {
		return []string{""}
	}
	return columns
}

func (r *reader) mysqlColumn(rows *sql.Rows) error {
	var c Column
	var schema, table, extra string
	err := rows.Scan(&schema, &table, &c.Name, &c.Type, &c.Nullable, &c.Collation, &extra, &c.Generated, &c.Default, &c.References)
	if err != nil {
		return err
	}
	t := r.table(schema, table)
	if t == nil {
		return nil
	}
	c.Base = base(c.Type)
	c.Folding = mysqlFolds(c.Collation)
	extra = strings.ToUpper(extra)
	c.Stored = strings.Contains(extra, "STORED GENERATED") || strings.Contains(extra, "PERSISTENT")
	c.Minted = strings.Contains(extra, "AUTO_INCREMENT") || mintedBy(c.Default)
	t.Columns = append(t.Columns, c)
	return nil
}

// mysqlFolds reads the name of a collation: _bin and _cs respect case, _as
// accents, and other names ignore both, as general_ci does.
func mysqlFolds(collation string) Folding {
	words := "_" + strings.ToLower(collation) + "_"
	if collation == "" || strings.Contains(words, "_bin_") || strings.Contains(words, "_binary_") {
		return Folding{}
	}
	ignoresCase := !strings.Contains(words, "_cs_")
	ignoresAccents := strings.Contains(words, "_ai_") || ignoresCase && !strings.Contains(words, "_as_")
	return Folding{ignoresCase || ignoresAccents, ignoresCase, ignoresAccents}
}

// mysqlPart reads a row of STATISTICS, whose columns differ between servers.
func (r *reader) mysqlPart(rows *sql.Rows) error {
	row, err := named(rows)
	if err != nil {
		return err
	}
	t := r.table(row["TABLE_SCHEMA"], row["TABLE_NAME"])
	if t == nil {
		return nil
	}
	x := Index{
		Name: row["INDEX_NAME"], Unique: row["NON_UNIQUE"] == "0", Primary: row["INDEX_NAME"] == "PRIMARY", Valid: true, Ready: true,
		Ignored: row["IS_VISIBLE"] == "NO" || row["IGNORED"] == "YES", Method: strings.ToLower(row["INDEX_TYPE"]),
	}
	if x.Unique {
		x.Constraint = x.Name
	}
	p := Part{Column: row["COLUMN_NAME"], Expression: row["EXPRESSION"], Descending: row["COLLATION"] == "D"}
	if row["SUB_PART"] != "" {
		if p.Prefix, err = strconv.Atoi(row["SUB_PART"]); err != nil {
			return err
		}
	}
	if c, ok := t.Column(p.Column); ok {
		p.Folding = c.Folding
	}
	t.part(x, p)
	return nil
}

// named reads a row as a map of its columns; NULL is left out.
func named(rows *sql.Rows) (map[string]string, error) {
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	values, targets := make([]sql.NullString, len(names)), make([]any, len(names))
	for i := range values {
		targets[i] = &values[i]
	}
	if err := rows.Scan(targets...); err != nil {
		return nil, err
	}
	row := make(map[string]string, len(names))
	for i, name := range names {
		if values[i].Valid {
			row[strings.ToUpper(name)] = values[i].String
		}
	}
	return row, nil
}
