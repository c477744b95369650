package dbguard

import (
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
)

// Codes of drivers' errors that say that a row is there already.
const (
	pgUnique    = "23505"
	pgExclusion = "23P01"

	mysqlDuplicate      = 1062
	mysqlDuplicateNamed = 1586

	sqliteUnique     = 2067
	sqlitePrimaryKey = 1555
	sqliteRowID      = 2579
)

// violation describes the index that a row violates, as the driver's error has it. Only
// text holds values of the row: it is compared, and not passed on.
type violation struct {
	schema, table string
	index         string
	columns       []string // SQLite only, which names them in the place of the index
	text          string   // MySQL only: the message up to the end of the index's name
}

// driverCode identifies a driver's error: one of the two.
type driverCode struct {
	state  string // of PostgreSQL
	number int    // of MySQL and SQLite
	mysql  bool   // the number is MySQL's
}

// driverError finds the error of a driver in err.
func driverError(err error) (code driverCode, ok bool, found dialect.Refusal) {
	found, ok = dialect.Refused(err)
	code = driverCode{number: found.Number, mysql: found.Dialect == dialect.MySQL}
	if found.Dialect == dialect.PostgreSQL {
		code.state = found.State
	}
	return code, ok, found
}

// violationOf says which index an error is about; false for every other error,
// such as a foreign key's.
func violationOf(err error) (violation, bool) {
	code, ok, found := driverError(err)
	switch {
	case !ok:
		return violation{}, false
	case code.state == pgUnique || code.state == pgExclusion:
		return violation{
			schema: found.Text("SchemaName", "Schema"),
			table:  found.Text("TableName", "Table"),
			index:  found.Text("ConstraintName", "Constraint"),
		}, true
	case code.state != "":
		return violation{}, false
	case code.mysql && (code.number == mysqlDuplicate || code.number == mysqlDuplicateNamed):
		return mysqlViolation(found.Text("Message")), true
	case !code.mysql && (code.number == sqliteUnique || code.number == sqlitePrimaryKey || code.number == sqliteRowID):
		return sqliteViolation(found.Message())
	}
	return violation{}, false
}

// mysqlViolation reads a text such as
//
//	Duplicate entry 'a-b' for key 'invoices.invoice_number'
//
// in any language: the index is the last quoted text, and MySQL, not
// MariaDB, puts the table before it. The values, which come first and may hold
// anything, are not looked at. A name with a quote in it is known by
// [violation.ends] only.
func mysqlViolation(message string) violation {
	end := strings.LastIndexByte(message, '\'')
	if end < 0 {
		return violation{}
	}
	v := violation{text: message[:end]}
	v.index = v.text[strings.LastIndexByte(v.text, '\'')+1:]
	if table, index, ok := strings.Cut(v.index, "."); ok && !strings.Contains(index, ".") {
		v.table, v.index = table, index
	}
	return v
}

// ends reports whether MySQL's text ends with the index of the table, whatever
// characters its name has.
func (v *violation) ends(table, index string) bool {
	return v.text != "" && (strings.HasSuffix(v.text, "'"+index) || strings.HasSuffix(v.text, "'"+table+"."+index))
}

// sqliteViolation reads a text such as
//
//	UNIQUE constraint failed: invoices.tenant_id, invoices.number
//	UNIQUE constraint failed: index 'invoice_number'
//
// The second is for indexes with expressions. It has no values.
func sqliteViolation(text string) (violation, bool) {
	_, list, ok := strings.Cut(text, "UNIQUE constraint failed: ")
	if !ok {
		return violation{}, false
	}
	if at := strings.LastIndex(list, " ("); at >= 0 && strings.HasSuffix(list, ")") {
		list = list[:at] // modernc.org/sqlite adds the code
	}
	if name, ok := strings.CutPrefix(list, "index '"); ok {
		return violation{index: strings.ReplaceAll(strings.TrimSuffix(name, "'"), "''", "'")}, true
	}
	v := violation{}
	for part := range strings.SplitSeq(list, ", ") {
		table, column, _ := strings.Cut(part, ".")
		v.table = table
		v.columns = append(v.columns, column)
	}
	return v, true
}
