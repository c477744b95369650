package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/pgstore"
)

// schemaOf is everything that the migrations leave behind, one line each.
func schemaOf(t *testing.T, p *pgxpool.Pool, schema string) string {
	t.Helper()
	rows, err := p.Query(t.Context(), `SELECT line FROM (
  SELECT 'column ' || table_name || '.' || column_name || ' ' || data_type || ' ' || is_nullable || ' ' || coalesce(column_default, '-')
  FROM information_schema.columns WHERE table_schema = $1
  UNION ALL SELECT 'index ' || replace(indexdef, $1, 'schema') FROM pg_indexes WHERE schemaname = $1
  UNION ALL SELECT 'sequence ' || sequencename || ' ' || data_type || ' cache ' || cache_size || ' cycle ' || cycle FROM pg_sequences WHERE schemaname = $1
  UNION ALL SELECT 'settings of ' || relname || ' ' || array_to_string(reloptions, ' ') FROM pg_class
    WHERE relnamespace = $1::regnamespace AND reloptions IS NOT NULL
  UNION ALL SELECT 'pages of ' || relname || ' ' || pg_relation_size(oid) / 8192 FROM pg_class WHERE relnamespace = $1::regnamespace AND relname = 'record'
) AS found (line) ORDER BY line`, schema)
	noError(t, err)
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	noError(t, err)
	versions := ""
	noError(t, p.QueryRow(t.Context(), "SELECT string_agg(version::text, ' ' ORDER BY version) FROM "+quoted(schema)+".migration").Scan(&versions))
	return strings.Join(append(lines, "scripts "+versions), "\n") + "\n"
}

// The schema that leads here from nothing is the one in testdata, whichever process runs
// the scripts. A released script never changes: this test fails when one does.
func TestSchemaFromEmpty(t *testing.T) {
	t.Parallel()
	p := pool(t, testserver.Postgres(t), 2)
	for name, build := range map[string]func(schema string){
		"opened": func(schema string) { open(t, &pgstore.Options{Schema: schema}) },
		"by hand": func(schema string) {
			all, err := pgstore.Migrations(schema)
			noError(t, err)
			for _, m := range all {
				execute(t, p, m.SQL)
			}
			open(t, &pgstore.Options{Schema: schema, SkipMigrations: true})
		},
		"in a schema that is there": func(schema string) {
			execute(t, p, "CREATE SCHEMA "+quoted(schema))
			open(t, &pgstore.Options{Schema: schema})
		},
	} {
		schema := testserver.PostgresSchema(t)
		build(schema)
		claimtest.Golden(t, name, schemaOf(t, p, schema))
	}
}

func TestMigrations(t *testing.T) {
	t.Parallel()
	all, err := pgstore.Migrations(`odd "name"`)
	noError(t, err)
	newest, err := pgstore.SchemaVersion()
	if err != nil || newest != len(all)-1 {
		t.Errorf("got schema %d, error %v, want %d", newest, err, len(all)-1)
	}
	for i, m := range all {
		if m.Version != i || !strings.HasPrefix(m.Name, fmt.Sprintf("%04d_", i)) || !strings.Contains(m.SQL, `"odd ""name"""`) || strings.Contains(m.SQL, "{{") {
			t.Errorf("script %d: %+v", i, m)
		}
	}
	if _, err := pgstore.Migrations("pg_x"); err == nil {
		t.Error("a name that PostgreSQL keeps for itself was taken")
	}
}

// Opening what is up to date changes nothing, and a newer or an older schema,
// or none, is refused and stays as it is.
func TestOtherSchemas(t *testing.T) {
	t.Parallel()
	p, dsn := pool(t, testserver.Postgres(t), 1), testserver.Postgres(t)
	o := &pgstore.Options{Schema: testserver.PostgresSchema(t)}
	rec := wins(t, open(t, o), params("k"))
	before := schemaOf(t, p, o.Schema)
	if got, err := open(t, o).Lookup(t.Context(), rec.Digest); err != nil || got.Fence != rec.Fence {
		t.Errorf("got fence %d, error %v, want %d", got.Fence, err, rec.Fence)
	}
	if diff := cmp.Diff(before, schemaOf(t, p, o.Schema)); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
	execute(t, p, "INSERT INTO "+quoted(o.Schema)+".migration (version) VALUES (7)")
	refuses(t, dsn, o, "is at version 7, this program knows up to 1", "run a newer semel")
	execute(t, p, "DELETE FROM "+quoted(o.Schema)+".migration WHERE version > 0")
	skip := *o
	skip.SkipMigrations = true
	refuses(t, dsn, &skip, "is at version 0, want 1", "pgstore.Migrations")
	refuses(t, dsn, o, "migrate to schema 1", "already exists")
	refuses(t, dsn, &pgstore.Options{Schema: testserver.PostgresSchema(t), SkipMigrations: true}, "no schema", "pgstore.Migrations")
}

// A script that is waited for too long ends with the context, and leaves
// nothing behind.
func TestMigrationIsLocked(t *testing.T) {
	t.Parallel()
	p := pool(t, testserver.Postgres(t), 2)
	o := &pgstore.Options{Schema: testserver.PostgresSchema(t)}
	conn, err := p.Acquire(t.Context())
	noError(t, err)
	defer conn.Release()
	execOn(t, conn, fmt.Sprintf("SELECT pg_advisory_lock(%d)", pgstore.LockOf(o.Schema)))
	ctx, cancel := context.WithCancel(t.Context())
	refused := make(chan error, 1)
	go func() {
		s, err := pgstore.New(ctx, p, o)
		if err == nil {
			err = errors.Join(errors.New("it was opened"), s.Close())
		}
		refused <- err
	}()
	testserver.Eventually(t, "a process waits for the lock", func() bool {
		var n int
		err := conn.QueryRow(t.Context(), "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND ((classid::bigint << 32) | objid::bigint) = $1",
			pgstore.LockOf(o.Schema)).Scan(&n)
		noError(t, err)
		return n == 1
	})
	cancel()
	wantErr(t, "", <-refused, context.Canceled)
	execOn(t, conn, "SELECT pg_advisory_unlock_all()")
	wins(t, open(t, o), params("k"))
}
