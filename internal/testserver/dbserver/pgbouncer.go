package dbserver

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
)

const pgBouncerHint = "apt-get install pgbouncer"

// PgBouncer is a pool of connections in front of a PostgreSQL server.
type PgBouncer struct {
	*process

	dsn url.URL
}

// PgBouncer starts a pool in front of the server with this URL. The mode is session, transaction or statement.
func (h *Home) PgBouncer(ctx context.Context, upstream, mode string) (*PgBouncer, error) {
	dsn, err := url.Parse(upstream)
	if err != nil {
		return nil, fmt.Errorf("start pgbouncer: %w", err)
	}
	path, err := find("pgbouncer", pgBouncerHint)
	if err != nil {
		return nil, err
	}
	as, err := accountFor("postgres")
	if err != nil {
		return nil, err
	}
	dir, err := h.room("pgbouncer", as)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "pgbouncer.ini")
	s := &PgBouncer{dsn: *dsn}
	s.process = &process{
		home: h, as: as, dir: dir, path: path, stopSignal: "INT", endSignal: "KILL",
		prepare: func(port int) error {
			s.dsn.Host = address(port)
			conf := fmt.Sprintf(`[databases]
* = host=%s port=%s user=%s
[pgbouncer]
listen_addr = %s
listen_port = %d
unix_socket_dir =
auth_type = any
pool_mode = %s
max_client_conn = 300
default_pool_size = 20
`, dsn.Hostname(), dsn.Port(), dsn.User.Username(), host, port, mode)
			return errors.Join(os.WriteFile(file, []byte(conf), 0o600), as.own(file))
		},
		args:  func(int) []string { return []string{file} },
		ready: func(ctx context.Context) error { return execPostgres(ctx, s.DSN(), "SELECT 1") },
	}
	return s, s.launch(ctx)
}

// DSN is the URL of the same database through the pool. It stays the same over restarts.
func (s *PgBouncer) DSN() string { return s.dsn.String() }
