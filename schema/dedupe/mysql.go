package dedupe

import (
	"context"
	"database/sql"
	_ "embed" // the statement below
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/texts"
	"github.com/semel-dev/semel/schema/catalog"
)

//go:embed sql/mysql_ledger.sql
var mysqlLedger string

// mysqlEngine is MariaDB and MySQL. Values are kept as the texts that the server prints and reads again; in hexadecimal
// where they are bytes.
type mysqlEngine struct{}

func (mysqlEngine) settings() []string {
	return []string{
		"SET NAMES utf8mb4",
		"SET SESSION sql_mode = 'ANSI_QUOTES,STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES,NO_ENGINE_SUBSTITUTION,ONLY_FULL_GROUP_BY'",
		"SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
		// A derived table is read before the table that is updated changes.
		"SET SESSION time_zone = '+00:00', sql_safe_updates = 0, sql_select_limit = DEFAULT, optimizer_switch = 'derived_merge=off'",
	}
}

func (mysqlEngine) begin() string { return "START TRANSACTION" }

const mysqlLock = "concat('semel dedupe ', md5(database()))"

func (mysqlEngine) own(ctx context.Context, s *dbSession) (func(context.Context) error, error) {
	var won sql.NullInt64
	//semel:safe a lock of the session, which gives back all that it has
	if err := s.one(ctx, "SELECT get_lock("+mysqlLock+", 0)", nil, &won); err != nil {
		return nil, err
	}
	if won.Int64 != 1 {
		return nil, ErrBusy
	}
	return func(ctx context.Context) error {
		//semel:safe the session ends, and gives back all that it has
		_, _ = s.conn.ExecContext(ctx, "DO release_lock("+mysqlLock+")")
		return nil
	}, nil
}

func (mysqlEngine) ending() string { return "SELECT concat('KILL QUERY ', connection_id())" }

// small lets the server count the rows of the tool's tables, which grow faster than it notices: it would take them for a few, and compare
// all with all.
func (mysqlEngine) small() []string {
	return []string{"SET SESSION foreign_key_checks = 0", "ANALYZE NO_WRITE_TO_BINLOG TABLE semel_dedupe_map, semel_dedupe_audit"}
}

func (mysqlEngine) ledger() string { return mysqlLedger }
func (mysqlEngine) hasLedger() string {
	return "SELECT count(*) > 0 FROM information_schema.TABLES WHERE TABLE_SCHEMA = database() AND TABLE_NAME = 'semel_dedupe_audit'"
}

// mayMake does not ask for a table that is there: this needs the right to make it.
func (mysqlEngine) mayMake(table string) string {
	return "SELECT count(*) = 0 FROM information_schema.TABLES WHERE TABLE_SCHEMA = database() AND TABLE_NAME = '" + table + "'"
}

func (mysqlEngine) identity(ctx context.Context, s *dbSession) (id string, err error) {
	err = s.one(ctx, "SELECT concat_ws('/', @@hostname, @@port, @@datadir, database())", nil, &id)
	return id, err
}

func (mysqlEngine) links(ctx context.Context, s *dbSession, schema *catalog.Schema) (links []link, err error) {
	query := "SELECT CONSTRAINT_NAME, TABLE_NAME, REFERENCED_TABLE_SCHEMA, REFERENCED_TABLE_NAME, COLUMN_NAME, REFERENCED_COLUMN_NAME FROM information_schema.KEY_COLUMN_USAGE" +
		" WHERE TABLE_SCHEMA = database() AND REFERENCED_TABLE_NAME IS NOT NULL ORDER BY TABLE_NAME, CONSTRAINT_NAME, ORDINAL_POSITION"
	err = s.each(ctx, query, nil, func(rows *sql.Rows) error {
		var name, child, space, parent, column, target string
		if err := rows.Scan(&name, &child, &space, &parent, &column, &target); err != nil {
			return err
		}
		full := func(space, name string) string { // the server's files may have no capitals
			if t, ok := schema.Table(space + "." + name); ok {
				return fullName(t)
			}
			return space + "." + name
		}
		child = full(schema.Name, child)
		if last := len(links) - 1; last < 0 || links[last].name != name || links[last].child != child {
			links = append(links, link{name: name, child: child, parent: full(space, parent)})
		}
		l := &links[len(links)-1]
		l.cols, l.refs = append(l.cols, column), append(l.refs, target)
		return nil
	})
	return links, err
}

