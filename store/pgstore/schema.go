package pgstore

import (
	"context"
	"embed"
	"fmt"
	"hash/fnv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/semel-dev/semel/store/internal/verb"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Migration is one step from an empty database to the newest schema.
type Migration struct {
	Version int    // 0 makes the place for the others
	Name    string // of its file, such as 0001_record
	SQL     string // its last statement notes that it was run
}

// SchemaVersion returns the number of the newest schema that this package reads and writes.
func SchemaVersion() (int, error) {
	all, err := Migrations("")
	return len(all) - 1, err
}

// Migrations returns the scripts that make the schema of that name ("" means
// semel), oldest first, for those who run them with a tool of their own: each
// once, in one transaction, and before the programs that need it. Scripts
// never change once released.
func Migrations(schema string) ([]Migration, error) {
	o, err := (&Options{Schema: schema}).withDefaults()
	if err != nil {
		return nil, err
	}
	scripts, err := verb.Scripts(migrations, 0)
	if err != nil {
		return nil, fmt.Errorf("pgstore: %w", err)
	}
	out, replacer := make([]Migration, 0, len(scripts)), o.replacer()
	for _, script := range scripts {
		noted := fmt.Sprintf("\nINSERT INTO {{schema}}.migration (version) VALUES (%d) ON CONFLICT DO NOTHING;\n", script.Version)
		//semel:safe each script runs once, under a lock, and notes that in its transaction
		out = append(out, Migration{Version: script.Version, Name: script.Name, SQL: replacer.Replace(script.SQL + noted)})
	}
	return out, nil
}

// migrate brings the schema up to date, in one transaction for each script.
// Several processes may do it at once. Where nothing is to be done, nothing is
// locked, and no right to create anything is needed.
func migrate(ctx context.Context, pool *pgxpool.Pool, o *Options, sql texts) error {
	all, err := Migrations(o.Schema)
	if err != nil {
		return err
	}
	for i := range all {
		have, err := schemaVersion(ctx, pool, sql)
		if err != nil {
			return err
		}
		if have >= all[i].Version {
			continue
		}
		if err := tries(ctx, func() error { return migrateTo(ctx, pool, o, sql, &all[i]) }); err != nil {
			return fmt.Errorf("migrate to schema %d: %w", all[i].Version, err)
		}
	}
	return nil
}

// migrateTo runs one script, unless another process has run it by now.
func migrateTo(ctx context.Context, pool *pgxpool.Pool, o *Options, sql texts, m *Migration) error {
	return pgx.BeginTxFunc(ctx, pool, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
		if err := lockSchema(ctx, tx, o); err != nil {
			return err
		}
		have, err := schemaVersion(ctx, tx, sql)
		if err != nil || have >= m.Version {
			return err
		}
		_, err = tx.Exec(ctx, m.SQL, pgx.QueryExecModeSimpleProtocol)
		return err
	})
}

// lockSchema keeps other processes from migrating until the transaction ends,
// however long that takes: ctx is the bound.
func lockSchema(ctx context.Context, tx pgx.Tx, o *Options) error {
	if o.plain {
		return nil // its transactions collide instead, and are repeated
	}
	_, err := tx.Exec(ctx, fmt.Sprintf("SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0; SELECT pg_advisory_xact_lock(%d)",
		lockOf(o.Schema)), pgx.QueryExecModeSimpleProtocol)
	return err
}

// lockOf is the number of the lock under which the schema is migrated.
func lockOf(schema string) int64 {
	h := fnv.New64a()
	h.Write([]byte("semel migration of " + schema))
	return int64(h.Sum64()) //nolint:gosec // any 64 bits will do.
}

// noSchema is the version of a schema that is not there.
const noSchema = -1

// schemaVersion returns the number of the last script that was run.
func schemaVersion(ctx context.Context, q querier, sql texts) (int, error) {
	var there bool
	if err := q.QueryRow(ctx, sql["version_table"]).Scan(&there); err != nil || !there {
		return noSchema, err
	}
	version := noSchema
	err := q.QueryRow(ctx, sql["version"]).Scan(&version)
	return version, err
}
