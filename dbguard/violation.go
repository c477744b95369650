package dbguard

import (
	"math"
	"reflect"
	"strings"
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

// driverError finds the error of a driver in err. It recognizes drivers by the
// shape of their errors, because a service should link the driver that it uses and no
// other: pgx and lib/pq, go-sql-driver, and for SQLite modernc.org, mattn and
// ncruces.
func driverError(err error) (code driverCode, ok bool, found error) {
	if err == nil {
		return driverCode{}, false, nil
	}
	if code, ok := codeOf(err); ok {
		return code, true, err
	}
	switch wrapped := err.(type) { //nolint:errorlint // this walks the tree itself.
	case interface{ Unwrap() error }:
		return driverError(wrapped.Unwrap())
	case interface{ Unwrap() []error }:
		for _, inner := range wrapped.Unwrap() {
			if code, ok, found := driverError(inner); ok {
				return code, ok, found
			}
		}
	}
	return driverCode{}, false, nil
}

func codeOf(err error) (driverCode, bool) {
	if e, ok := err.(interface{ SQLState() string }); ok {
		return driverCode{state: e.SQLState()}, true
	}
	value := reflect.Indirect(reflect.ValueOf(err))
	if e, ok := err.(interface{ Code() int }); ok { // many have that, and 5 means something else there
		return driverCode{number: e.Code()}, value.IsValid() && strings.Contains(value.Type().PkgPath(), "sqlite") // modernc.org/sqlite
	}
	if value.Kind() != reflect.Struct {
		return driverCode{}, false
	}
	if number := value.FieldByName("Number"); number.IsValid() && number.Kind() == reflect.Uint16 {
		return driverCode{number: int(number.Uint() & math.MaxUint16), mysql: true}, true
	}
	if extended := value.FieldByName("ExtendedCode"); extended.IsValid() && extended.CanInt() {
		return driverCode{number: int(extended.Int())}, true // mattn/go-sqlite3
	}
	method := reflect.ValueOf(err).MethodByName("ExtendedCode")
	if method.IsValid() && method.Type().NumIn() == 0 && method.Type().NumOut() == 1 && method.Type().Out(0).Kind() == reflect.Uint16 {
		return driverCode{number: int(method.Call(nil)[0].Uint() & math.MaxUint16)}, true // ncruces/go-sqlite3
	}
	return driverCode{}, false
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
			schema: textField(found, "SchemaName", "Schema"),
			table:  textField(found, "TableName", "Table"),
			index:  textField(found, "ConstraintName", "Constraint"),
		}, true
	case code.state != "":
		return violation{}, false
	case code.mysql && (code.number == mysqlDuplicate || code.number == mysqlDuplicateNamed):
		return mysqlViolation(textField(found, "Message")), true
	case !code.mysql && (code.number == sqliteUnique || code.number == sqlitePrimaryKey || code.number == sqliteRowID):
		return sqliteViolation(found.Error())
	}
	return violation{}, false
}

// textField reads the first of these fields that a driver's error has.
func textField(err error, names ...string) string {
	value := reflect.Indirect(reflect.ValueOf(err))
	if value.Kind() != reflect.Struct {
		return ""
	}
	for _, name := range names {
		if field := value.FieldByName(name); field.IsValid() && field.Kind() == reflect.String {
			return field.String()
		}
	}
	return ""
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
