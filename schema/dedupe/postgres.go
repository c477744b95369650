package dedupe

import (
	"context"
	"database/sql"
	_ "embed" // the statements below
	"fmt"
	"strconv"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/texts"
	"github.com/semel-dev/semel/schema/catalog"
)

//go:embed sql/postgres_foreign_keys.sql
var postgresForeignKeys string

//go:embed sql/postgres_triggers.sql
var postgresTriggers string

//go:embed sql/postgres_ledger.sql
var postgresLedger string

//go:embed sql/postgres_strange.sql
var postgresStrange string

// postgresEngine keeps values as the texts that the server prints and reads again.
type postgresEngine struct{}

// lockName is hashed to the number of the advisory lock that lets one process merge at a time.
const lockName = "semel dedupe"

// settings give each sort and each hash the memory of an index build, which sorts the same rows. Nested loops are off: most statements
// group whole tables by expressions, for which the planner has no statistics. It expects one group, and nests loops over loops.
func (postgresEngine) settings() []string {
	all := texts.Of([]string{
		"row_security = off", "datestyle = 'ISO, YMD'", "intervalstyle = 'postgres'", "bytea_output = 'hex'", "extra_float_digits = 1",
		"lc_monetary = 'C'", "timezone = 'UTC'", "statement_timeout = 0", "jit = off", "enable_nestloop = off",
	}, func(s string) string { return "SET " + s })
	// From version 14, a server looks during a statement whether its client is still there; some systems cannot.
	all = append(all, "DO $$ BEGIN PERFORM set_config('client_connection_check_interval', '1s', false); EXCEPTION WHEN others THEN NULL; END $$")
	return append(all, "SELECT set_config('work_mem', greatest(pg_size_bytes(current_setting('work_mem')), pg_size_bytes(current_setting('maintenance_work_mem'))) / 1024 || 'kB', false)")
}

func (postgresEngine) begin() string { return "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE" }

func (postgresEngine) own(ctx context.Context, s *dbSession) (func(context.Context) error, error) {
	var won bool
	//semel:safe a lock of the session, which gives back all that it has
	if err := s.one(ctx, "SELECT pg_try_advisory_lock(hashtextextended('"+lockName+"', 0))", nil, &won); err != nil {
		return nil, err
	}
	if !won {
		return nil, ErrBusy
	}
	return func(ctx context.Context) error { // at once; the end of the connection is noticed later
		//semel:safe the second run finds no lock to give back
		_, _ = s.conn.ExecContext(ctx, "SELECT pg_advisory_unlock_all()")
		return nil
	}, nil
}

func (postgresEngine) ending() string {
	return "SELECT format('SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE pid = %s AND backend_start = %L', pid, backend_start) FROM pg_stat_activity WHERE pid = pg_backend_pid()"
}

// small prefers indexes: a batch is small, and what it joins may be large. The planner takes a temporary table that was never
// analyzed for one of about a thousand rows, which is right. To turn sequential scans off would be wrong: the price of one that cannot be
// avoided hides the difference between all other plans.
func (postgresEngine) small() []string {
	return []string{"ANALYZE semel_dedupe_map, semel_dedupe_audit", "SET random_page_cost = 1.1", "SET enable_nestloop = on"}
}

func (postgresEngine) ledger() string { return postgresLedger }
func (postgresEngine) hasLedger() string {
	return "SELECT to_regclass('semel_dedupe_audit') IS NOT NULL"
}

func (postgresEngine) mayMake(table string) string {
	return "SELECT coalesce((SELECT pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = to_regclass('" + table + "')), true)"
}

func (postgresEngine) identity(ctx context.Context, s *dbSession) (id string, err error) {
	//semel:safe it only reads
	err = s.one(ctx, "SELECT (SELECT system_identifier FROM pg_control_system()) || '/' || (SELECT oid FROM pg_database WHERE datname = current_database())", nil, &id)
	return id, err
}

