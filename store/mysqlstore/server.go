package mysqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// The oldest servers whose counters survive a restart and that know the SQL used here and in the packages that share the
// database: MySQL before 8.0.16 reads CHECK and does not enforce it.
const (
	oldestMySQL   = "8.0.16"
	oldestMariaDB = "10.3"
)

// server holds what the store knows of the server: its variables by their names.
type server struct {
	variables map[string]string
	mariadb   bool
	// packetBytes is the longest statement and the longest row.
	packetBytes int
}

// inspect asks the server what it is.
func inspect(ctx context.Context, db *sql.DB, d dialect) (srv server, err error) {
	query, err := d.sql("server", 0)
	if err != nil {
		return srv, err
	}
	rows, err := db.QueryContext(ctx, query) //nolint:sqlclosecheck // readAll closes them.
	if err != nil {
		return srv, translate("connect", err)
	}
	srv.variables = map[string]string{}
	err = readAll(rows, func() error {
		var name, value string
		err := rows.Scan(&name, &value)
		srv.variables[strings.ToLower(name)] = value
		return err
	})
	if err != nil {
		return srv, translate("connect", err)
	}
	srv.mariadb = strings.Contains(strings.ToLower(srv.variables["version"]), "mariadb")
	if _, known := srv.variables["max_allowed_packet"]; !known {
		return srv, fmt.Errorf("mysqlstore: connect: the server answered with %d of its variables, max_allowed_packet not among them: %s", len(srv.variables), tooFewRows)
	}
	if srv.packetBytes, err = strconv.Atoi(srv.variables["max_allowed_packet"]); err != nil {
		return srv, fmt.Errorf("mysqlstore: connect: the server does not say max_allowed_packet: %w", err)
	}
	return srv, nil
}

const tooFewRows = "sql_select_limit of the connections cuts answers short (remove it from the DSN of the pool, or from the server's defaults)"

// returning reports whether INSERT … RETURNING is known.
func (srv *server) returning() bool {
	return srv.mariadb && atLeast(srv.variables["version"], "10.5")
}

// refuse returns an error when promises cannot be kept on this server.
func (srv *server) refuse(readOnly bool) error {
	oldest, product := oldestMySQL, "MySQL"
	if srv.mariadb {
		oldest, product = oldestMariaDB, "MariaDB"
	}
	version := srv.variables["version"]
	switch {
	case strings.Contains(version, "TiDB"):
		return fmt.Errorf("mysqlstore: the server is %s, whose nodes give numbers out of order, so that fences would not grow (use MySQL or MariaDB)", version)
	case !atLeast(version, oldest):
		return fmt.Errorf("mysqlstore: the server is %s %s, want at least %s, because older ones give fences twice after a restart, or do not enforce CHECK (upgrade the server)",
			product, version, oldest)
	case !srv.on("autocommit"):
		return errors.New("mysqlstore: autocommit is off on the connections of the pool, so that nothing would be committed (remove autocommit=0 from the DSN, or from init_connect)")
	}
	for _, name := range []string{"transaction_isolation", "tx_isolation"} {
		if strings.EqualFold(srv.variables[name], "READ-UNCOMMITTED") {
			return fmt.Errorf("mysqlstore: %s is READ-UNCOMMITTED on the connections of the pool, so that a duplicate would be answered with an outcome that may yet be rolled back (set %s='READ-COMMITTED' in the DSN of the pool)", name, name)
		}
	}
	if strings.EqualFold(srv.variables["completion_type"], "CHAIN") {
		return errors.New("mysqlstore: completion_type is CHAIN on the connections of the pool, so that every commit begins another transaction, which nothing ends (set completion_type=NO_CHAIN in the DSN of the pool)")
	}
	if rows, err := strconv.ParseUint(srv.variables["sql_select_limit"], 10, 64); err == nil && rows < maxBatch {
		return fmt.Errorf("mysqlstore: sql_select_limit is %d, want at least %d: %s", rows, maxBatch, tooFewRows)
	}
	if client, connection := srv.variables["character_set_client"], srv.variables["character_set_connection"]; client != connection {
		return fmt.Errorf("mysqlstore: character_set_client is %s and character_set_connection is %s, so that the server would convert digests and outcomes (set both with the DSN's parameter charset)", client, connection)
	}
	if readOnly {
		return nil
	}
	for _, name := range []string{"read_only", "super_read_only", "innodb_read_only", "transaction_read_only", "tx_read_only"} {
		if srv.on(name) {
			return fmt.Errorf("mysqlstore: the server is read-only, %s is on: it is a replica, or was set so (connect to the primary, or open the store with Options.ReadOnly)", name)
		}
	}
	return nil
}

// warning says in plain words what the server does not keep.
type warning struct{ text, variable, value string }

func (srv *server) warnings() (found []warning) {
	add := func(variable, text string) {
		found = append(found, warning{text, variable, srv.variables[variable]})
	}
	if v := srv.variables["innodb_flush_log_at_trx_commit"]; v != "" && v != "1" && v != "3" {
		add("innodb_flush_log_at_trx_commit", "a crash of the server can lose claims and outcomes that were acknowledged, and execute twice (set it to 1)")
	}
	if v := srv.variables["log_bin"]; v != "" && !srv.on("log_bin") {
		add("log_bin", "InnoDB shows a commit to others before it is on disk: a crash of the server can take back an answer that was replayed in that instant, and execute twice (turn the binary log on, with sync_binlog=1: then it shows what survives)")
	}
	if v := srv.variables["sync_binlog"]; srv.on("log_bin") && v != "1" {
		add("sync_binlog", "a crash of the host can lose claims and outcomes that were acknowledged, and execute twice (set it to 1)")
	}
	if v := srv.variables["auto_increment_increment"]; v != "" && v != "1" {
		add("auto_increment_increment", "several nodes seem to accept writes: fences grow only where all writers of these records use one node (write to one node only)")
	}
	return found
}

func (srv *server) on(name string) bool {
	v := srv.variables[name]
	return v != "" && !strings.EqualFold(v, "OFF") && v != "0" && v != "NO"
}

// atLeast compares versions such as "10.11.4-MariaDB-1" and "8.0.16"; a number
// that cannot be read, as in "8.0.mysql_aurora.3.08.0", passes.
func atLeast(version, oldest string) bool {
	have := strings.Split(strings.TrimPrefix(version, "5.5.5-"), ".") // MariaDB behind some proxies
	for i, least := range strings.Split(oldest, ".") {
		if i == len(have) {
			return true
		}
		var h, want int
		if n, _ := fmt.Sscan(leading(have[i])+" "+least, &h, &want); n != 2 || h > want {
			return true
		}
		if h < want {
			return false
		}
	}
	return true
}

// leading returns the digits at the beginning.
func leading(text string) string {
	return text[:len(text)-len(strings.TrimLeft(text, "0123456789"))]
}
