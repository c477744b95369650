package claimtest

import (
	"reflect"
	"testing"
)

// EveryFieldSet fails the test for an exported field of a struct that no row sets, so that a new option gets a row.
func EveryFieldSet[T any](tb testing.TB, rows ...*T) {
	tb.Helper()
	for field := range reflect.TypeFor[T]().Fields() {
		set := !field.IsExported()
		for _, row := range rows {
			set = set || !reflect.ValueOf(row).Elem().FieldByIndex(field.Index).IsZero()
		}
		if !set {
			tb.Errorf("no row sets %s.%s: give it one", reflect.TypeFor[T](), field.Name)
		}
	}
}
