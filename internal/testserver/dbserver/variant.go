package dbserver

import (
	"fmt"
	"maps"
	"os"
	"strings"
)

// The environment variables by which all servers that are started become others. What a test asks for comes before the settings
// that they hold: NAME=VALUE, with spaces between.
const (
	EnvPostgresBin  = "SEMEL_TEST_POSTGRES_BIN"  // the folder with initdb and postgres
	EnvPostgresConf = "SEMEL_TEST_POSTGRES_CONF" // settings of postgresql.conf
	EnvMySQLConf    = "SEMEL_TEST_MYSQL_CONF"    // options of mariadbd, without the dashes
	EnvRedisBin     = "SEMEL_TEST_REDIS_BIN"     // the folder with redis-server or valkey-server
	EnvRedisConf    = "SEMEL_TEST_REDIS_CONF"    // settings of redis.conf
)

// addConf adds the settings of the environment to conf, and then what the test asks for.
func addConf(conf map[string]string, env string, asked map[string]string) error {
	for setting := range strings.FieldsSeq(os.Getenv(env)) {
		name, value, found := strings.Cut(setting, "=")
		if !found {
			return fmt.Errorf("%s: %q is not NAME=VALUE", env, setting)
		}
		conf[name] = value
	}
	maps.Copy(conf, asked)
	return nil
}

// EnvUseLog names a file to which every test appends a line for each server that it asks for: the test's name, and the variable
// that names a shared server of that kind.
const EnvUseLog = "SEMEL_TEST_USE_LOG"
