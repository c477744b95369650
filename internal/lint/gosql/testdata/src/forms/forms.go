// Package forms has texts with more forms than are followed, and with forms that cannot be meant.
package forms

import (
	"database/sql"
	"fmt"
	"strings"
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

func partitions(db *sql.DB, parent, name string) {
	db.Exec(fmt.Sprintf("ALTER TABLE %s DETACH PARTITION %s CONCURRENTLY", parent, name)) // want `cannot tell: unknown-table|safe: definition|cannot tell: opaque`
}
