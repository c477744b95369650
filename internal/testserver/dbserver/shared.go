package dbserver

import (
	"context"
	"fmt"
	"strings"
)

// The environment variables that name the servers which all tests share.
const (
	EnvPostgres     = "SEMEL_TEST_POSTGRES"      // a URL, of a superuser
	EnvMySQL        = "SEMEL_TEST_MYSQL"         // a DSN of go-sql-driver, without a database, of a user who may do everything
	EnvRedis        = "SEMEL_TEST_REDIS"         // host:port
	EnvRedisCluster = "SEMEL_TEST_REDIS_CLUSTER" // host:port of each master, with commas between
	EnvRabbitMQ     = "SEMEL_TEST_RABBITMQ"      // host:port; guest may do everything
)

// clusterNodes is the smallest number of masters that Redis calls a cluster.
const clusterNodes = 3

// Shared starts a server that many tests share, and returns what belongs into the environment variable. It is durable,
// and admits 300 clients or more.
func (h *Home) Shared(ctx context.Context, env string) (string, error) {
	redis := &RedisOptions{AppendOnly: true, Fsync: "everysec"}
	switch env {
	case EnvPostgres:
		quick, err := h.quickExit(ctx)
		if err != nil {
			return "", err
		}
		s, err := h.Postgres(ctx, &PostgresOptions{Fsync: true, environment: quick})
		if err != nil {
			return "", err
		}
		return s.DSN(), nil
	case EnvMySQL:
		s, err := h.MySQL(ctx, &MySQLOptions{Fsync: true})
		if err != nil {
			return "", err
		}
		return s.DSN(), nil
	case EnvRedis:
		s, err := h.Redis(ctx, redis)
		if err != nil {
			return "", err
		}
		return s.Addr(), nil
	case EnvRedisCluster:
		c, err := h.RedisCluster(ctx, clusterNodes, redis)
		if err != nil {
			return "", err
		}
		return strings.Join(c.Addrs(), ","), nil
	case EnvRabbitMQ:
		s, err := h.RabbitMQ(ctx, "")
		if err != nil {
			return "", err
		}
		return s.Addr(), nil
	default:
		return "", fmt.Errorf("no server belongs to the variable %q (known: %s, %s, %s, %s, %s)",
			env, EnvPostgres, EnvMySQL, EnvRedis, EnvRedisCluster, EnvRabbitMQ)
	}
}
