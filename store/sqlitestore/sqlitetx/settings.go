package sqlitetx

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"
)

const (
	minVersion = 3_037_000 // STRICT tables; RETURNING is older

	synchronousOff  = 0
	synchronousFull = 2
)

// settings reads the settings of the database, and refuses those that can lose
// an answer that was given.
func (s *Store) settings(ctx context.Context, conn *sql.Conn, acceptLoss bool) (inMemory bool, err error) {
	var version string
	if err := conn.QueryRowContext(ctx, "SELECT sqlite_version()").Scan(&version); err != nil {
		return false, fmt.Errorf("sqlitetx: open: is this a SQLite database? %w", err)
	}
	var major, minor, patch int
	if _, err := fmt.Sscanf(version, "%d.%d.%d", &major, &minor, &patch); err != nil {
		return false, fmt.Errorf("sqlitetx: open: SQLite's version is %q: %w", version, err)
	}
	if major*1_000_000+minor*1000+patch < minVersion {
		return false, fmt.Errorf("sqlitetx: SQLite is %s, want 3.37 or newer (update the driver)", version)
	}
	var file string
	err = conn.QueryRowContext(ctx, "SELECT COALESCE(file, '') FROM pragma_database_list WHERE name = 'main'").Scan(&file)
	if err != nil {
		return false, s.translate("open", err)
	}
	if s.synchronous, err = number(ctx, conn, "PRAGMA synchronous"); err != nil {
		return false, s.translate("open", err)
	}
	if file == "" {
		s.name = "the database in memory"
		return true, nil
	}
	s.name = file
	var mode string
	if err := conn.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&mode); err != nil {
		return false, s.translate("open", err)
	}
	return false, s.durable(ctx, strings.ToLower(mode), acceptLoss)
}

// durable refuses settings under which a commit can be taken back.
func (s *Store) durable(ctx context.Context, mode string, acceptLoss bool) error {
	var loss, remedy string
	switch {
	case mode == "off":
		return fmt.Errorf("sqlitetx: %s has journal_mode=OFF, so nothing can be rolled back (set it to WAL)", s.name)
	case mode == "memory":
		loss, remedy = "with journal_mode=MEMORY a crash within a commit damages the file", "set journal_mode to WAL"
	case s.synchronous == synchronousOff:
		loss, remedy = "with synchronous=OFF a power cut takes back commits, or damages the file", "set synchronous to FULL for every connection"
	case mode == "wal" && s.synchronous < synchronousFull:
		loss, remedy = "with journal_mode=WAL and synchronous=NORMAL a power cut takes back commits whose answer was given",
			"set synchronous to FULL for every connection"
	default:
		return nil
	}
	if !acceptLoss {
		return errors.New("sqlitetx: " + s.name + ": " + loss + " (" + remedy + ", in the data source name, or accept it with Options.AcceptLoss)")
	}
	s.log.LogAttrs(ctx, slog.LevelWarn, "answers that were given can be lost",
		slog.String("database", s.name), slog.String("because", loss), slog.String("remedy", remedy))
	return nil
}
