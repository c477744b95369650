package dedupe

import (
	"cmp"
	"context"
	"database/sql"
	_ "embed" // the statement below
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/rules/sqltext"
	"github.com/semel-dev/semel/internal/texts"
	"github.com/semel-dev/semel/schema/catalog"
)

//go:embed sql/sqlite_ledger.sql
var sqliteLedger string

// SQLite's result codes.
const (
	sqliteError      = 1
	sqlitePermission = 3
	sqliteBusy       = 5
	sqliteLocked     = 6
	sqliteReadOnly   = 8
	sqliteFull       = 13
	sqliteCannotOpen = 14
	sqliteConstraint = 19
	sqliteMismatch   = 20
)

// sqliteEngine keeps values as SQL literals, so that each comes back in its storage class, whatever the column says.
type sqliteEngine struct{}

func (sqliteEngine) settings() []string {
	return []string{"PRAGMA foreign_keys = OFF", "PRAGMA busy_timeout = 10000"}
}

func (sqliteEngine) begin() string { return "BEGIN IMMEDIATE" }

// own locks an empty database next to the one that is merged: such a lock ends with the process, however that ends.
func (sqliteEngine) own(ctx context.Context, s *dbSession) (func(context.Context) error, error) {
	name, err := sqliteFile(ctx, s)
	if err != nil || name == "" {
		return func(context.Context) error { return nil }, err
	}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: name + "-dedupe"}).EscapedPath(), RawQuery: "_pragma=busy_timeout(0)"}).String())
	if err != nil {
		return nil, err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	release := func(context.Context) error { return errors.Join(conn.Close(), db.Close()) }
	if _, err := conn.ExecContext(ctx, "BEGIN EXCLUSIVE"); err != nil {
		if (sqliteEngine{}).classify(err) == transient {
			err = ErrBusy
		}
		return nil, errors.Join(err, release(ctx))
	}
	return release, nil
}

// sqliteFile is the path of the database, "" for one in memory.
func sqliteFile(ctx context.Context, s *dbSession) (name string, err error) {
	if err := s.one(ctx, "SELECT file FROM pragma_database_list WHERE name = 'main'", nil, &name); err != nil || name == "" {
		return "", err
	}
	return filepath.EvalSymlinks(name)
}

func (sqliteEngine) ending() string        { return "" }
func (sqliteEngine) small() []string       { return nil }
func (sqliteEngine) ledger() string        { return sqliteLedger }
func (sqliteEngine) mayMake(string) string { return "SELECT 1 = 1" }
func (sqliteEngine) hasLedger() string {
	return "SELECT count(*) > 0 FROM main.sqlite_schema WHERE name = 'semel_dedupe_audit'"
}

func (sqliteEngine) identity(ctx context.Context, s *dbSession) (string, error) {
	return sqliteFile(ctx, s)
}

func (sqliteEngine) links(ctx context.Context, s *dbSession, schema *catalog.Schema) (links []link, err error) {
	query := `SELECT t.name, f.id, f."table", f."from", coalesce(f."to", '') FROM pragma_table_list AS t JOIN pragma_foreign_key_list(t.name, 'main') AS f WHERE t.schema = 'main' ORDER BY t.name, f.id, f.seq`
	//semel:safe it only reads
	err = s.each(ctx, query, nil, func(rows *sql.Rows) error {
		var child, parent, from, to string
		var number int
		if err := rows.Scan(&child, &number, &parent, &from, &to); err != nil {
			return err
		}
		name := "foreign key " + strconv.Itoa(number+1)
		p, found := schema.Table("main." + parent)
		c, ok := schema.Table("main." + child)
		if !found || !ok { // SQLite does not mind
			return nil
		}
		if last := len(links) - 1; last < 0 || links[last].name != name || links[last].child != fullName(c) {
			links = append(links, link{name: name, child: fullName(c), parent: fullName(p)})
		}
		l := &links[len(links)-1]
		if key := p.PrimaryKey(); to == "" && len(l.cols) < len(key) {
			to = key[len(l.cols)]
		}
		column, found := c.Column(from)
		target, ok := p.Column(to)
		if found && ok {
			l.cols, l.refs = append(l.cols, column.Name), append(l.refs, target.Name)
		}
		return nil
	})
	return slices.DeleteFunc(links, func(l link) bool { return len(l.cols) == 0 }), err
}

