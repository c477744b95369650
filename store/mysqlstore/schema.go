package mysqlstore

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/semel-dev/semel/store/internal/verb"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Migration is one step of the schema, for a tool of one's own.
type Migration struct {
	// Version is the schema that the step leads to, from Version-1.
	Version int
	// Name is the step's name, such as "0001_record".
	Name string
	// Statements are to be executed in their order. They can be repeated.
	Statements []string
}

// SchemaVersion returns the number of the newest schema that this package reads and writes.
func SchemaVersion() (int, error) {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	return len(names), err
}

// Migrations returns every step from an empty database to [Schema], for
// tables that begin with the prefix; "" means the default. [Open] and [New]
// take the missing steps on their own, under a lock, unless told not to.
func Migrations(tablePrefix string) ([]Migration, error) {
	opts, err := (&Options{TablePrefix: tablePrefix}).withDefaults()
	if err != nil {
		return nil, err
	}
	return newDialect(&opts, "").migrations()
}

func (d dialect) migrations() ([]Migration, error) {
	create, err := d.sql("migration_create", 0)
	if err != nil {
		return nil, err
	}
	note, err := d.sql("migration_note", 0)
	if err != nil {
		return nil, err
	}
	scripts, err := verb.Scripts(migrations, 1)
	if err != nil {
		return nil, fmt.Errorf("mysqlstore: %w", err)
	}
	steps := make([]Migration, 0, len(scripts))
	for _, script := range scripts {
		steps = append(steps, Migration{
			Version: script.Version, Name: script.Name,
			Statements: []string{create, d.names.Replace(strip(script.SQL)), strings.Replace(note, "?", fmt.Sprint(script.Version), 1)},
		})
	}
	return steps, nil
}

// prepareSchema looks at the tables, and migrates them if it may.
func (s *Store) prepareSchema(ctx context.Context, opts *Options) error {
	schema, err := s.schema(ctx, s.db)
	if err != nil {
		return translate("read the schema", err)
	}
	latest, err := SchemaVersion()
	if err != nil {
		return err
	}
	if schema < latest && !opts.SkipMigrations && !opts.ReadOnly {
		if err := s.migrate(ctx); err != nil {
			return err
		}
		schema = latest
	}
	switch {
	case schema > latest:
		return fmt.Errorf("mysqlstore: the tables %s… are at schema %d, this program knows up to %d (run a newer semel, or choose another Options.TablePrefix)", opts.TablePrefix, schema, latest)
	case schema == 0:
		return fmt.Errorf("mysqlstore: the database has no tables %s… (start a program that serves once, such as semel gateway, which makes them, or run the statements of mysqlstore.Migrations)", opts.TablePrefix)
	case schema < latest:
		return fmt.Errorf("mysqlstore: the tables %s… are at schema %d, want %d (start a program that serves once, such as semel gateway, which makes them, or run the statements of mysqlstore.Migrations)", opts.TablePrefix, schema, latest)
	}
	return s.checkTable(ctx, opts.TablePrefix+"record")
}

// querier is a pool or one of its connections.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// schema is the version of the tables, 0 where there are none.
func (s *Store) schema(ctx context.Context, q querier) (schema int, err error) {
	query, err := s.dialect.sql("migration_read", 0)
	if err != nil {
		return 0, err
	}
	err = q.QueryRowContext(ctx, query).Scan(&schema)
	if number(err) == errNoTable {
		return 0, nil
	}
	return schema, err
}

// checkTable refuses a table that forgets what was committed.
func (s *Store) checkTable(ctx context.Context, table string) error {
	query, err := s.dialect.sql("table_check", 0)
	if err != nil {
		return err
	}
	var engine sql.NullString
	err = s.db.QueryRowContext(ctx, query, table).Scan(&engine)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return fmt.Errorf("mysqlstore: table %s is missing, although its migration was noted (restore it, or remove the table of migrations to make it anew)", table)
	case err != nil:
		return translate("look at the table", err)
	case engine.String != "InnoDB":
		return fmt.Errorf("mysqlstore: table %s has the engine %s, want InnoDB (run: ALTER TABLE %s ENGINE = InnoDB)", table, engine.String, table)
	}
	return nil
}
