package verify

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/texts"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/schema/catalog"
)

const (
	// maxGroups bounds the sets of duplicates that are counted.
	maxGroups = 1000
	// maxSample is of how many of them keys are shown.
	maxSample = 5
)

// search looks for rows that break the rule already.
func (c *check) search(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	groups, whole, err := c.groups(limited)
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("search %s for duplicates: %w", c.rule.Table, ctx.Err())
	case limited.Err() != nil || tookTooLong(err):
		c.add(codeUnsearched, "", "search it yourself, or allow more time", "the search of %s for duplicates took longer than %s", c.rule.Table, c.options.Timeout)
		return nil
	case catalog.Unreadable(err) != "":
		c.add(codeNotIndexable, "", "correct the expression, or the constants after except", "the server cannot compare rows of %s by the rule: %s", c.rule.Table, catalog.Unreadable(err))
		return nil
	case err != nil:
		return fmt.Errorf("search %s for duplicates: %w", c.rule.Table, catalog.Explain(err))
	}
	if groups.Count > 0 {
		count := texts.Count(groups.Count, "group")
		if groups.More {
			count = "more than " + count
		}
		f := c.add(codeDuplicates, "", "merge or correct them before the index is made: "+c.selectGroups(), "%s has %s of rows that are the same by the rule, %d rows in all%s",
			c.rule.Table, count, groups.Rows, sampleOf(groups, c.table.PrimaryKey()))
		f.Duplicates = groups
	}
	if !whole {
		c.add(codeUnsearched, "", "search it yourself, or allow more rows", "%s has more than %d rows, and the rest was not searched for duplicates", c.rule.Table, c.options.MaxRows)
	}
	return nil
}

// tookTooLong reports whether a server ended the statement at its own limit.
func tookTooLong(err error) bool {
	var state interface{ SQLState() string }
	if errors.As(err, &state) {
		return state.SQLState() == "57014"
	}
	return err != nil && strings.Contains(err.Error(), "execution was interrupted")
}

// groups counts the duplicates. whole is false when the table has more rows than
// may be searched.
func (c *check) groups(ctx context.Context) (found *Groups, whole bool, err error) {
	tx, err := c.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, false, err
	}
	defer tx.Rollback() //nolint:errcheck // it only read.
	if err := c.limit(ctx, tx); err != nil {
		return nil, false, err
	}
	var rows int
	path := c.schema.Dialect.QuotePath(c.rule.Table)
	count := fmt.Sprintf("SELECT count(*) FROM (SELECT 1 FROM %s LIMIT %d) AS searched", path, c.options.MaxRows+1) //nolint:gosec // names are quoted.
	if err := tx.QueryRowContext(ctx, count).Scan(&rows); err != nil {
		return nil, false, err
	}
	result, err := tx.QueryContext(ctx, c.groupQuery(path))
	if err != nil {
		return nil, false, err
	}
	defer result.Close() //nolint:errcheck // Err says what went wrong.
	found = &Groups{}
	for result.Next() {
		var size int64
		var first, last sql.NullString
		if err := result.Scan(&size, &first, &last); err != nil {
			return nil, false, err
		}
		if found.Count == maxGroups {
			found.More = true
			break
		}
		found.Count++
		found.Rows += size
		if first.Valid && len(found.Sample) < maxSample {
			found.Sample = append(found.Sample, [2]string{first.String, last.String})
		}
	}
	return found, rows <= c.options.MaxRows, result.Err()
}

// limit makes PostgreSQL itself end a statement. MySQL and MariaDB take the limit
// with the query: there, a client that goes away stops nothing.
func (c *check) limit(ctx context.Context, tx *sql.Tx) error {
	if c.schema.Dialect != dialect.PostgreSQL {
		return nil
	}
	_, err := tx.ExecContext(ctx, fmt.Sprintf("SET LOCAL statement_timeout = %d", max(1, c.options.Timeout/time.Millisecond)))
	return err
}

