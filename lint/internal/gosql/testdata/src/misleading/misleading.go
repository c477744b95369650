// Package misleading has texts that look known or safe, and are not.
package misleading

import (
	"database/sql"
	"flag"
	"fmt"
	"strings"
)

const query = "UPDATE t SET n = 1 WHERE id = $1"

var Exported = "UPDATE t SET n = 1 WHERE id = $1"

var reassigned = "UPDATE t SET n = 1 WHERE id = $1"

var byFlag = "UPDATE t SET n = 1"

var lists = map[string]string{"a": "UPDATE t SET n = 1 WHERE id = $1"}

func init() {
	reassigned = "UPDATE t SET n = n + 1 WHERE id = $1"
	flag.StringVar(&byFlag, "query", "", "")
	lists["a"] = "UPDATE t SET n = n + 1"
}

func packageLevel(db *sql.DB) {
	db.Exec(query, 1)      // want `^safe`
	db.Exec(Exported, 1)   // want `unknown: Exported, which other packages may set`
	db.Exec(reassigned, 1) // want `^safe` `not safe`
	db.Exec(byFlag)        // want `unknown: byFlag`
	db.Exec(lists["a"])    // want `unknown`
}

func shadowed(db *sql.DB, c bool) {
	query := "UPDATE t SET n = n + 1 WHERE id = $1"
	db.Exec(query, 1) // want `not safe`
	if c {
		const query = "UPDATE t SET n = n * 2 WHERE id = $1"
		db.Exec(query, 1) // want `not safe`
	}
}

func branches(db *sql.DB, c bool) {
	q := "UPDATE t SET n = 1 WHERE id = $1"
	if c {
		q = "UPDATE t SET n = n + 1 WHERE id = $1"
	}
	db.Exec(q, 1) // want `^safe` `not safe`
	q = "DELETE FROM t WHERE id = $1"
	db.Exec(q, 1) // want `^safe: deletes`
	if c {
		q += " OR n < 5"
	} else {
		return
	}
	db.Exec(q, 1) // want `^safe: deletes`
}

func conditional(db *sql.DB, c bool) {
	q := "UPDATE t SET n = 1"
	if c {
		q += ", n = n + 1"
	}
	q += " WHERE id = $1"
	db.Exec(q, 1) // want `^safe` `not safe|cannot tell`
	switch {
	case c:
		q = "DELETE FROM t"
		if q != "" {
			break
		}
		q = "UPDATE t SET n = 2"
	default:
		q = "UPDATE t SET n = n - 1"
	}
	db.Exec(q) // want `not safe` `^safe` `^safe` `cannot tell|not safe` `another text`
}

func loops(db *sql.DB, columns []string) {
	q := "UPDATE t SET n = 1"
	for _, c := range columns {
		q += ", " + c + " = " + c + " + 1"
	}
	db.Exec(q) // want `^safe` `cannot tell: variable-text`
	w := "UPDATE t SET n = 1"
	for i := 0; i < 2; i++ {
		db.Exec(w) // want `^safe` `cannot tell: variable-text`
		w = "UPDATE t SET n = n + 1"
	}
	var b strings.Builder
	b.WriteString("UPDATE t SET n = 1")
	for _, c := range columns {
		b.WriteString(", " + c + " = 2")
	}
	db.Exec(b.String()) // want `^safe` `cannot tell: variable-text`
	var passed strings.Builder
	passed.WriteString("UPDATE t SET n = 1")
	pass(&passed)
	db.Exec(passed.String()) // want `unknown: passed`
}

func pass(*strings.Builder) {}

func closures(db *sql.DB, run func(func())) {
	q := "UPDATE t SET n = 1"
	run(func() { q = "UPDATE t SET n = n + 1" })
	db.Exec(q) // want `unknown: q`
	r := "UPDATE t SET n = 1"
	run(func() {
		db.Exec(r) // want `unknown: r`
	})
	r = "UPDATE t SET n = n + 1"
	s := "UPDATE t SET n = 1"
	change(&s)
	db.Exec(s) // want `unknown: s`
	s, r = r, s
	db.Exec(r) // want `unknown`
}

func change(s *string) { *s = "UPDATE t SET n = n + 1" }

func jump(db *sql.DB) {
	q := "UPDATE t SET n = 1"
again:
	db.Exec(q) // want `unknown|cannot tell`
	q = "UPDATE t SET n = n + 1"
	goto again
}

func formats(db *sql.DB, column string, id int, any any, text fmt.Stringer) {
	db.Exec(fmt.Sprintf("UPDATE t SET %s = 1 WHERE id = 1", column))                                     // want `cannot tell: variable-text`
	db.Exec(fmt.Sprintf("UPDATE t SET n = %v WHERE id = 1", any))                                        // want `cannot tell: variable-text`
	db.Exec(fmt.Sprintf("UPDATE t SET n = %s WHERE id = 1", text))                                       // want `cannot tell: variable-text`
	db.Exec(fmt.Sprintf("UPDATE t SET n = %d WHERE id = 1", id))                                         // want `^safe`
	db.Exec(fmt.Sprintf("UPDATE t SET n = n %% 7 + %d WHERE id = 1", id))                                // want `not safe|cannot tell`
	db.Exec(fmt.Sprintf("UPDATE t SET note = '%s' WHERE id = 1", column))                                // want `cannot tell: variable-text`
	db.Exec(fmt.Sprintf("UPDATE t SET n = 1 WHERE id IN (%s)", column))                                  // want `cannot tell: variable-text`
	db.Exec(fmt.Sprintf("UPDATE t SET n = extract(epoch FROM %s)", column))                              // want `cannot tell`
	db.Exec(fmt.Sprintf("DELETE FROM %s", column))                                                       // want `cannot tell`
	db.Exec(fmt.Sprintf("DELETE FROM %q", column))                                                       // want `cannot tell`
	db.Exec("UPDATE " + column + " SET n = 1")                                                           // want `cannot tell`
	db.Exec(fmt.Sprintf("UPDATE t SET n = 1", column))                                                   // want `cannot tell: variable-text`
	db.Exec(fmt.Sprintf("UPDATE %s SET n = n + 1", column))                                              // want `not safe|cannot tell`
	db.Exec(fmt.Sprintf("INSERT INTO note (ref) VALUES ($1) ON CONFLICT (ref) DO UPDATE %s", column), 1) // want `cannot tell: variable-text`
	db.Exec("UPDATE t SET n = 1 -- " + column)                                                           // want `cannot tell: variable-text`
	db.Exec("UPDATE t SET n = " + "n" + ` + 1`)                                                          // want `not safe`
	db.Exec(column)
	db.Exec("SELECT * FROM " + column)
}

type repo struct{ table, set string }

func newRepo(table string) *repo { return &repo{table: table, set: "n = n + 1"} }

func fixed() *repo { return &repo{table: "t", set: "n = 1"} }

func (r *repo) fields(db *sql.DB) {
	db.Exec("UPDATE " + r.table + " SET n = 1") // want `cannot tell` `^safe`
	db.Exec("UPDATE t SET " + r.set)            // want `not safe` `^safe`
}

type selfish struct{ q string }

func grow(s *selfish) { s.q = s.q + ", n = n + 1" }

func (s *selfish) run(db *sql.DB) {
	db.Exec("UPDATE t SET n = 1" + s.q) // want `^safe` `cannot tell`
}