func (mysqlEngine) fires(ctx context.Context, s *dbSession, add func(table, what string)) error {
	query := "SELECT EVENT_OBJECT_SCHEMA, EVENT_OBJECT_TABLE, TRIGGER_NAME FROM information_schema.TRIGGERS WHERE EVENT_OBJECT_SCHEMA = database() AND EVENT_MANIPULATION <> 'INSERT' AND TRIGGER_NAME NOT LIKE 'semel!_dedupe!_guard!_%' ESCAPE '!' ORDER BY 2, 3"
	return s.each(ctx, query, nil, func(rows *sql.Rows) error {
		var space, table, name string
		err := rows.Scan(&space, &table, &name)
		add(space+"."+table, "trigger "+name)
		return err
	})
}

// hidden looks for references that a merge does not reach, and which are not checked while rows move: those from other databases,
// and from tables that this user does not see.
func (mysqlEngine) hidden(ctx context.Context, s *dbSession, site *site) (string, error) {
	file := func(name string) string {
		return "convert(cast(convert(" + name + " USING filename) AS binary) USING utf8mb4)"
	}
	view := "information_schema.INNODB_SYS_FOREIGN" // MariaDB
	var has bool
	if err := s.one(ctx, "SELECT count(*) > 0 FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'information_schema' AND TABLE_NAME = 'INNODB_FOREIGN'", nil, &has); err != nil {
		return "", err
	}
	if has {
		view = "information_schema.INNODB_FOREIGN"
	}
	for _, t := range site.tables {
		if !t.deep {
			continue
		}
		seen := []string{"''"}
		for _, l := range site.links {
			if space, child, _ := strings.Cut(l.child, "."); l.parent == t.name {
				seen = append(seen, "concat("+file(s.literal(space))+", '/', "+file(s.literal(child))+")")
			}
		}
		var child string
		var other bool
		err := s.one(ctx, "SELECT FOR_NAME, FOR_NAME NOT LIKE concat("+file("database()")+", '/%') FROM "+view+" WHERE REF_NAME = concat("+file("database()")+", '/', "+file(s.literal(t.catalog.Name))+
			") AND FOR_NAME NOT IN ("+list(seen)+") LIMIT 1", nil, &child, &other)
		refused, isRefused := dialect.Refused(err)
		switch {
		case errors.Is(err, sql.ErrNoRows):
		case isRefused && refused.Number == 1227:
			return "this user does not see whether tables of other databases refer to " + t.name + " (GRANT PROCESS ON *.* TO this user)", nil
		case err != nil:
			return "", err
		case other:
			return "the table " + child + " of another database refers to " + t.name + ", which a merge does not reach (drop its foreign key)", nil
		default:
			return "the table " + child + " refers to " + t.name + ", and this user has no rights on it (GRANT SELECT, INSERT, UPDATE, DELETE on it TO this user)", nil
		}
	}
	return "", nil
}

// followers are unknown: a primary knows which replicas are connected, and not what they have applied.
func (mysqlEngine) followers() string { return "" }

func (mysqlEngine) blind(context.Context, *dbSession) (string, error) {
	return "MariaDB and MySQL do not know how far their replicas are behind (give a --lag-query, such as one of a table that a monitor fills)", nil
}

func (mysqlEngine) announce(run int64) []string {
	return []string{"SET @semel_merge_run = " + strconv.FormatInt(run, 10)}
}
func (mysqlEngine) conclude() []string { return nil }
func (mysqlEngine) enforces() bool     { return false }

