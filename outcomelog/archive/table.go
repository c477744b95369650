package archive

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"regexp"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/must"
)

//go:embed migrations
var migrations embed.FS

// tablePattern has room for the suffixes of the other names.
var tablePattern = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]{0,49}\.)?[A-Za-z_][A-Za-z0-9_]{0,39}$`)

// table names the table of events in one database.
type table struct {
	db       *sql.DB
	dialect  dialect.Dialect
	name     string // as the user wrote it
	replacer *strings.Replacer
}

func newTable(db *sql.DB, d dialect.Dialect, name string) table {
	_, bare := cutSchema(name)
	return table{db: db, dialect: d, name: name, replacer: strings.NewReplacer(
		"{{table}}", d.QuotePath(name), "{{migration}}", d.QuotePath(name+"_migration"), "{{now}}", d.Now(),
		"{{repeat}}", d.QuotePath(name+"_repeat"), "{{by_last}}", d.Quote(bare+"_by_last"), "{{by_intent}}", d.Quote(bare+"_by_intent"), "{{by_made}}", d.Quote(bare+"_by_made"), "{{by_batch}}", d.Quote(bare+"_by_batch"),
	)}
}

// cutSchema divides a name that may be qualified.
func cutSchema(name string) (schema, bare string) {
	if schema, bare, ok := strings.Cut(name, "."); ok {
		return schema, bare
	}
	return "", name
}

func (t *table) text(s string) string { return t.replacer.Replace(s) }

// scripts returns the migrations, the first of which leads to schema 1.
func (t *table) scripts() []string {
	folder := "migrations/" + t.dialect.String()
	var all []string
	for _, file := range must.Get(fs.ReadDir(migrations, folder)) { // embedded, in the order of their names
		all = append(all, string(must.Get(fs.ReadFile(migrations, folder+"/"+file.Name()))))
	}
	return all
}

// prepare checks the version of the tables, and creates or upgrades them unless the archive is read-only.
func (t *table) prepare(ctx context.Context, readOnly bool) error {
	have, err := t.version(ctx)
	if err != nil {
		return fmt.Errorf("archive: read the schema of %s: %w%s", t.name, dialect.Discreet(err), t.remedy(err))
	}
	latest := len(t.scripts())
	if have < latest && !readOnly {
		if err := t.migrate(ctx, have); err != nil {
			return fmt.Errorf("archive: make the table %s: %w%s", t.name, dialect.Discreet(err), t.remedy(err))
		}
		have = latest
	}
	switch {
	case have > latest:
		return fmt.Errorf("archive: the table %s is at schema %d, this program knows up to %d (run a newer program, or name another table)", t.name, have, latest)
	case have == 0:
		return fmt.Errorf("%w: the database has no table %s (a gateway with --outcome-log makes it, and so does archive.Open)", ErrNone, t.name)
	case have < latest:
		return fmt.Errorf("archive: the table %s is at schema %d, want %d (start a program that writes it once)", t.name, have, latest)
	}
	return nil
}

// remedy says what to do about a right that the user lacks.
func (t *table) remedy(err error) string {
	const privilege, tableDenied, databaseDenied = "42501", 1142, 1044
	if r, ok := dialect.Refused(err); !ok || r.State != privilege && r.Number != tableDenied && r.Number != databaseDenied {
		return ""
	}
	return fmt.Sprintf(" (open the log once as the user that runs migrations, which makes the tables, then grant this one SELECT, INSERT, UPDATE and DELETE on %[1]s and %[1]s_repeat, and SELECT on %[1]s_migration)",
		t.name)
}

// version returns the schema of the tables, 0 where there are none.
func (t *table) version(ctx context.Context) (version int, err error) {
	schema, bare := cutSchema(t.name + "_migration")
	there := "SELECT COUNT(*) FROM sqlite_schema WHERE type = 'table' AND name = ?"
	args := []any{bare}
	switch t.dialect {
	case dialect.PostgreSQL:
		there, args = "SELECT COUNT(to_regclass($1))", []any{t.text("{{migration}}")}
	case dialect.MySQL:
		there = "SELECT COUNT(*) FROM information_schema.tables WHERE table_name = ? AND table_schema = COALESCE(NULLIF(?, ''), DATABASE())"
		args = append(args, schema)
	case dialect.SQLite:
	}
	var tables int
	//semel:safe it only reads
	if err := t.db.QueryRowContext(ctx, there, args...).Scan(&tables); err != nil || tables == 0 {
		return 0, err
	}
	err = t.db.QueryRowContext(ctx, t.text("SELECT COALESCE(MAX(version), 0) FROM {{migration}}")).Scan(&version)
	return version, err
}

// migrate runs the scripts that follow a version of the schema. Several processes may do so at once: every statement can
// be repeated.
func (t *table) migrate(ctx context.Context, from int) error {
	tx, err := t.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after a commit it does nothing; otherwise the first error counts.
	if t.dialect == dialect.PostgreSQL {
		//semel:safe a lock that ends with the transaction
		if _, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock(hashtext($1))", "semel migration of "+t.name); err != nil {
			return err
		}
	}
	statements := []string{"CREATE TABLE IF NOT EXISTS {{migration}} (version INTEGER NOT NULL PRIMARY KEY)"}
	for i, script := range t.scripts()[from:] {
		note := fmt.Sprintf("INSERT INTO {{migration}} (version) VALUES (%d) ON CONFLICT DO NOTHING", from+i+1)
		if t.dialect == dialect.MySQL {
			note = fmt.Sprintf("INSERT IGNORE INTO {{migration}} (version) VALUES (%d)", from+i+1)
		}
		statements = append(append(statements, strings.Split(script, ";\n")...), note)
	}
	for _, statement := range statements {
		if strings.TrimSpace(statement) == "" {
			continue
		}
		//semel:safe each can be repeated
		if _, err := tx.ExecContext(ctx, t.text(statement)); err != nil {
			return err
		}
	}
	return tx.Commit()
}
