package dialect

import (
	"math"
	"reflect"
	"strings"
)

// Refusal is the answer of a database to a statement that it did not carry out.
type Refusal struct {
	Dialect Dialect
	State   string // the SQLSTATE; SQLite has none
	Number  int    // of MySQL, and SQLite's extended code
	err     error
}

// Refused finds the error of a driver in err. It recognizes drivers by the
// shape of their errors, because a service should link the driver that it uses and no
// other: pgx and lib/pq, go-sql-driver, and for SQLite modernc.org, mattn and
// ncruces.
func Refused(err error) (r Refusal, ok bool) {
	ok = each(err, func(found *Refusal) bool {
		r = *found
		return true
	})
	return r, ok
}

// each calls found for the drivers' errors in err until it returns true, and reports whether it did.
func each(err error, found func(*Refusal) bool) bool {
	if err == nil {
		return false
	}
	if r, ok := refusalOf(err); ok {
		return found(&r)
	}
	switch wrapped := err.(type) { //nolint:errorlint // this walks the tree itself.
	case interface{ Unwrap() error }:
		return each(wrapped.Unwrap(), found)
	case interface{ Unwrap() []error }:
		for _, inner := range wrapped.Unwrap() {
			if each(inner, found) {
				return true
			}
		}
	}
	return false
}

func refusalOf(err error) (Refusal, bool) {
	if e, ok := err.(interface{ SQLState() string }); ok {
		return Refusal{Dialect: PostgreSQL, State: e.SQLState(), err: err}, true
	}
	value := reflect.Indirect(reflect.ValueOf(err))
	if e, ok := err.(interface{ Code() int }); ok { // many have that, and 5 means something else there
		return Refusal{Dialect: SQLite, Number: e.Code(), err: err}, value.IsValid() && strings.Contains(value.Type().PkgPath(), "sqlite") // modernc.org/sqlite
	}
	if value.Kind() != reflect.Struct {
		return Refusal{}, false
	}
	if number := value.FieldByName("Number"); number.IsValid() && number.Kind() == reflect.Uint16 {
		r := Refusal{Dialect: MySQL, Number: int(number.Uint() & math.MaxUint16), err: err}
		if state := value.FieldByName("SQLState"); state.IsValid() && state.Kind() == reflect.Array {
			text := make([]byte, state.Len())
			reflect.Copy(reflect.ValueOf(text), state)
			r.State = string(text)
		}
		return r, true
	}
	if extended := value.FieldByName("ExtendedCode"); extended.IsValid() && extended.CanInt() {
		return Refusal{Dialect: SQLite, Number: int(extended.Int()), err: err}, true // mattn/go-sqlite3
	}
	method := reflect.ValueOf(err).MethodByName("ExtendedCode")
	if method.IsValid() && method.Type().NumIn() == 0 && method.Type().NumOut() == 1 && method.Type().Out(0).Kind() == reflect.Uint16 {
		return Refusal{Dialect: SQLite, Number: int(method.Call(nil)[0].Uint() & math.MaxUint16), err: err}, true // ncruces/go-sqlite3
	}
	return Refusal{}, false
}

// Text returns the first of these fields that the driver's error has; "" if it has none.
func (r *Refusal) Text(names ...string) string {
	value := reflect.Indirect(reflect.ValueOf(r.err))
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

// Message is the text of the driver.
func (r *Refusal) Message() string { return r.err.Error() }
