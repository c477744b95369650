package mysqlstore

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

const (
	defaultPort        = "3306"
	defaultDialTimeout = 10 * time.Second
)

// sessionParams are set on every connection of the store's own pool, whatever
// the server's defaults and the DSN say: nothing is cut silently, every
// statement commits, no commit begins another transaction, and a statement that
// was abandoned does not wait long for a lock.
func sessionParams() map[string]string {
	return map[string]string{
		"sql_mode":                 "'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'",
		"autocommit":               "1",
		"completion_type":          noChain,
		"sql_select_limit":         "18446744073709551615",
		"innodb_lock_wait_timeout": "3",
	}
}

// noChain is completion_type for connections on which transactions commit. CHAIN
// would begin another one, which holds locks and never ends.
const noChain = "'NO_CHAIN'"

// ParseDSN reads a URL (mysql://user:password@host:3306/database?param=value)
// or the driver's own form (user:password@tcp(host:3306)/database?param=value),
// for callers that need connections in addition to the store's. It connects to nothing.
// Its errors have a method Misconfigured() and never hold a password.
func ParseDSN(dsn string) (*mysql.Config, error) {
	scheme, rest, isURL := strings.Cut(dsn, "://")
	isURL = isURL && !strings.ContainsAny(scheme, "@/(:")
	if isURL && scheme != "mysql" && scheme != "mariadb" {
		return nil, fmt.Errorf("%w: a DSN that begins with %q is not one of MySQL or MariaDB (write mysql://user:password@host:3306/database)", errConfig, scheme+"://")
	}
	if !isURL {
		rest = dsn
	}
	if strings.Contains(rest, "?strict=") || strings.Contains(rest, "&strict=") { // the driver panics
		return nil, fmt.Errorf("%w: the DSN has the parameter strict, which the driver no longer knows (remove it; the store sets sql_mode itself)", errConfig)
	}
	var cfg *mysql.Config
	var err error
	if isURL {
		cfg, err = parseURL("mysql://" + rest)
	} else {
		cfg, err = parsePlain(dsn)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: the DSN cannot be read: %w (write mysql://user:password@host:3306/database, and special characters of the password as %%XX)", errConfig, err)
	case cfg.DBName == "":
		return nil, fmt.Errorf("%w: the DSN names no database (write mysql://user:password@host:3306/database)", errConfig)
	}
	return cfg, nil
}

var errNoURL = errors.New("it is not a URL")

var errNoForm = errors.New("it is neither a URL nor user:password@tcp(host:3306)/database")

// parsePlain reads the driver's own form. The driver's errors quote what they
// cannot read: what precedes the database's name may be the password, and
// only errors about what follows are kept.
func parsePlain(dsn string) (*mysql.Config, error) {
	cfg, err := mysql.ParseDSN(dsn)
	if err == nil || strings.HasPrefix(err.Error(), "invalid DSN: ") { // these quote nothing
		return cfg, err
	}
	tail := dsn[strings.LastIndexByte(dsn, '/')+1:]
	if strings.ContainsAny(tail, "@(") {
		return nil, errNoForm
	}
	if _, err := mysql.ParseDSN("/" + tail); err != nil {
		return nil, err
	}
	return nil, errNoForm
}

// parseURL lets the driver read the parameters, so that they mean the same in
// both forms. The parser's errors quote what they cannot read, perhaps the
// password, and are dropped.
func parseURL(dsn string) (*mysql.Config, error) {
	u, err := url.Parse(dsn)
	if err != nil {
		return nil, errNoURL
	}
	params, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, errNoURL
	}
	socket := params.Get("socket")
	params.Del("socket")
	query := ""
	if u.RawQuery != "" {
		query = "?" + params.Encode()
	}
	cfg, err := mysql.ParseDSN("/" + url.PathEscape(strings.TrimPrefix(u.Path, "/")) + query)
	if err != nil {
		return nil, err
	}
	cfg.User = u.User.Username()
	cfg.Passwd, _ = u.User.Password()
	cfg.Net, cfg.Addr = "tcp", net.JoinHostPort(orElse(u.Hostname(), "127.0.0.1"), orElse(u.Port(), defaultPort))
	if socket != "" {
		cfg.Net, cfg.Addr = "unix", socket
	}
	if cfg.TLS != nil && cfg.TLS.ServerName == "" && !cfg.TLS.InsecureSkipVerify {
		cfg.TLS.ServerName = u.Hostname()
	}
	return cfg, nil
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// prepare sets what the store relies on.
func prepare(cfg *mysql.Config, logger *slog.Logger) (*mysql.Config, error) {
	cfg = cfg.Clone()
	if cfg.Params == nil {
		cfg.Params = map[string]string{}
	}
	maps.Copy(cfg.Params, sessionParams())
	if err := cfg.Apply(mysql.Charset("utf8mb4", "")); err != nil {
		return nil, fmt.Errorf("mysqlstore: set the connection's charset: %w", err)
	}
	cfg.ClientFoundRows = false
	cfg.InterpolateParams = true // one round trip, not prepare and execute
	cfg.MultiStatements = true   // a write and what it wrote, in one round trip
	cfg.RejectReadOnly = true    // after a failover, look for the new primary
	cfg.CheckConnLiveness = true
	cfg.Logger = driverLog{logger}
	if cfg.Timeout == 0 {
		cfg.Timeout = defaultDialTimeout
	}
	return cfg, nil
}

// driverLog gives the driver's messages to the store's logger. They are about
// connections that broke, which the verbs report as well.
type driverLog struct{ log *slog.Logger }

// Print implements the driver's Logger.
func (l driverLog) Print(v ...any) {
	l.log.Debug("the driver says", slog.String("message", strings.TrimSpace(fmt.Sprint(v...))))
}
