package opendb

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/store/mysqlstore"
)

// Login takes the place of parts of a DSN. Empty fields leave them as they are.
type Login struct {
	Database, User, Password string
	// Settings are parameters of the session, in PostgreSQL.
	Settings map[string]string
}

// OpenAs opens another database of the server that a DSN names, to write. The rules are those of [Open]. SQLite has
// no other databases.
func OpenAs(ctx context.Context, dsn string, l Login) (*Database, error) {
	return openAs(ctx, dsn, Write, l)
}

func (l *Login) postgres(config *pgx.ConnConfig) {
	if l.Database != "" {
		config.Database = l.Database
	}
	if l.User != "" {
		config.User, config.Password = l.User, l.Password
	}
	maps.Copy(config.RuntimeParams, l.Settings)
}

func (l *Login) mysql(config *mysql.Config) {
	if l.Database != "" {
		config.DBName = l.Database
		config.AllowAllFiles, config.MultiStatements = false, false // it runs what strangers wrote
	}
	if l.User != "" {
		config.User, config.Passwd = l.User, l.Password
	}
}

// Place says where a database is.
type Place struct {
	Dialect dialect.Dialect
	// Host is the name or address of the server; empty for a file or a socket of this machine.
	Host string
	// Database is its name, or the path of the file.
	Database string
}

// Locate reads a DSN without opening it. The error wraps [ErrDSN].
func Locate(dsn string) (Place, error) {
	scheme, rest, err := split(dsn)
	if err != nil {
		return Place{}, err
	}
	switch scheme {
	case "postgres", "postgresql":
		config, err := pgx.ParseConfig(scheme + ":" + rest)
		if err != nil {
			return Place{}, errPostgres
		}
		p := Place{dialect.PostgreSQL, config.Host, config.Database}
		if strings.HasPrefix(p.Host, "/") {
			p.Host = ""
		}
		for _, other := range config.Fallbacks {
			if !(Place{Host: other.Host}).Loopback() && !strings.HasPrefix(other.Host, "/") {
				p.Host = other.Host
			}
		}
		return p, nil
	case "mysql", "mariadb":
		config, err := mysqlConfig(scheme, rest)
		if err != nil {
			return Place{}, err
		}
		p := Place{Dialect: dialect.MySQL, Database: config.DBName}
		if config.Net != "unix" {
			if p.Host, _, err = net.SplitHostPort(config.Addr); err != nil {
				p.Host = config.Addr
			}
		}
		return p, nil
	case "sqlite":
		return Place{Dialect: dialect.SQLite, Database: rest}, nil
	}
	return Place{}, fmt.Errorf("%w: no database is called %q (%s)", ErrDSN, scheme, examples)
}

// Loopback reports whether the database is on this machine.
func (p Place) Loopback() bool {
	address, err := netip.ParseAddr(p.Host)
	return p.Host == "" || strings.EqualFold(p.Host, "localhost") || err == nil && address.Unmap().IsLoopback()
}

func mysqlConfig(scheme, rest string) (*mysql.Config, error) {
	dsn := rest
	if strings.HasPrefix(rest, "//") {
		dsn = scheme + ":" + rest
	}
	config, err := mysqlstore.ParseDSN(dsn)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDSN, err)
	}
	return config, nil
}

// Environment returns what the programs of PostgreSQL need to connect as the DSN says. It holds the password.
func Environment(dsn string) ([]string, error) {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, errPostgres
	}
	list := []string{
		"PGHOST=" + config.Host, "PGPORT=" + strconv.Itoa(int(config.Port)), "PGUSER=" + config.User, "PGDATABASE=" + config.Database,
		"PGPASSWORD=" + config.Password, "PGCONNECT_TIMEOUT=" + strconv.Itoa(int(connectTimeout.Seconds())),
	}
	if config.TLSConfig != nil {
		list = append(list, "PGSSLMODE=require")
	}
	return list, nil
}
