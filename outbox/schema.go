package outbox

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/must"
)

// schemaVersion is the newest schema that this package reads and writes.
const schemaVersion = 1

const defaultTable = "semel_outbox"

//go:embed sql/*.sql
var files embed.FS

// Schema returns the SQL that makes the tables of an outbox, for a migration of one's
// own; it can be repeated. dialect is postgresql, mysql (or mariadb) or sqlite. table
// is that of [Options.Table]; "" for the default.
func Schema(dialectName, table string) (string, error) {
	d, err := dialect.Parse(dialectName)
	if err != nil {
		return "", fmt.Errorf("outbox: %w", err)
	}
	names, err := namesOf(d, table)
	if err != nil {
		return "", err
	}
	return names.fill("schema_" + d.String()), nil
}

// names are the names of the tables, and how statements write them.
type names struct {
	dialect  dialect.Dialect
	table    string // as the user wrote it
	replacer *strings.Replacer
}

// tablePattern has room for the suffixes of the other tables.
var tablePattern = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]{0,49}\.)?[A-Za-z_][A-Za-z0-9_]{0,49}$`)

func namesOf(d dialect.Dialect, table string) (names, error) {
	if table == "" {
		table = defaultTable
	}
	if !tablePattern.MatchString(table) {
		return names{}, fmt.Errorf("outbox: %q does not name a table (letters, digits and underscores, at most 50, after a schema and a dot if need be)", table)
	}
	_, bare := cutSchema(table)
	return names{dialect: d, table: table, replacer: strings.NewReplacer(
		"{{table}}", d.QuotePath(table),
		"{{hold}}", d.QuotePath(table+"_hold"),
		"{{meta}}", d.QuotePath(table+"_meta"),
		"{{index}}", d.Quote(bare+"_part"),
		"{{now}}", d.Now(),
		"{{bytes}}", map[bool]string{true: "length", false: "octet_length"}[d == dialect.SQLite],
	)}, nil
}

// cutSchema divides a name that may be qualified.
func cutSchema(table string) (schema, bare string) {
	if schema, bare, ok := strings.Cut(table, "."); ok {
		return schema, bare
	}
	return "", table
}

// fill returns the text of a file with the names in it.
func (n names) fill(name string) string {
	return n.text(string(must.Get(files.ReadFile("sql/" + name + ".sql")))) // embedded
}

func (n names) text(s string) string { return n.replacer.Replace(s) }

// prepare looks at the tables, and makes them if it may.
func (o *Outbox) prepare(ctx context.Context, skip bool) error {
	have, err := o.version(ctx)
	if err != nil {
		return fmt.Errorf("outbox: read the schema of %s: %w", o.names.table, dialect.Discreet(err))
	}
	if have == 0 && !skip {
		if err := o.migrate(ctx); err != nil {
			return fmt.Errorf("outbox: make the tables of %s: %w", o.names.table, dialect.Discreet(err))
		}
		have = schemaVersion
	}
	switch {
	case have > schemaVersion:
		return fmt.Errorf("outbox: the tables of %s are at schema %d, this program knows up to %d (run a newer program, or name other tables)", o.names.table, have, schemaVersion)
	case have == 0:
		return fmt.Errorf("outbox: the database has no tables of %s (make them with the SQL that \"semel outbox schema\" prints, or name others)", o.names.table)
	}
	return nil
}

// version returns the schema of the tables, 0 where there are none.
func (o *Outbox) version(ctx context.Context) (version int, err error) {
	schema, bare := cutSchema(o.names.table + "_meta")
	there := "SELECT COUNT(*) FROM sqlite_schema WHERE type = 'table' AND name = ?"
	args := []any{bare}
	switch o.names.dialect {
	case dialect.PostgreSQL:
		there, args = "SELECT COUNT(to_regclass($1))", []any{o.names.text("{{meta}}")}
	case dialect.MySQL:
		there = "SELECT COUNT(*) FROM information_schema.tables WHERE table_name = ? AND table_schema = COALESCE(NULLIF(?, ''), DATABASE())"
		args = append(args, schema)
	case dialect.SQLite:
	}
	var tables int
	//semel:safe it only reads
	if err := o.db.QueryRowContext(ctx, there, args...).Scan(&tables); err != nil || tables == 0 {
		return 0, err
	}
	err = o.db.QueryRowContext(ctx, o.names.text("SELECT value FROM {{meta}} WHERE name = 'schema'")).Scan(&version)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return version, err
}

// migrate makes the tables. Several processes may do it at once.
func (o *Outbox) migrate(ctx context.Context) error {
	tx, err := o.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after a commit it does nothing; otherwise the first error counts.
	if o.names.dialect == dialect.PostgreSQL {
		//semel:safe a lock that ends with the transaction
		if _, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock(hashtext($1))", "semel migration of "+o.names.table); err != nil {
			return err
		}
	}
	for statement := range strings.SplitSeq(o.names.fill("schema_"+o.names.dialect.String()), ";\n") {
		if strings.TrimSpace(statement) == "" {
			continue
		}
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// identity returns the random number that identifies the tables, under whatever name they were
// opened. The first relay draws it.
func (o *Outbox) identity(ctx context.Context) (int64, error) {
	read := o.names.query("SELECT value FROM {{meta}} WHERE name = 'identity'")
	n, err := read.number(ctx, o.db)
	if errors.Is(err, sql.ErrNoRows) {
		drawn := 1 + rand.Int64N(math.MaxInt64) //nolint:gosec // not a secret.
		failed := o.names.query("INSERT INTO {{meta}} (name, value) VALUES ('identity', ").int(drawn).add(")").exec(ctx, o.db)
		if n, err = read.number(ctx, o.db); err != nil { // otherwise it is there, perhaps by another relay that was faster
			err = errors.Join(failed, err)
		}
	}
	if err != nil {
		return 0, fmt.Errorf("read the identity of the tables: %w", err)
	}
	return n, nil
}
