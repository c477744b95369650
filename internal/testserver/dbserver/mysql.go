package dbserver

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/go-sql-driver/mysql"
)

const mysqlHint = "apt-get install mariadb-server"

// MySQLOptions are the options of [Home.MySQL]. Nil means all defaults.
type MySQLOptions struct {
	// Conf holds options of mariadbd, without the dashes.
	Conf map[string]string
	// Fsync makes commits wait for the disk. Without it they survive the death of the server, not that of the machine.
	Fsync bool
	// Clock, when not nil, is the server's clock instead of the machine's.
	Clock *Clock
}

// MySQL is a MariaDB server.
type MySQL struct{ *process }

// MySQL starts a MariaDB server with the user root, who needs no password.
func (h *Home) MySQL(ctx context.Context, o *MySQLOptions) (*MySQL, error) {
	if o == nil {
		o = &MySQLOptions{}
	}
	path, err := find("mariadbd", mysqlHint)
	if err != nil {
		return nil, err
	}
	install, err := find("mariadb-install-db", mysqlHint)
	if err != nil {
		return nil, err
	}
	as, err := accountFor("mysql")
	if err != nil {
		return nil, err
	}
	dir, err := h.room("mysql", as)
	if err != nil {
		return nil, err
	}
	data := filepath.Join(dir, "data")
	err = run(as.command(ctx, dir, install, "--no-defaults", "--datadir="+data, "--skip-test-db", "--skip-name-resolve",
		"--auth-root-authentication-method=normal"))
	if err != nil {
		return nil, fmt.Errorf("make the data of MariaDB: %w", err)
	}
	conf := map[string]string{
		"max-connections":                "300",
		"innodb-buffer-pool-size":        "64M",
		"innodb-flush-log-at-trx-commit": map[bool]string{true: "1", false: "2"}[o.Fsync],
		"character-set-server":           "utf8mb4",
	}
	if err := addConf(conf, EnvMySQLConf, o.Conf); err != nil {
		return nil, err
	}
	s := &MySQL{}
	s.process = &process{
		home: h, as: as, dir: dir, path: path, env: o.Clock.environment(), stopSignal: "TERM", endSignal: "KILL",
		args: func(port int) []string {
			args := []string{
				"--no-defaults", "--datadir=" + data, "--socket=" + filepath.Join(dir, "socket"),
				"--bind-address=" + host, fmt.Sprintf("--port=%d", port), "--skip-name-resolve",
			}
			for _, name := range slices.Sorted(maps.Keys(conf)) {
				args = append(args, "--"+name+"="+conf[name])
			}
			return args
		},
		ready: func(ctx context.Context) error { return s.Exec(ctx, "SELECT 1") },
	}
	return s, s.launch(ctx)
}

// DSN is the DSN of root, without a database. It stays the same over restarts.
func (s *MySQL) DSN() string { return "root@tcp(" + s.Addr() + ")/" }

// Exec runs a statement as root, on a connection of its own.
func (s *MySQL) Exec(ctx context.Context, statement string) error {
	config, err := mysql.ParseDSN(s.DSN())
	if err != nil {
		return err
	}
	config.Logger = &mysql.NopLogger{}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	_, err = db.ExecContext(ctx, statement)
	return errors.Join(err, db.Close())
}