// fires lists those that UPDATE and DELETE fire.
func (sqliteEngine) fires(ctx context.Context, s *dbSession, add func(table, what string)) error {
	return s.each(ctx, "SELECT name, tbl_name, sql FROM main.sqlite_schema WHERE type = 'trigger' AND name NOT LIKE 'semel\\_dedupe\\_guard\\_%' ESCAPE '\\' ORDER BY tbl_name, name", nil, func(rows *sql.Rows) error {
		var name, table, text string
		if err := rows.Scan(&name, &table, &text); err != nil {
			return err
		}
		tokens, err := sqltext.Scan(dialect.SQLite, text)
		if err != nil {
			return err
		}
		event := slices.IndexFunc(tokens, func(t sqltext.Token) bool { return t.Is("ON") })
		if event < 1 || !tokens[event-1].Is("INSERT") {
			add("main."+table, "trigger "+name)
		}
		return nil
	})
}

func (sqliteEngine) hidden(context.Context, *dbSession, *site) (string, error) { return "", nil }

func (sqliteEngine) followers() string { return "" }

func (sqliteEngine) blind(context.Context, *dbSession) (string, error) {
	return "SQLite knows no replicas (give a --lag-query, such as one of a table that a monitor fills)", nil
}

func (sqliteEngine) announce(run int64) []string {
	return []string{"INSERT INTO semel_dedupe_now VALUES (" + strconv.FormatInt(run, 10) + ")"}
}
func (sqliteEngine) conclude() []string { return []string{"DELETE FROM semel_dedupe_now"} }
func (sqliteEngine) enforces() bool     { return false }

func (sqliteEngine) bind(statement string, args []any) (string, []any) {
	return rewrite(statement, func(n int) string { return "?" + strconv.Itoa(n) }), args
}

func (sqliteEngine) classify(err error) class {
	failed, ok := dialect.Refused(err)
	if !ok {
		return fatal
	}
	switch failed.Number & 0xff {
	case sqliteBusy, sqliteLocked:
		return transient
	case sqliteConstraint, sqliteMismatch:
		return ofRows
	case sqliteError:
		return ofSQL
	}
	return fatal
}

func (sqliteEngine) explain(err error) error {
	if failed, ok := dialect.Refused(err); ok {
		switch failed.Number & 0xff {
		case sqliteReadOnly, sqliteCannotOpen, sqlitePermission:
			return fmt.Errorf("%w (this user needs to write the file and its directory)", err)
		case sqliteFull:
			return fmt.Errorf("%w (make room, and go on)", err)
		}
	}
	return err
}

func (sqliteEngine) literal(s string) string { return apostrophes(s) }

// differ also distinguishes what SQLite holds for equal: 1 and 1.0, and texts that a collation makes the same.
func (sqliteEngine) differ(a, b []string) string {
	all := make([]string, len(a))
	for i := range a {
		all[i] = "(" + a[i] + ") COLLATE BINARY IS NOT (" + b[i] + ") OR typeof(" + a[i] + ") <> typeof(" + b[i] + ")"
	}
	return "(" + strings.Join(all, " OR ") + ")"
}

func (sqliteEngine) text(value string, _ *catalog.Column) string {
	return "CASE WHEN " + value + " IS NULL THEN NULL WHEN typeof(" + value + ") = 'text' AND instr(" + value + ", char(0)) > 0 THEN 'T''' || hex(" + value + ") || '''' ELSE quote(" + value + ") END"
}

// value reads a literal as text has it: 'text', X'blob', T'text that holds NUL, in hexadecimal', 1.5, 15. It compares as the column does.
func (sqliteEngine) value(text string, c *catalog.Column) string {
	inner := "unhex(substr(" + text + ", 3, length(" + text + ") - 3))"
	return "(CASE substr(" + text + ", 1, 1) WHEN '''' THEN replace(substr(" + text + ", 2, length(" + text + ") - 2), '''''', '''') WHEN 'X' THEN " + inner + " WHEN 'T' THEN CAST(" + inner + " AS TEXT)" +
		" ELSE CASE WHEN " + text + " GLOB '*[.e]*' THEN CAST(" + text + " AS REAL) ELSE CAST(" + text + " AS INTEGER) END END COLLATE " + quote(cmp.Or(c.Collation, "BINARY")) + ")"
}

func (sqliteEngine) array(values []string) string {
	return "json_array(" + strings.Join(values, ", ") + ")"
}

func (sqliteEngine) element(array string, i int) string {
	return "json_extract(" + array + ", '$[" + strconv.Itoa(i) + "]')"
}

func (e sqliteEngine) object(names, values []string) string {
	return "json_object(" + strings.Join(members(e, names, values), ", ") + ")"
}