// bind repeats arguments that a statement names more than once.
func (mysqlEngine) bind(statement string, args []any) (string, []any) {
	var all []any
	statement = rewrite(statement, func(n int) string {
		all = append(all, args[n-1])
		return "?"
	})
	return statement, all
}

func (mysqlEngine) classify(err error) class {
	failed, ok := dialect.Refused(err)
	if !ok {
		return fatal
	}
	switch failed.Number {
	case 1205, 1213, 1020: // lock wait, deadlock, changed since
		return transient
	case 1644, 1265, 1292, 1366, 1411: // SIGNAL of a trigger, values that do not fit
		return ofRows
	case 1044, 1142, 1143, 1227, 1370: // a right is missing
		return fatal
	case 1111:
		return ofSQL
	}
	switch class := failed.State; class[:min(len(class), 2)] {
	case "22", "23", "45":
		return ofRows
	case "42", "21":
		return ofSQL
	}
	return fatal
}

func (mysqlEngine) explain(err error) error {
	if failed, ok := dialect.Refused(err); ok {
		switch failed.Number {
		case 1044, 1142, 1143, 1227:
			return fmt.Errorf("%w (this user needs SELECT, INSERT, UPDATE and DELETE on the table, and CREATE, DROP, INDEX and REFERENCES in the database)", err)
		}
	}
	return err
}

