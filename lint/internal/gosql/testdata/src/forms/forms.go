// Package forms has texts with more forms than are followed, and with forms that cannot be meant.
package forms

import (
	"database/sql"
	"fmt"
	"strings"

	"wrap/inner"
)

func run(db *sql.DB, which int) {
	column := "c"
	switch which {
	case 0:
		column = "c0"
	case 1:
		column = "c1"
	case 2:
		column = "c2"
	case 3:
		column = "c3"
	case 4:
		column = "c4"
	case 5:
		column = "c5"
	case 6:
		column = "c6"
	case 7:
		column = "c7"
	case 8:
		column = "c8"
	case 9:
		column = "c9"
	case 10:
		column = "c10"
	case 11:
		column = "c11"
	case 12:
		column = "c12"
	case 13:
		column = "c13"
	case 14:
		column = "c14"
	case 15:
		column = "c15"
	case 16:
		column = "c16"
	case 17:
		column = "c17"
	case 18:
		column = "c18"
	case 19:
		column = "c19"
	case 20:
		column = "c20"
	case 21:
		column = "c21"
	case 22:
		column = "c22"
	case 23:
		column = "c23"
	case 24:
		column = "c24"
	case 25:
		column = "c25"
	case 26:
		column = "c26"
	case 27:
		column = "c27"
	case 28:
		column = "c28"
	case 29:
		column = "c29"
	case 30:
		column = "c30"
	case 31:
		column = "c31"
	case 32:
		column = "c32"
	case 33:
		column = "c33"
	case 34:
		column = "c34"
	case 35:
		column = "c35"
	case 36:
		column = "c36"
	case 37:
		column = "c37"
	case 38:
		column = "c38"
	case 39:
		column = "c39"
	}
	db.Exec("UPDATE t SET " + column + " = 1") // want `^safe` `^safe` `^safe` `^safe` `^safe` `^safe` `^safe` `^safe` `cannot tell: variable-text .*more than 32 forms`
}

var (
	noteColumns = []string{"ref", "n"}
	loose       = []string{"ref", "n"}
)

func each(a []string, f func(string) string) []string {
	b := make([]string, len(a))
	for i, v := range a {
		b[i] = f(v)
	}
	return b
}

func insertInto(table string, columns []string) string {
	return fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", table, strings.Join(columns, ", "),
		strings.Join(each(columns, func(s string) string { return "'" + s + "'" }), ", "))
}

func insertLoose(columns []string) string {
	columns[0] = "n"
	return "INSERT INTO note (" + strings.Join(columns, ", ") + ") VALUES ('a', 1)"
}

var insertNote, insertOther = insertInto("note", noteColumns), insertLoose(loose)

func lists(db *sql.DB, more string) {
	db.Exec(insertNote)                                       // want `^cannot tell: variable-text`
	db.Exec(insertOther)                                      // want `^cannot tell: variable-text`
	db.Exec(fmt.Sprintf("UPDATE %[1]s SET n = 1", "t", more)) // want `^safe: plain-values .* SQL UPDATE t SET n = 1$`
	columns := []string{"n = 1", "tag = 'x'"}
	db.Exec("UPDATE t SET " + strings.Join(columns, ", ")) // want `^safe: plain-values`
	grown := []string{"n = 1"}
	grown = append(grown, more)
	db.Exec("UPDATE t SET " + strings.Join(grown, ", ")) // want `^cannot tell: variable-text`
}

func rows(db *sql.DB, refs []string) {
	query := "INSERT INTO note (ref, n) VALUES "
	for i := range refs {
		query += fmt.Sprintf("($%d, 1), ", i+1)
	}
	db.Exec(strings.TrimSuffix(query, ", ")) // want `^cannot tell: variable-text .*changes in a loop`
	query = "UPDATE t SET n = 1"
	for range refs {
		query += " "
	}
	db.Exec(query) // want `^safe` `^cannot tell: variable-text`
}

func placeholders(db *sql.DB, ids []int64) {
	in := "("
	for i := 0; i < len(ids); i++ {
		in += fmt.Sprintf("$%d", i+2)
		if i < len(ids)-1 {
			in += ", "
		}
	}
	in += ")"
	db.Exec("DELETE FROM t WHERE status = $1 AND id IN " + in)                    // want `^safe: deletes .* IN \(\$80001, \$80002\)`
	db.Exec("UPDATE t SET n = n + 1 WHERE n IN " + in)                            // want `^not safe: relative-value`
	db.Exec("UPDATE t SET status = 'x' WHERE id IN " + inner.Params(len(ids), 1)) // want `^safe: plain-values`
	db.Exec("UPDATE t SET n = n + 1 WHERE n IN " + inner.Params(len(ids), 1))     // want `^not safe: relative-value`
	var b strings.Builder
	b.WriteString("INSERT INTO note (ref, n) VALUES ")
	for i := range ids {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "($%d, $%d)", 2*i+1, 2*i+2)
	}
	db.Exec(b.String()) // want `^safe: unique-key .*VALUES \(\$80001, \$80002\), \(\$80003, \$80004\)`
	step := "+ 1"
	add := "UPDATE t SET n = n "
	for range ids {
		add += step
		step = "+ 2"
	}
	db.Exec(add) // want `^safe` `^cannot tell: variable-text`
}

func partitions(db *sql.DB, parent, name string) {
	db.Exec(fmt.Sprintf("ALTER TABLE %s DETACH PARTITION %s CONCURRENTLY", parent, name)) // want `cannot tell: unknown-table|safe: definition|cannot tell: opaque`
}
