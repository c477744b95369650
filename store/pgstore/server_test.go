package pgstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/pgstore"
)

// database is a database of the test's own, in which it may change settings.
func database(t *testing.T) (dsn string, set func(setting string)) {
	t.Helper()
	dsn = testserver.PostgresDatabase(t)
	u, err := url.Parse(dsn)
	noError(t, err)
	p := pool(t, testserver.Postgres(t), 1)
	return dsn, func(setting string) {
		t.Helper()
		execute(t, p, "ALTER DATABASE "+quoted(strings.TrimPrefix(u.Path, "/"))+" SET "+setting)
	}
}

// Settings that would cost a promise are put right for connections of our own,
// and refused for those of the caller.
func TestSettingsOfTheDatabase(t *testing.T) {
	t.Parallel()
	dsn, set := database(t)
	set("synchronous_commit = off")
	var log bytes.Buffer
	o := &pgstore.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}
	s := openAt(t, dsn, o)
	wins(t, s, params("k"))
	_, err := pgstore.New(t.Context(), pool(t, dsn, 1), nil)
	wantWords(t, err, "synchronous_commit is off", "ALTER ROLE")

	set("synchronous_commit = local")
	set("default_transaction_isolation = serializable")
	wins(t, openAt(t, dsn, o), params("l"))
	if strings.Contains(log.String(), "isolation") {
		t.Errorf("a store with connections of its own warned: %s", &log)
	}
	noError(t, newStoreWith(t, dsn, o).Close())
	if !strings.Contains(log.String(), "serializable") {
		t.Errorf("got the log %q, want a warning about the isolation", &log)
	}

	set("default_transaction_read_only = on")
	refuses(t, dsn, nil, "default_transaction_read_only is on", "ReadOnly")
	if _, err := openAt(t, dsn, &pgstore.Options{ReadOnly: true}).Lookup(t.Context(), params("k").Digest); err != nil {
		t.Error(err)
	}
	set("default_transaction_read_only = off")

	set("statement_timeout = 1")
	p := pool(t, with(t, dsn, func(_ *url.URL, q url.Values) { q.Set("statement_timeout", "0") }), 1)
	tx, err := p.Begin(t.Context())
	noError(t, err)
	defer tx.Rollback(t.Context())
	if _, err := tx.Exec(t.Context(), "LOCK semel.record"); err != nil {
		t.Fatal(err)
	}
	refuses(t, dsn, nil, "statement_timeout")
}

func newStoreWith(t *testing.T, dsn string, o *pgstore.Options) *pgstore.Store {
	t.Helper()
	return newStore(t, pool(t, dsn, 1), o)
}

