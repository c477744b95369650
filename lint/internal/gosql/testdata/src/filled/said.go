// Package filled fills in parts of its statements before it runs them. The configuration says with what in this file.
package filled

import (
	"database/sql"
	"strings"
)

type names struct{ replacer *strings.Replacer }

func (n names) text(s string) string { return n.replacer.Replace(s) }

func said(db *sql.DB, n names) {
	db.Exec(n.text("UPDATE {{table}} SET n = 1"))                 // want `^safe: plain-values`
	db.Exec(n.text("UPDATE {{table}} SET n = {{value}}"))         // want `not safe: relative-value`
	db.Exec(n.replacer.Replace("DELETE FROM {{table}}") + " t2;") // want `^safe: deletes`
	db.Exec(n.text("UPDATE {{other}} SET n = 1"))                 // want `cannot tell: variable-text`
	db.Exec(n.text("SELECT * FROM {{table}}"))                    // want `^safe: reads-only`
}
