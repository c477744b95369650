package pgstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/jackc/pgx/v5"
)

const (
	// minServer is PostgreSQL 13, as server_version_num has it.
	minServer = 130000
	// fenceSlack is added to the greatest fence that is known when the sequence
	// was lost, because greater ones may have been given and lost with it.
	fenceSlack = 1_000_000

	readCommitted    = "read committed"
	isolationSetting = "default_transaction_isolation"
)

// server holds the server and its settings as a connection reports them.
type server struct {
	version    int
	name       string
	recovery   bool
	readOnly   bool
	encoding   string
	durability string // synchronous_commit
	isolation  string
	fsync      bool
	standbys   string // synchronous_standby_names
}

// querier is a pool, or a transaction of one of its connections.
type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

func askServer(ctx context.Context, q querier, sql texts) (server, error) {
	var s server
	err := q.QueryRow(ctx, sql["check_server"]).
		Scan(&s.version, &s.name, &s.recovery, &s.readOnly, &s.encoding, &s.durability, &s.isolation, &s.fsync, &s.standbys)
	return s, err
}

// plain reports whether the server speaks PostgreSQL's protocol and lacks some of
// its tricks: CockroachDB, YugabyteDB.
func (s *server) plain() bool {
	return strings.Contains(s.name, "CockroachDB") || strings.Contains(s.name, "-YB-")
}

// overrides are the settings with which connections of our own begin, where
// those of the server would cost a promise or time. The work of transactions
// keeps the isolation of the server; see [txShared].
func (s *server) overrides() map[string]string {
	settings := map[string]string{}
	if s.durability == "off" {
		settings["synchronous_commit"] = "on"
	}
	if s.isolation != readCommitted && !s.plain() {
		settings[isolationSetting] = readCommitted
	}
	return settings
}

// check refuses a server that cannot hold records.
func (s *server) check(readOnly bool) error {
	switch {
	case s.version < minServer:
		return fmt.Errorf("the server is too old: %s (PostgreSQL 13 or newer is needed)", s.name)
	case s.encoding != "UTF8":
		return fmt.Errorf("the database has the encoding %s, in which names and notes do not fit (create it with ENCODING 'UTF8')", s.encoding)
	case readOnly:
	case s.recovery:
		return errors.New("the server is a replica, which takes no claims (name the primary, for example by " +
			"target_session_attrs=read-write, or open the store with ReadOnly)")
	case s.readOnly:
		return errors.New("default_transaction_read_only is on for this user or database (set it off, name the primary, or open the " +
			"store with ReadOnly)")
	case s.durability == "off":
		return errors.New("synchronous_commit is off: a crash of the server would forget claims that were answered (set it on for this " +
			"user or database, by ALTER ROLE … SET synchronous_commit = on)")
	}
	return nil
}

// warn says what works, but not as it should.
func (s *server) warn(ctx context.Context, log *slog.Logger) {
	if !s.fsync {
		log.LogAttrs(ctx, slog.LevelWarn, "the server runs with fsync off: a crash of its host loses records, or all of them")
	}
	standbys := slog.String("synchronous_standby_names", s.standbys)
	switch {
	case s.standbys == "":
	case s.durability == "local":
		log.LogAttrs(ctx, slog.LevelWarn, "synchronous_commit is local: commits do not wait for the synchronous standbys, so a failover loses claims and "+
			"outcomes that were acknowledged (set it to on for this user or database)", standbys)
	case s.durability == "remote_write":
		log.LogAttrs(ctx, slog.LevelWarn, "synchronous_commit is remote_write: commits do not wait until the synchronous standbys have flushed them, so a failover "+
			"to one whose host has crashed loses claims and outcomes that were acknowledged (set it to on for this user or database)", standbys)
	}
	if s.isolation != readCommitted && !s.plain() {
		log.LogAttrs(ctx, slog.LevelWarn, "the default isolation makes steps fail and be repeated; read committed is enough",
			slog.String(isolationSetting, s.isolation))
	}
}

// checkTransactions refuses a pooler that takes no transactions: statements of one intent would not be done together (promise 4).
func (s *Store) checkTransactions(ctx context.Context) error {
	if s.gate.ReadOnly {
		return nil
	}
	tx, err := s.pool.Begin(ctx)
	if code(err) == codeProtocol {
		return errors.New("the pooler in front of the server takes no transactions, as PgBouncer in statement mode (set pool_mode = transaction there, " +
			"or name the server itself)")
	}
	if err != nil {
		return err
	}
	return tx.Rollback(ctx)
}

// checkSchema refuses a schema that this program cannot work with.
func (s *Store) checkSchema(ctx context.Context) error {
	const fix = "start a program that serves once, such as semel gateway, which makes the schema, or run the scripts of pgstore.Migrations"
	have, err := schemaVersion(ctx, s.pool, s.sql)
	if err != nil {
		return err
	}
	want, err := SchemaVersion()
	switch {
	case err != nil:
		return err
	case have > want:
		return fmt.Errorf("schema %q is at version %d, this program knows up to %d (run a newer semel, or name another schema)", s.schema, have, want)
	case have == noSchema:
		return fmt.Errorf("no schema %q with records exists (%s)", s.schema, fix)
	case have < want:
		return fmt.Errorf("schema %q is at version %d, want %d (%s)", s.schema, have, want, fix)
	}
	return nil
}

// checkRights refuses a user that lacks a right which a verb needs.
func (s *Store) checkRights(ctx context.Context) error {
	missing := ""
	if err := s.pool.QueryRow(ctx, s.sql["check_rights"], s.gate.ReadOnly).Scan(&missing); err != nil {
		return err
	}
	if missing != "" {
		return fmt.Errorf("the user lacks rights in schema %q: %s (let the owner grant them)", s.schema, missing)
	}
	return nil
}

// checkFences refuses a sequence that would give fences again (promise 1).
func (s *Store) checkFences(ctx context.Context) error {
	var found, given int64
	if err := s.pool.QueryRow(ctx, s.sql["check_fences"]).Scan(&found, &given); err != nil || given >= found {
		return err
	}
	return fmt.Errorf("the sequence of the fences in schema %q is at %d, but a record has %d: it was set back, by a restore or by a failover "+
		"to a copy without it (run: SELECT setval('%s', %d))", s.schema, given, found, pgx.Identifier{s.schema, "fence"}.Sanitize(), found+fenceSlack)
}