// groupQuery counts each set of duplicates, with its first and last key.
func (c *check) groupQuery(path string) string {
	key := "NULL, NULL"
	if column, ok := c.sampleKey(); ok {
		key = "min(" + column + "), max(" + column + ")"
	}
	from := fmt.Sprintf("(SELECT * FROM %s LIMIT %d) AS searched", path, c.options.MaxRows)
	verb := "SELECT"
	switch {
	case c.schema.Dialect != dialect.MySQL:
	case strings.Contains(c.schema.Server, "MariaDB"):
		verb = fmt.Sprintf("SET STATEMENT max_statement_time = %.3f FOR SELECT", max(0.001, c.options.Timeout.Seconds()))
	default:
		verb = fmt.Sprintf("SELECT /*+ MAX_EXECUTION_TIME(%d) */", max(1, c.options.Timeout/time.Millisecond))
	}
	return verb + " count(*), " + key + " FROM " + from + c.grouped() + fmt.Sprintf(" LIMIT %d", maxGroups+1)
}

// selectGroups returns the query that shows all duplicates.
func (c *check) selectGroups() string {
	return "SELECT " + strings.Join(texts.Of(c.wants, func(w want) string { return w.sql }), ", ") + ", count(*) FROM " + c.schema.Dialect.QuotePath(c.rule.Table) + c.grouped()
}

// grouped is the end of a query that groups the rows that count by the rule.
func (c *check) grouped() string {
	var conditions, terms []string
	if where, err := c.predicate.Render(c.schema.Dialect, c.types); err == nil && where != "" {
		conditions = append(conditions, where)
	}
	for _, w := range c.wants {
		if w.nullable && c.rule.Nulls != rules.NullsSame {
			conditions = append(conditions, "("+w.sql+") IS NOT NULL")
		}
		terms = append(terms, c.exact(w))
	}
	text := ""
	if len(conditions) > 0 {
		text = " WHERE " + strings.Join(conditions, " AND ")
	}
	return text + " GROUP BY " + strings.Join(terms, ", ") + " HAVING count(*) > 1"
}

// exact writes a term so that texts differ that are equal for a loose
// collation: for the rule they differ.
func (c *check) exact(w want) string {
	loose := slices.ContainsFunc(w.term.Columns, func(name string) bool {
		column, ok := c.table.Column(name)
		return ok && column.Loose
	})
	if !loose || !w.term.Expr.MayBeText() || w.term.Expr.IsCollated() {
		return w.sql
	}
	switch c.schema.Dialect {
	case dialect.PostgreSQL:
		return `((` + w.sql + `)::text COLLATE "C")`
	case dialect.MySQL:
		return "CAST(" + w.sql + " AS BINARY)"
	case dialect.SQLite:
		return "(" + w.sql + ") COLLATE BINARY"
	}
	return w.sql
}

// sampleKey is the primary key as an expression that has a smallest, when it is
// one column whose values are not secret.
func (c *check) sampleKey() (column string, ok bool) {
	key := c.table.PrimaryKey()
	if len(key) != 1 {
		return "", false
	}
	found, ok := c.table.Column(key[0])
	if !ok {
		return "", false
	}
	column = c.schema.Dialect.Quote(found.Name)
	switch {
	case wholeNumber(found.Base):
		return column, true
	case found.Base == "uuid" && c.schema.Dialect == dialect.PostgreSQL:
		return column + "::text", true // before version 18, min has no uuid
	case found.Base == "uuid":
		return column, true
	}
	return "", false
}

// sampleOf shows keys of the first sets.
func sampleOf(groups *Groups, key []string) string {
	if len(groups.Sample) == 0 {
		return ""
	}
	pairs := texts.Of(groups.Sample, func(s [2]string) string { return s[0] + " and " + s[1] })
	return ", such as those with " + key[0] + " " + strings.Join(pairs, "; ")
}