func members(e values, names, values []string) []string {
	all := make([]string, len(names))
	for i := range names {
		all[i] = e.literal(names[i]) + ", " + values[i]
	}
	return all
}

func (e sqliteEngine) member(object, name string) string {
	return "json_extract(" + object + ", " + e.literal(`$."`+name+`"`) + ")"
}
func (sqliteEngine) plain(object string) string  { return object }
func (sqliteEngine) moment(column string) string { return "CAST(" + column + " AS TEXT)" }

// keys takes numbers for numbers first, and then for texts.
func (e sqliteEngine) keys(values []string) [][]string {
	likely := texts.Of(values, func(s string) string {
		if _, err := strconv.ParseInt(s, 10, 64); err == nil {
			return e.literal(s)
		}
		if blob, ok := strings.CutPrefix(s, "X'"); ok {
			if _, err := hex.DecodeString(strings.TrimSuffix(blob, "'")); err == nil {
				return e.literal(s)
			}
		}
		return e.literal(apostrophes(s))
	})
	return [][]string{likely, texts.Of(values, func(s string) string { return e.literal(apostrophes(s)) })}
}

func (sqliteEngine) decimal(value string) string { return value }
func (sqliteEngine) integer(value string) string { return "CAST(" + value + " AS INTEGER)" }
func (sqliteEngine) length(value string) string  { return "length(" + value + ")" }
func (sqliteEngine) now(*catalog.Column) string  { return "strftime('%Y-%m-%d %H:%M:%f', 'now')" }

// update never follows UNIQUE ON CONFLICT REPLACE of the application's table, which deletes the row that is in the way.
func (sqliteEngine) update(table, alias string, names, values []string, from, where string) string {
	return strings.Replace(updateFrom(table, alias, names, values, from, where), "UPDATE ", "UPDATE OR ABORT ", 1)
}

func (sqliteEngine) remove(t *table, where string) string {
	return "DELETE FROM " + t.path + " AS t WHERE (" + list(of("t", t.id)) + ") IN (SELECT " + list(t.oldID("f")) + " FROM " + t.fate() + " AS f WHERE " + where + ")"
}

func (sqliteEngine) locking() string { return "" } // there is one writer

// createFate gives columns the types and collations of the table's own, but keeps any value as it is.
func (sqliteEngine) createFate(t *table) []string {
	names := t.columns()
	define := func(names []string) []string {
		return texts.Of(names, func(name string) string {
			c := t.column(name)
			kind := c.Type
			if strings.EqualFold(kind, "any") { // a number in other tables than STRICT ones
				kind = ""
			}
			if c.Collation != "" {
				kind += " COLLATE " + quote(c.Collation)
			}
			return kind
		})
	}
	columns := []string{"grp", "item"}
	for _, group := range []struct {
		prefix string
		kinds  []string
	}{{"o", define(names)}, {"n", define(names)}, {"w", define(t.id)}, {"v", texts.Of(t.checks, func(string) string { return "" })}} {
		for i, kind := range group.kinds {
			columns = append(columns, group.prefix+strconv.Itoa(i+1)+" "+kind)
		}
	}
	return []string{
		"DROP TABLE IF EXISTS temp." + t.fate(),
		"CREATE TEMP TABLE " + t.fate() + " (" + list(columns) + ")",
		"CREATE UNIQUE INDEX temp." + t.fate() + "_o ON " + t.fate() + " (" + list(t.oldID("")) + ")",
		"CREATE INDEX temp." + t.fate() + "_w ON " + t.fate() + " (" + list(t.winner("")) + ")",
	}
}

func (sqliteEngine) dropFate(*table) string { return "" }
func (sqliteEngine) empties() string        { return "DELETE FROM " }
func (sqliteEngine) once() string           { return "MATERIALIZED " }
func (sqliteEngine) inOrder() string        { return "" }

// behind hides the index of the audit: after it, SQLite expects ten rows, and makes no index for them.
func (sqliteEngine) behind(columns, where string) string {
	return " CROSS JOIN (WITH semel_behind AS MATERIALIZED (SELECT " + columns + " FROM semel_dedupe_audit AS b NOT INDEXED WHERE " + where + ") SELECT * FROM semel_behind) AS b"
}

func (sqliteEngine) runOf() string             { return "(SELECT run FROM semel_dedupe_now)" }
func (sqliteEngine) insert(into string) string { return "INSERT OR ABORT INTO " + into }

func (e sqliteEngine) pairs(list string) string {
	return "SELECT json_extract(value, '$[0]') AS w, json_extract(value, '$[1]') AS l FROM json_each(" + e.literal(list) + ")"
}