func TestEncoding(t *testing.T) {
	t.Parallel()
	p := pool(t, testserver.Postgres(t), 1)
	name := testserver.PostgresSchema(t)
	execute(t, p, "CREATE DATABASE "+name+" ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
	t.Cleanup(func() { execute(t, p, "DROP DATABASE "+name+" WITH (FORCE)") })
	refuses(t, with(t, testserver.Postgres(t), func(u *url.URL, _ url.Values) { u.Path = "/" + name }), nil, "encoding LATIN1", "ENCODING 'UTF8'")
}

// The error for a user without a right names it, before anything is claimed.
func TestRights(t *testing.T) {
	t.Parallel()
	admin := testserver.PostgresDatabase(t)
	p := pool(t, admin, 1)
	role := testserver.PostgresSchema(t) // a name that no role has
	execute(t, p, "CREATE ROLE "+role+" LOGIN PASSWORD '"+secret+"'")
	t.Cleanup(func() { execute(t, p, "DROP OWNED BY "+role+"; DROP ROLE "+role) })
	dsn := with(t, admin, func(u *url.URL, _ url.Values) { u.User = url.UserPassword(role, secret) })

	refuses(t, dsn, nil, "permission denied", "Migrations", "grant")
	noError(t, newStoreWith(t, admin, nil).Close())
	refuses(t, dsn, nil, "permission denied for schema semel", "grant")
	execute(t, p, "GRANT USAGE ON SCHEMA semel TO "+role+"; GRANT SELECT ON semel.migration TO "+role)
	refuses(t, dsn, nil, "lacks rights", "SELECT on table record, INSERT on table record, UPDATE on table record, DELETE on table record, USAGE on sequence fence")
	execute(t, p, "GRANT SELECT, INSERT, UPDATE ON semel.record TO "+role)
	refuses(t, dsn, nil, "lacks rights", "DELETE on table record, USAGE on sequence fence")
	execute(t, p, "GRANT DELETE ON semel.record TO "+role)
	refuses(t, dsn, nil, "lacks rights", `"semel": USAGE on sequence fence (let`)
	noError(t, openAt(t, dsn, &pgstore.Options{ReadOnly: true}).Close())
	execute(t, p, "GRANT USAGE ON SEQUENCE semel.fence TO "+role)
	s := openAt(t, dsn, &pgstore.Options{})
	rec := wins(t, s, params("k"))
	told := make(chan error, 1)
	go func() { told <- s.Await(t.Context(), rec.Digest) }()
	settles(t, s, rec, completed("x"))
	wantTold(t, told)
	execute(t, p, "REVOKE INSERT ON semel.record FROM "+role)
	_, _, err := s.Claim(t.Context(), params("l"))
	wantWords(t, err, "claim", "permission denied", "grant")
}

// A wrong password, a replica, and a server that ends and comes back.
func TestOwnServer(t *testing.T) {
	t.Parallel()
	server := testserver.StartPostgres(t, nil)
	var log bytes.Buffer
	s := openAt(t, server.DSN(), &pgstore.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if !strings.Contains(log.String(), "fsync off") {
		t.Errorf("got the log %q, want a warning about fsync", &log)
	}
	rec := wins(t, s, params("k"))

	replica := server.Standby(nil)
	refuses(t, replica.DSN(), nil, "is a replica", "target_session_attrs=read-write", "ReadOnly")
	reader := openAt(t, replica.DSN(), &pgstore.Options{ReadOnly: true})
	testserver.Eventually(t, "the replica shows the record", func() bool {
		_, err := reader.Lookup(t.Context(), rec.Digest)
		if err != nil && !errors.Is(err, semel.ErrNotFound) {
			t.Fatal(err)
		}
		return err == nil
	})
	lists(t, reader, 1)

	server.Kill()
	if _, _, err := s.Claim(t.Context(), params("l")); err == nil || errors.Is(err, semel.ErrClosed) {
		t.Errorf("claim without a server: got %v", err)
	}
	server.Start()
	testserver.Eventually(t, "the store goes on", func() bool {
		_, err := s.Lookup(t.Context(), rec.Digest)
		return err == nil
	})
	if next := wins(t, s, params("m")); next.Fence <= rec.Fence {
		t.Errorf("got fence %d after a crash, want > %d", next.Fence, rec.Fence)
	}

	p := pool(t, server.DSN(), 1)
	execute(t, p, fmt.Sprintf(`CREATE ROLE alice LOGIN PASSWORD '%s';
DO $$ BEGIN EXECUTE format('COPY (SELECT ''host all alice all scram-sha-256'' UNION ALL SELECT ''host all all all trust'') TO %%L',
  current_setting('hba_file')); END $$;
SELECT pg_reload_conf()`, "another"))
	wrong := with(t, server.DSN(), func(u *url.URL, _ url.Values) { u.User = url.UserPassword("alice", secret) })
	var err error
	testserver.Eventually(t, "the server asks for passwords", func() bool {
		var s *pgstore.Store
		s, err = pgstore.Open(t.Context(), wrong, nil)
		if err == nil {
			s.Close()
		}
		return err != nil && strings.Contains(err.Error(), "password")
	})
	wantWords(t, err, "password authentication failed", "check user, password")
}

// A store that was sent to a replica, because its primary was away, finds the primary again.
func TestLeavesAReplica(t *testing.T) {
	t.Parallel()
	primary := testserver.StartPostgres(t, nil)
	replica := primary.Standby(nil)
	dsn := with(t, primary.DSN(), func(u *url.URL, _ url.Values) { u.Host += "," + replica.Addr() })
	s := openAt(t, dsn, &pgstore.Options{MaxConns: 1})
	wins(t, s, params("k"))
	primary.Stop()
	testserver.Eventually(t, "the replica refuses a claim", func() bool {
		_, won, err := s.Claim(t.Context(), params("l"))
		if won {
			t.Fatal("a replica took a claim")
		}
		return err != nil && strings.Contains(err.Error(), "target_session_attrs")
	})
	primary.Start()
	testserver.Eventually(t, "the primary takes a claim", func() bool {
		_, won, err := s.Claim(t.Context(), params("m"))
		return err == nil && won
	})
}

// A verb that waits for another transaction ends with its context, undecided,
// and can be repeated.
func TestDeadlineInTheMiddle(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	p := pool(t, testserver.Postgres(t), 1)
	rec := wins(t, s, params("k"))
	tx, err := p.Begin(t.Context())
	noError(t, err)
	if _, err := tx.Exec(t.Context(), "SELECT FROM "+quoted(s.SchemaName())+".record FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	for name, verb := range map[string]func(ctx context.Context) error{
		"settle": func(ctx context.Context) error { return s.Settle(ctx, rec.Digest, rec.Fence, completed("x")) },
		"renew":  func(ctx context.Context) error { return s.Renew(ctx, rec.Digest, rec.Fence, lease) },
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		err := verb(ctx)
		cancel()
		wantErr(t, name+": ", err, context.DeadlineExceeded)
		for _, sentinel := range []error{semel.ErrLost, semel.ErrSettled, semel.ErrFull, semel.ErrClosed, semel.ErrNotFound} {
			if errors.Is(err, sentinel) {
				t.Errorf("%s: %v must not be %v", name, err, sentinel)
			}
		}
	}
	wins(t, s, params("k"))
	noError(t, tx.Rollback(t.Context()))
	settles(t, s, rec, completed("x"))
}

// The store's own steps are at home in read committed, but the work of
// transactions has the isolation that the database's owner wants; and what the
// DSN asks for holds for everything.
func TestIsolationOfTheDatabase(t *testing.T) {
	t.Parallel()
	dsn, set := database(t)
	set("default_transaction_isolation = 'repeatable read'")
	asked := with(t, dsn, func(_ *url.URL, q url.Values) { q.Set("default_transaction_isolation", "serializable") })
	for dsn, want := range map[string][2]string{dsn: {"read committed", "repeatable read"}, asked: {"serializable", "serializable"}} {
		s := openAt(t, dsn, &pgstore.Options{})
		guard := newGuard(t, s, nil)
		var pool string
		noError(t, s.Pool().QueryRow(t.Context(), "SHOW transaction_isolation").Scan(&pool))
		key := semel.Key{Scope: semel.ScopeGlobal, Name: want[1]}
		work, err := pgstore.Do(t.Context(), guard, key, semel.Fingerprint{1}, func(ctx context.Context, tx pgx.Tx) (level string, err error) {
			err = tx.QueryRow(ctx, "SHOW transaction_isolation").Scan(&level)
			return level, err
		})
		if err != nil || pool != want[0] || work != want[1] {
			t.Errorf("got %s for steps and %s for work, error %v, want %v", pool, work, err, want)
		}
		key.Name += " in one statement"
		one, err := pgstore.Exec[struct{ Level string }](t.Context(), guard, key, semel.Fingerprint{1},
			"INSERT INTO semel.migration (version) VALUES ($1) RETURNING current_setting('transaction_isolation') AS level", -len(want[0]))
		if err != nil || one.Level != want[1] {
			t.Errorf("got %s for one statement, error %v, want %s", one.Level, err, want[1])
		}
	}
}
