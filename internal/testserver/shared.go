package testserver

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/semel-dev/semel/internal/testserver/dbserver"
)

const startTimeout = 2 * time.Minute

// Postgres returns the DSN of the shared PostgreSQL server: a URL, with a superuser.
func Postgres(tb testing.TB) string {
	tb.Helper()
	return shared(tb, dbserver.EnvPostgres, sharedPostgres)
}

// MySQL returns the DSN of the shared MariaDB server, without a database.
func MySQL(tb testing.TB) string {
	tb.Helper()
	return shared(tb, dbserver.EnvMySQL, sharedMySQL)
}

// Redis returns host:port of the shared Redis server.
func Redis(tb testing.TB) string {
	tb.Helper()
	return shared(tb, dbserver.EnvRedis, sharedRedis)
}

// RedisCluster returns host:port of every master of the shared Redis cluster.
func RedisCluster(tb testing.TB) []string {
	tb.Helper()
	return strings.Split(shared(tb, dbserver.EnvRedisCluster, sharedRedisCluster), ",")
}

// shared returns what the environment says, or else starts the server.
func shared(tb testing.TB, env string, start func() (string, error)) string {
	tb.Helper()
	used(tb, env)
	if dsn := os.Getenv(env); dsn != "" {
		return dsn
	}
	dsn, err := start()
	require(tb, err)
	return dsn
}

// One of each for the whole test process. The keeper of the home ends them when the process ends, however it does.
//
//nolint:gochecknoglobals // see above
var (
	home = sync.OnceValues(dbserver.Open)

	sharedPostgres     = startOnce(dbserver.EnvPostgres)
	sharedMySQL        = startOnce(dbserver.EnvMySQL)
	sharedRedis        = startOnce(dbserver.EnvRedis)
	sharedRedisCluster = startOnce(dbserver.EnvRedisCluster)
	sharedRabbitMQ     = startOnce(dbserver.EnvRabbitMQ)
)

func startOnce(env string) func() (string, error) {
	return sync.OnceValues(func() (string, error) {
		h, err := home()
		if err != nil {
			return "", err
		}
		ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
		defer cancel()
		return h.Shared(ctx, env)
	})
}

// servers is the home in which the servers of this process live.
func servers(tb testing.TB) *dbserver.Home {
	tb.Helper()
	h, err := home()
	require(tb, err)
	return h
}

// require ends the test when there is an error: by a skip when something is not installed and may be missing.
func require(tb testing.TB, err error) {
	tb.Helper()
	var missing *dbserver.MissingError
	switch {
	case err == nil:
	case errors.As(err, &missing):
		skipOrFail(tb, missing)
	default:
		tb.Fatal(err)
	}
}
