package dialect

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// Find asks a database which dialect it reads.
func Find(ctx context.Context, db *sql.DB) (Dialect, error) {
	if err := db.PingContext(ctx); err != nil {
		return 0, err
	}
	var version string
	//semel:safe it only reads
	if err := db.QueryRowContext(ctx, "SELECT version()").Scan(&version); err == nil {
		switch {
		case strings.HasPrefix(version, "PostgreSQL"):
			return PostgreSQL, nil
		case version != "" && '0' <= version[0] && version[0] <= '9': // 8.0.36, 10.11.6-MariaDB
			return MySQL, nil
		}
		return 0, fmt.Errorf("the database calls itself %q, and is neither PostgreSQL, MySQL, MariaDB nor SQLite", version)
	}
	//semel:safe it only reads
	if err := db.QueryRowContext(ctx, "SELECT sqlite_version()").Scan(&version); err != nil {
		return 0, fmt.Errorf("the database is neither PostgreSQL, MySQL, MariaDB nor SQLite: %w", err)
	}
	return SQLite, nil
}

// Now returns the expression for the database's clock in milliseconds since 1970.
func (d Dialect) Now() string {
	switch d {
	case PostgreSQL:
		return "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
	case MySQL:
		return "(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000)"
	case SQLite:
	}
	return "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)"
}
