package dialect

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Discreet returns err with a text that holds no values of rows. A database quotes them when it refuses a row: the entry that is
// there already, a text where a number belongs, whatever a trigger raises. Such a text is replaced by the code and the names of
// constraint, key, table, column and function; every other text, of a wrong statement or a right that is missing, stays.
func Discreet(err error) error {
	var replaced []string
	each(err, func(r *Refusal) bool {
		if names := r.names(); names != "" {
			replaced = append(replaced, r.Message(), names)
		}
		return false
	})
	if replaced == nil {
		return err
	}
	return &discreet{text: strings.NewReplacer(replaced...).Replace(err.Error()), err: err}
}

// DiscreetPanic is [Discreet] for the value of a panic.
func DiscreetPanic(cause any) any {
	if err, ok := cause.(error); ok {
		return Discreet(err)
	}
	return cause
}

type discreet struct {
	text string
	err  error
}

// Error implements error.
func (d *discreet) Error() string { return d.text }

// Unwrap returns the error of the driver, with its values.
func (d *discreet) Unwrap() error { return d.err }

// names describes a refusal without the database's text; "" if that holds no values.
func (r *Refusal) names() string {
	switch r.Dialect {
	case PostgreSQL:
		return r.postgresNames()
	case MySQL:
		return r.mysqlNames()
	case SQLite:
	}
	const raised, stands = 1811, "UNIQUE constraint failed: index '" // Semel's own guard names its index
	if r.Number == raised && !strings.Contains(r.Message(), stands) {
		return "a trigger refuses it (SQLITE_CONSTRAINT_TRIGGER)"
	}
	return ""
}

// postgresNames trusts the classes of SQLSTATE whose texts PostgreSQL writes from the catalogue and the statement, unless a
// function raised the error.
func (r *Refusal) postgresNames() string {
	raised := r.Text("Routine") == "exec_stmt_raise"
	if !raised && slices.Contains([]string{"08", "0A", "25", "26", "28", "2B", "34", "3D", "3F", "40", "42", "53", "54", "55", "57", "58", "F0"}, r.State[:min(len(r.State), 2)]) {
		return ""
	}
	kinds := map[string]string{
		"23502": "a value is missing", "23503": "a reference names no row, or a row is referred to", "23505": "another row has the unique value",
		"23514": "a check does not hold", "23P01": "a row excludes another",
	}
	what := cmp.Or(kinds[r.State], "the database refuses it")
	if raised {
		what = "a function or trigger refuses it"
	}
	all := []string{"SQLSTATE " + r.State}
	add := func(kind string, fields ...string) {
		if name := r.Text(fields...); name != "" {
			all = append(all, kind+" "+name)
		}
	}
	add("constraint", "ConstraintName", "Constraint")
	add("table", "TableName", "Table")
	add("column", "ColumnName", "Column")
	add("type", "DataTypeName")
	_, function, _ := strings.Cut(r.Text("Where"), "PL/pgSQL function ")
	if name, _, found := strings.Cut(function, "("); found {
		all = append(all, "function "+name)
	}
	return what + " (" + strings.Join(all, ", ") + ")"
}

// mysqlNames trusts texts that MySQL and MariaDB write from names alone.
func (r *Refusal) mysqlNames() string {
	state := r.State[:min(len(r.State), 2)]
	switch r.Number {
	case 1048, 1216, 1217, 1364, 1406, 1451, 1452, 3819, 4025, 1264, 1265: // NULL, references, checks, a value that does not fit
		return ""
	case 1062, 1586, 1292, 1366, 1367, 1411, 1525, 1644, 1690, 1761, 1762, 3140, 3141, 3156, 4037, 4038:
	default:
		if state != "22" && state != "23" && state != "45" {
			return ""
		}
	}
	all := []string{"error " + strconv.Itoa(r.Number)}
	if r.State != "" {
		all = append(all, "SQLSTATE "+r.State)
	}
	message := r.Text("Message")
	what := "the database refuses it"
	switch r.Number {
	case 1062, 1586:
		what = "another row has the unique value"
		if parts := strings.Split(message, "'"); len(parts) > 2 { // the last quoted text, in any language
			all = append(all, "key "+parts[len(parts)-2])
		}
	case 1366, 1292:
		what = "a value does not fit"
		if at := strings.LastIndex(message, " for column "); at >= 0 {
			name, _, _ := strings.Cut(message[at+len(" for column "):], " at row")
			if !strings.ContainsAny(name, " \"") {
				all = append(all, "column "+strings.NewReplacer("`", "", "'", "").Replace(name))
			}
		}
	case 1644:
		what = "a trigger or routine refuses it"
	}
	return what + " (" + strings.Join(all, ", ") + ")"
}