func (mysqlEngine) literal(s string) string {
	return strings.ReplaceAll(apostrophes(s), `\`, `\\`)
}

// differ also distinguishes texts that a collation makes the same.
func (mysqlEngine) differ(a, b []string) string {
	all := make([]string, len(a))
	for i := range a {
		all[i] = a[i] + " <=> " + b[i] + " AND cast(" + a[i] + " AS binary) <=> cast(" + b[i] + " AS binary)"
	}
	return "(NOT (" + strings.Join(all, " AND ") + "))"
}

// kindOf sorts a column by how its values are written.
func kindOf(c *catalog.Column) (kind string) {
	base, _, _ := strings.Cut(c.Base, " ")
	switch base {
	case "binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob", "bit", "geometry", "point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon", "geometrycollection":
		return "bytes"
	case "float", "double", "real":
		return "float"
	case "tinyint", "smallint", "mediumint", "int", "bigint", "year":
		if strings.Contains(c.Type, "unsigned") || base == "year" {
			return "unsigned"
		}
		return "signed"
	case "char", "varchar", "tinytext", "text", "mediumtext", "longtext":
		return "text"
	}
	return base
}

func (mysqlEngine) text(value string, c *catalog.Column) string {
	switch kindOf(c) {
	case "bytes":
		return "hex(" + value + ")"
	case "float": // all its digits
		return "cast(" + value + " * 1e0 AS char)"
	}
	return "cast(" + value + " AS char)"
}

// value is as long as the column: the server finds no row by a value of any length, but compares all with all.
func (mysqlEngine) value(text string, c *catalog.Column) string {
	bound := func(value string) string {
		_, length, found := strings.Cut(strings.TrimSuffix(c.Type, ")"), "(")
		if !found {
			return value
		}
		return "left(" + value + ", " + length + ")"
	}
	switch kind := kindOf(c); kind {
	case "bytes":
		return bound("unhex(" + text + ")")
	case "float":
		return "(" + text + " * 1e0)"
	case "signed", "unsigned":
		return "cast(" + text + " AS " + kind + ")"
	case "decimal", "json":
		return "cast(" + text + " AS " + strings.TrimSuffix(strings.TrimSuffix(c.Type, " zerofill"), " unsigned") + ")"
	case "text":
		if charset, _, found := strings.Cut(c.Collation, "_"); found {
			return bound("(convert(" + text + " USING " + charset + ") COLLATE " + c.Collation + ")")
		}
	}
	return text
}

func (mysqlEngine) array(values []string) string {
	return "json_array(" + strings.Join(values, ", ") + ")"
}

func (mysqlEngine) element(array string, i int) string {
	return "json_unquote(json_extract(" + array + ", '$[" + strconv.Itoa(i) + "]'))"
}

func (e mysqlEngine) object(names, values []string) string {
	return "json_object(" + strings.Join(members(e, names, values), ", ") + ")"
}

func (e mysqlEngine) member(object, name string) string {
	found := "json_extract(" + object + ", " + e.literal(`$."`+name+`"`) + ")"
	return "CASE json_type(" + found + ") WHEN 'NULL' THEN NULL ELSE json_unquote(" + found + ") END"
}
func (mysqlEngine) plain(object string) string { return object }
func (mysqlEngine) moment(column string) string {
	return "date_format(" + column + ", '%Y-%m-%d %H:%i:%s.%f')"
}

func (e mysqlEngine) keys(values []string) [][]string {
	return [][]string{texts.Of(values, func(s string) string { return "cast(" + e.literal(s) + " AS char)" })}
}

func (mysqlEngine) decimal(value string) string { return "cast(" + value + " AS decimal(65, 30))" }
func (mysqlEngine) integer(value string) string { return "cast(" + value + " AS signed)" }
func (mysqlEngine) length(value string) string  { return "char_length(" + value + ")" }
func (mysqlEngine) now(*catalog.Column) string  { return "now(6)" }

func (mysqlEngine) update(table, alias string, names, values []string, from, where string) string {
	own := texts.Of(names, func(name string) string { return alias + "." + name })
	return "UPDATE " + table + " AS " + alias + ", " + from + " SET " + pairs(own, values, " = ", ", ") + " WHERE " + where
}

func (mysqlEngine) remove(t *table, where string) string {
	return "DELETE t FROM " + t.path + " AS t, " + t.fate() + " AS f WHERE " + equal(of("t", t.id), t.oldID("f")) + " AND " + where
}

func (mysqlEngine) locking() string { return " FOR UPDATE" }

// createFate makes a table like others: MySQL reads a temporary one once in a statement.
func (mysqlEngine) createFate(t *table) []string {
	names := t.columns()
	columns := slices.Concat([]string{"cast(0 AS signed) AS grp", "cast(0 AS signed) AS item"}, as(of("t", names), "o"), as(of("t", names), "n"), as(of("t", t.id), "w"),
		as(texts.Of(t.checks, func(string) string { return "cast(0 AS decimal(65, 30))" }), "v"))
	return []string{
		"DROP TABLE IF EXISTS " + t.fate(),
		"CREATE TABLE " + t.fate() + " (PRIMARY KEY (" + list(t.oldID("")) + "), KEY w (" + list(t.winner("")) + ")) ENGINE = InnoDB AS SELECT " + list(columns) + " FROM " + t.path + " AS t LIMIT 0",
	}
}

func (mysqlEngine) dropFate(t *table) string { return "DROP TABLE IF EXISTS " + t.fate() }
func (mysqlEngine) empties() string          { return "DELETE FROM " }
func (mysqlEngine) once() string             { return "" }

// inOrder is needed while the server knows no more than the old sizes of tables that have grown: it then compares all rows with all.
func (mysqlEngine) inOrder() string                     { return "STRAIGHT_JOIN " }
func (mysqlEngine) behind(columns, where string) string { return joinAudit(columns, where) }

func (mysqlEngine) runOf() string             { return "@semel_merge_run" }
func (mysqlEngine) insert(into string) string { return "INSERT INTO " + into }

func (e mysqlEngine) pairs(list string) string {
	return "SELECT x.w, x.l FROM json_table(" + e.literal(list) + ", '$[*]' COLUMNS (w longtext PATH '$[0]', l longtext PATH '$[1]')) AS x"
}
