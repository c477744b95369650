package rerun

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/semel-dev/semel/internal/cli/opendb"
	"github.com/semel-dev/semel/internal/dialect"
)

// withPgConn hands over the connection below database/sql.
func withPgConn(conn *sql.Conn, work func(*pgconn.PgConn) error) error {
	return conn.Raw(func(driver any) error {
		c, ok := driver.(*stdlib.Conn)
		if !ok {
			return fmt.Errorf("%T is not a connection of PostgreSQL", driver)
		}
		return work(c.Conn().PgConn())
	})
}

// parameters asks the server for the types of the arguments of a statement, and chooses values for them.
func parameters(ctx context.Context, pg *pgconn.PgConn, statement string) ([]parameter, error) {
	described, err := pg.Prepare(ctx, "", statement, nil)
	if err != nil || len(described.ParamOIDs) == 0 {
		return nil, err
	}
	query, err := text(dialect.PostgreSQL, "types")
	if err != nil {
		return nil, err
	}
	result := pg.ExecParams(ctx, query, [][]byte{[]byte(oids(described.ParamOIDs))}, nil, nil, nil).Read()
	if result.Err != nil {
		return nil, result.Err
	}
	known := map[string]parameter{}
	for _, row := range result.Rows {
		element, err := strconv.ParseUint(string(row[2]), 10, 32)
		if err != nil {
			return nil, err
		}
		p := parameter{examples: examplesOf(uint32(element)), listed: string(row[1]) == "true"}
		if label := string(row[3]); label != "" {
			p.examples = []string{label, string(row[4])}
		}
		known[string(row[0])] = p
	}
	all := make([]parameter, len(described.ParamOIDs))
	for i, oid := range described.ParamOIDs {
		all[i] = known[strconv.FormatUint(uint64(oid), 10)]
	}
	return all, nil
}

func oids(list []uint32) string {
	texts := make([]string, len(list))
	for i, oid := range list {
		texts[i] = strconv.FormatUint(uint64(oid), 10)
	}
	return array(texts)
}

// examplesOf are values of a type, two where they can differ.
func examplesOf(oid uint32) []string {
	switch oid {
	case pgtype.BoolOID:
		return []string{"true", "false"}
	case pgtype.TimestampOID, pgtype.TimestamptzOID, pgtype.DateOID:
		return []string{"2026-01-01 00:00:00", "2026-01-02 00:00:00"}
	case pgtype.TimeOID, pgtype.TimetzOID:
		return []string{"08:30:00", "09:30:00"}
	case pgtype.UUIDOID:
		return []string{uuid.distinct(0), uuid.distinct(1)}
	case pgtype.JSONOID, pgtype.JSONBOID:
		return []string{"{}", `{"a":1}`}
	case pgtype.IntervalOID:
		return []string{"1 hour", "2 hours"}
	case pgtype.InetOID, pgtype.CIDROID:
		return []string{"127.0.0.1", "127.0.0.2"}
	}
	return []string{"1", "2"}
}

// array writes values as PostgreSQL reads an array.
func array(values []string) string {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(v) + `"`
	}
	return "{" + strings.Join(list, ",") + "}"
}

// dump copies the definitions with pg_dump into the empty database.
func (c *pgCopy) dump(ctx context.Context) error {
	program, err := exec.LookPath("pg_dump")
	if err != nil {
		return errors.New("the database is large, in use, or of another owner, so it cannot be a template, and pg_dump is not on the PATH: " +
			"install the client programs of PostgreSQL, or end the other connections")
	}
	environment, err := opendb.Environment(c.dsn)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, program, "--schema-only", "--no-owner", "--no-privileges", "--no-tablespaces", "--no-security-labels", //nolint:gosec // found on the PATH
		"--no-publications", "--no-subscriptions", "--no-password")
	cmd.Env = append(append(cmd.Environ(), environment...), "LC_ALL=C") // its complaints in English
	var complaint strings.Builder
	cmd.Stderr = &complaint
	definitions, err := cmd.Output()
	if err != nil && strings.Contains(complaint.String(), "version mismatch") {
		_, versions, _ := strings.Cut(strings.TrimSpace(complaint.String()), "detail: ")
		return fmt.Errorf("%s is older than the server, and the database is large, in use, or of another owner, so it cannot be a template: put the client "+
			"programs of the server's version on the PATH, or end the other connections (%s)", program, versions)
	}
	if err != nil {
		return fmt.Errorf("pg_dump: %w: %w", err, firstLine(errors.New(complaint.String())))
	}
	var b strings.Builder
	for line := range strings.Lines(string(definitions)) {
		if !strings.HasPrefix(line, `\restrict `) && !strings.HasPrefix(line, `\unrestrict `) { // commands of psql
			b.WriteString(line)
		}
	}
	db, err := opendb.OpenAs(ctx, c.dsn, opendb.Login{Database: c.master(), Settings: map[string]string{"lock_timeout": "0"}})
	if err != nil {
		return err
	}
	conn, err := db.Conn(ctx)
	if err == nil {
		err = withPgConn(conn, func(pg *pgconn.PgConn) error { return pg.Exec(ctx, b.String()).Close() })
		err = errors.Join(err, conn.Close())
	}
	if err := errors.Join(err, db.Close()); err != nil {
		return fmt.Errorf("copy the definitions: %w", err)
	}
	return nil
}