func (postgresEngine) links(ctx context.Context, s *dbSession, _ *catalog.Schema) (links []link, err error) {
	err = s.each(ctx, postgresForeignKeys, nil, func(rows *sql.Rows) error {
		var l link
		var childSpace, child, parentSpace, parent, cols, refs string
		if err := rows.Scan(&l.name, &childSpace, &child, &parentSpace, &parent, &cols, &refs); err != nil {
			return err
		}
		l.child, l.parent = childSpace+"."+child, parentSpace+"."+parent
		l.cols, l.refs = strings.Split(cols, "\x01"), strings.Split(refs, "\x01")
		links = append(links, l)
		return nil
	})
	return links, err
}

func (postgresEngine) fires(ctx context.Context, s *dbSession, add func(table, what string)) error {
	return s.each(ctx, postgresTriggers, nil, func(rows *sql.Rows) error {
		var space, name, what string
		err := rows.Scan(&space, &name, &what)
		add(space+"."+name, what)
		return err
	})
}

func (postgresEngine) hidden(context.Context, *dbSession, *site) (string, error) { return "", nil }

// followers are those that replay: others, such as backups, have no replay_lsn. One that has replayed all is not behind, however
// old its last measure is; one that did not yet measure is behind by an unknown time.
func (postgresEngine) followers() string {
	return "SELECT coalesce(nullif(application_name, ''), host(client_addr), pid::text), CASE WHEN replay_lsn >= pg_current_wal_flush_lsn() THEN 0" +
		" WHEN state = 'streaming' THEN extract(epoch FROM replay_lag)::float8 END FROM pg_stat_replication WHERE replay_lsn IS NOT NULL ORDER BY 2 DESC NULLS FIRST"
}

func (postgresEngine) blind(ctx context.Context, s *dbSession) (why string, err error) {
	var sees bool
	err = s.one(ctx, "SELECT pg_has_role('pg_read_all_stats', 'USAGE')", nil, &sees)
	if !sees && err == nil {
		why = "this user does not see how far replicas are behind (GRANT pg_monitor TO this user, or give a --lag-query)"
	}
	return why, err
}

func (postgresEngine) announce(run int64) []string {
	return []string{"SELECT set_config('semel.merge_run', '" + strconv.FormatInt(run, 10) + "', true)"}
}
func (postgresEngine) conclude() []string { return nil }
func (postgresEngine) enforces() bool     { return true }

func (postgresEngine) bind(statement string, args []any) (string, []any) { return statement, args }

func (postgresEngine) classify(err error) class {
	pg, ok := dialect.Refused(err)
	switch {
	case !ok:
		return fatal
	case pg.State == "40001", pg.State == "40P01", pg.State == "55P03":
		return transient
	}
	switch pg.State[:min(len(pg.State), 2)] {
	case "22", "23", "27", "44", "P0", "09":
		return ofRows
	case "42", "0A", "21":
		if pg.State != "42501" { // a right is missing
			return ofSQL
		}
	}
	return fatal
}

func (postgresEngine) explain(err error) error {
	if pg, ok := dialect.Refused(err); ok {
		if pg.State == "42501" {
			return fmt.Errorf("%w (this user needs SELECT, INSERT, UPDATE and DELETE on the table, and must be free from its row level security)", err)
		}
	}
	return err
}

