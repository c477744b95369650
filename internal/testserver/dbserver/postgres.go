package dbserver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

const (
	postgresHint = "apt-get install postgresql"
	memoryLine   = 7
)

// PostgresOptions are the options of [Home.Postgres]. Nil means all defaults.
type PostgresOptions struct {
	// Conf is added to postgresql.conf.
	Conf map[string]string
	// Fsync makes commits wait for the disk. Without it they survive the death of the server, not that of the machine.
	Fsync bool
	// Clock, when not nil, is the server's clock instead of the machine's.
	Clock *Clock

	environment []string // more of it
}

// Postgres is a PostgreSQL server.
type Postgres struct {
	*process

	data string
	made int // standbys
}

// Postgres starts a PostgreSQL server with the superuser postgres, who needs no password.
func (h *Home) Postgres(ctx context.Context, o *PostgresOptions) (*Postgres, error) {
	if o == nil {
		o = &PostgresOptions{}
	}
	s, err := h.newPostgres()
	if err != nil {
		return nil, err
	}
	initdb, err := findPostgres("initdb")
	if err != nil {
		return nil, err
	}
	err = run(s.as.command(ctx, s.dir, initdb, "-D", s.data, "--no-sync", "--wal-segsize=1",
		"--locale=C", "-E", "UTF8", "--auth=trust", "-U", "postgres", "--no-instructions"))
	if err != nil {
		return nil, fmt.Errorf("make a PostgreSQL cluster: %w", err)
	}
	conf := map[string]string{
		"fsync":                      onOff(o.Fsync),
		"full_page_writes":           onOff(o.Fsync),
		"max_connections":            "300",
		"shared_buffers":             "64MB",
		"max_wal_size":               "1GB",
		"dynamic_shared_memory_type": "mmap", // a killed server leaves nothing in /dev/shm
		"unix_socket_directories":    "''",
		"listen_addresses":           "'" + host + "'",
		"wal_level":                  "replica",
		"max_wal_senders":            "10",
		"wal_keep_size":              "256MB",
		"log_min_messages":           "warning",
	}
	if err := addConf(conf, EnvPostgresConf, o.Conf); err != nil {
		return nil, err
	}
	if err := s.configure(conf); err != nil {
		return nil, err
	}
	s.env = append(o.Clock.environment(), o.environment...)
	return s, s.launch(ctx)
}

func (h *Home) newPostgres() (*Postgres, error) {
	path, err := findPostgres("postgres")
	if err != nil {
		return nil, err
	}
	as, err := accountFor("postgres")
	if err != nil {
		return nil, err
	}
	dir, err := h.room("postgres", as)
	if err != nil {
		return nil, err
	}
	s := &Postgres{data: filepath.Join(dir, "data")}
	s.process = &process{
		home: h, as: as, dir: dir, path: path, stopSignal: "INT", endSignal: "QUIT",
		args:  func(port int) []string { return []string{"-D", s.data, "-p", fmt.Sprint(port)} },
		ready: func(ctx context.Context) error { return s.Exec(ctx, "SELECT 1") },
	}
	return s, nil
}

// configure adds to postgresql.conf; what comes last counts.
func (s *Postgres) configure(conf map[string]string) error {
	var lines strings.Builder
	for _, name := range slices.Sorted(maps.Keys(conf)) {
		fmt.Fprintf(&lines, "%s = %s\n", name, conf[name])
	}
	f, err := os.OpenFile(filepath.Join(s.data, "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("configure PostgreSQL: %w", err)
	}
	_, err = f.WriteString(lines.String())
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("configure PostgreSQL: %w", err)
	}
	return nil
}

// DSN is the URL of the database postgres, for its superuser. It stays the same over restarts.
func (s *Postgres) DSN() string {
	return fmt.Sprintf("postgres://postgres@%s/postgres?sslmode=disable", s.Addr())
}

// Close ends the server at once and removes its data.
func (s *Postgres) Close() error {
	return errors.Join(s.end(), s.freeMemory(), s.process.Close())
}

// freeMemory removes the small piece of shared memory that a killed server leaves to the system. Line 7 of its lock
// file names it, as key and number.
func (s *Postgres) freeMemory() error {
	lock, err := os.ReadFile(filepath.Join(s.data, "postmaster.pid"))
	if err != nil {
		return nil //nolint:nilerr // it ended in order
	}
	lines := strings.Split(string(lock), "\n")
	if len(lines) < memoryLine {
		return nil
	}
	memory := strings.Fields(lines[memoryLine-1])
	remove, err := find("ipcrm", "")
	if err != nil || len(memory) < 2 {
		return nil //nolint:nilerr // 56 bytes stay
	}
	return run(s.as.command(context.Background(), s.dir, remove, "-m", memory[1]))
}

// Exec runs statements as the superuser, on a connection of its own.
func (s *Postgres) Exec(ctx context.Context, sql string) error {
	return execPostgres(ctx, s.DSN(), sql)
}

func execPostgres(ctx context.Context, dsn, sql string) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, sql)
	return errors.Join(err, conn.Close(context.WithoutCancel(ctx)))
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}
