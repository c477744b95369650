// Package testserver gives tests real database servers: those that run already
// and are named by the environment, or ones that it starts and ends itself.
//
// [Postgres], [MySQL], [Redis], [RedisCluster] and [RabbitMQ] are shared by all
// tests: they come from SEMEL_TEST_POSTGRES, SEMEL_TEST_MYSQL, SEMEL_TEST_REDIS,
// SEMEL_TEST_REDIS_CLUSTER and SEMEL_TEST_RABBITMQ, which scripts/prepare sets, or
// else are started once for the test process and end with it. A test takes a
// database, a schema or a prefix of its own there ([PostgresDatabase],
// [PostgresSchema], [MySQLDatabase], [RedisPrefix]), gives queues random names, and
// never stops or configures them.
//
// [StartPostgres], [StartMySQL], [StartRedis], [StartRedisCluster], [StartNATS],
// [StartNATSCluster] and [StartRabbitMQ] give a server to one test, which may
// kill it. [NewProxy] breaks connections between a client and any of them.
//
// A program that is not installed fails the test, with the package to install.
// With SEMEL_TEST_ALLOW_MISSING=1 the test is skipped instead, and the skip is
// added to the file that SEMEL_TEST_SKIP_LOG names; SEMEL_REQUIRE_STORES=1
// overrules.
package testserver