func (postgresEngine) literal(s string) string {
	if strings.Contains(s, `\`) {
		return "E" + strings.ReplaceAll(apostrophes(s), `\`, `\\`)
	}
	return apostrophes(s)
}

func (postgresEngine) differ(a, b []string) string {
	return "(" + pairs(a, b, " IS DISTINCT FROM ", " OR ") + ")"
}

func (postgresEngine) text(value string, _ *catalog.Column) string { return "(" + value + ")::text" }

func (postgresEngine) value(text string, c *catalog.Column) string {
	return "(" + text + ")::" + c.Type
}

func (postgresEngine) array(values []string) string {
	return "('[' || " + strings.Join(texts.Of(values, func(v string) string { return "to_json(" + v + ")::text" }), " || ', ' || ") + " || ']')"
}

func (postgresEngine) element(array string, i int) string {
	return "(" + array + ")::jsonb->>" + strconv.Itoa(i)
}

func (e postgresEngine) object(names, values []string) string {
	return "jsonb_object(ARRAY[" + strings.Join(texts.Of(names, e.literal), ", ") + "]::text[], ARRAY[" + strings.Join(values, ", ") + "]::text[])"
}

func (e postgresEngine) member(object, name string) string { return object + "->>" + e.literal(name) }
func (postgresEngine) plain(object string) string          { return object + "::text" }
func (postgresEngine) moment(column string) string {
	return "to_char(" + column + " AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US')"
}

func (e postgresEngine) keys(values []string) [][]string {
	return [][]string{texts.Of(values, func(s string) string { return e.literal(s) + "::text" })}
}

func (postgresEngine) decimal(value string) string  { return "(" + value + ")::numeric" }
func (postgresEngine) integer(value string) string  { return "(" + value + ")::bigint" }
func (postgresEngine) length(value string) string   { return "length(" + value + ")" }
func (postgresEngine) now(c *catalog.Column) string { return "now()::" + c.Type }
func (postgresEngine) locking() string              { return " FOR UPDATE OF t" }
func (postgresEngine) dropFate(*table) string       { return "" }

// empties leaves no dead rows, and costs nothing for the tables that a batch did not meet, as ON COMMIT DELETE ROWS does at each commit.
func (postgresEngine) empties() string { return "TRUNCATE " }
func (postgresEngine) once() string    { return "MATERIALIZED " }
func (postgresEngine) inOrder() string { return "" }
func (postgresEngine) runOf() string   { return "current_setting('semel.merge_run', true)" }
func (postgresEngine) insert(into string) string {
	return "INSERT INTO " + into + " OVERRIDING SYSTEM VALUE"
}

func (postgresEngine) update(table, alias string, names, values []string, from, where string) string {
	return updateFrom(table, alias, names, values, from, where)
}

func (postgresEngine) behind(columns, where string) string { return joinAudit(columns, where) }

// joinAudit joins rows of the audit.
func joinAudit(columns, where string) string {
	return " JOIN (SELECT " + columns + " FROM semel_dedupe_audit AS b WHERE " + where + ") AS b"
}

// updateFrom is an UPDATE with FROM, which MySQL does not have.
func updateFrom(table, alias string, names, values []string, from, where string) string {
	return "UPDATE " + table + " AS " + alias + " SET " + pairs(names, values, " = ", ", ") + " FROM " + from + " WHERE " + where
}

func (postgresEngine) remove(t *table, where string) string {
	return "DELETE FROM " + t.path + " AS t USING " + t.fate() + " AS f WHERE " + equal(of("t", t.id), t.oldID("f")) + " AND " + where
}

func (postgresEngine) createFate(t *table) []string {
	names := t.columns()
	columns := append([]string{"0::bigint AS grp", "0::bigint AS item"}, as(of("t", names), "o")...)
	columns = append(append(columns, as(of("t", names), "n")...), as(of("t", t.id), "w")...)
	columns = append(columns, as(texts.Of(t.checks, func(string) string { return "0::numeric" }), "v")...)
	return []string{
		"CREATE TEMP TABLE " + t.fate() + " AS SELECT " + list(columns) + " FROM " + t.path + " AS t WITH NO DATA",
		"CREATE UNIQUE INDEX ON " + t.fate() + " (" + list(t.oldID("")) + ")",
	}
}

func (e postgresEngine) pairs(list string) string {
	return "SELECT x->>0 AS w, x->>1 AS l FROM jsonb_array_elements(" + e.literal(list) + "::jsonb) AS x"
}
