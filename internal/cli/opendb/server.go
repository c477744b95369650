package opendb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strconv"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/semel-dev/semel/internal/dialect"
)

var errPostgres = fmt.Errorf("%w: it cannot be read (write postgres://user@host:5432/database, and special characters of a password as %%XX)", ErrDSN)

func openPostgres(dsn string, use Use, l Login) (*Database, error) {
	config, err := pgx.ParseConfig(dsn)
	if err != nil { // the driver's own error may hold a part of the password
		return nil, errPostgres
	}
	l.postgres(config)
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectTimeout
	}
	for name, value := range map[string]string{
		"application_name": "semel",
		"lock_timeout":     strconv.FormatInt(lockTimeout.Milliseconds(), 10),
	} {
		if config.RuntimeParams[name] == "" {
			config.RuntimeParams[name] = value
		}
	}
	if use == Read {
		config.RuntimeParams["default_transaction_read_only"] = "on"
	}
	return &Database{DB: stdlib.OpenDB(*config), Dialect: dialect.PostgreSQL}, nil
}

func openMySQL(scheme, rest string, use Use, l Login) (*Database, error) {
	config, err := mysqlConfig(scheme, rest)
	if err != nil {
		return nil, err
	}
	l.mysql(config)
	if config.Timeout == 0 {
		config.Timeout = connectTimeout
	}
	config.ParseTime = false // times come as the text that the server keeps
	config.Logger = &mysql.NopLogger{}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, fmt.Errorf("%w: the driver does not take it", ErrDSN)
	}
	settings := []string{"SET SESSION lock_wait_timeout = " + strconv.Itoa(int(lockTimeout.Seconds()))}
	if use == Read {
		settings = append(settings, "SET SESSION TRANSACTION READ ONLY")
	}
	return &Database{DB: sql.OpenDB(&settled{connector, settings}), Dialect: dialect.MySQL}, nil
}

// settled connects, and says the settings before anything else. The driver's own
// parameters cannot: MariaDB and MySQL call the variable for read-only sessions
// by different names.
type settled struct {
	driver.Connector

	settings []string
}

// Connect implements [driver.Connector].
func (s *settled) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := s.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	for _, setting := range s.settings {
		execer, ok := conn.(driver.ExecerContext)
		if !ok {
			return nil, errors.Join(errors.New("the driver runs no statements"), conn.Close())
		}
		if _, err := execer.ExecContext(ctx, setting, nil); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
	}
	return conn, nil
}
