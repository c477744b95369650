// Package plain has texts that are known.
package plain

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

const table = "t"

const set = "UPDATE " + table + " SET n = $1 WHERE id = $2"

var (
	up      = "UPDATE t SET n = n + 1 WHERE id = $1"
	queries = map[string]string{"a": "DELETE FROM t WHERE id = $1", "b": "INSERT INTO log (line) VALUES ($1)"}
)

func calls(ctx context.Context, db *sql.DB, tx *sql.Tx, id int, which string) {
	db.Exec("UPDATE t SET n = $1 WHERE id = $2", 1, id)                                 // want `safe: plain-values`
	db.ExecContext(ctx, set, 1, id)                                                     // want `safe: plain-values`
	tx.QueryRow(up, id)                                                                 // want `not safe: relative-value`
	tx.Query("SELECT * FROM " + table)                                                  // want `safe: reads-only`
	db.PrepareContext(ctx, `INSERT INTO log (line) VALUES ($1)`)                        // want `not safe: no-unique-key`
	db.Exec(fmt.Sprintf("UPDATE %s SET n = n + %d WHERE id = $1", table, 1), id)        // want `not safe: relative-value`
	db.Exec(fmt.Sprintf(`UPDATE %[1]s SET n = 100%%%[2]d WHERE id = $1`, table, 7), id) // want `safe: plain-values`
	db.Exec(queries["a"], id)                                                           // want `safe: deletes`
	db.Exec(queries[which], id)                                                         // want `safe: deletes` `not safe: no-unique-key`
	for _, q := range []string{"DELETE FROM t", "UPDATE t SET n = n * 2"} {
		db.Exec(q) // want `safe: deletes` `not safe: relative-value`
	}
	db.Exec(strings.TrimSpace("  DELETE FROM t  "))                                                  // want `safe: deletes`
	db.Exec(strings.ReplaceAll("UPDATE TABLE SET n = n + 1", "TABLE", table))                        // want `not safe: relative-value`
	db.Exec("DELETE FROM t; UPDATE t SET n = n + 1")                                                 // want `safe: deletes` `not safe: relative-value`
	db.Exec("DELETE FROM t WHERE id IN (" + strings.TrimSuffix(strings.Repeat("?,", id), ",") + ")") // want `safe: deletes`
}

// selector puts a SELECT before what it is given.
type selector interface {
	QueryContext(ctx context.Context, clauses string, args ...any) (*sql.Rows, error)
}

func clauses(ctx context.Context, s selector) {
	s.QueryContext(ctx, "WHERE id = ? ORDER BY id", 1) // want `unknown: `
	s.QueryContext(ctx, " order  by id LIMIT 1")       // want `unknown: `
	s.QueryContext(ctx, "WHEREVER id = 1")             // want `cannot tell: opaque`
	s.QueryContext(ctx, "WHERE id = 1; DELETE FROM t") // want `safe: deletes`
}
