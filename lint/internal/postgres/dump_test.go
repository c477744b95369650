package postgres_test

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/semel-dev/semel/lint/internal/tree"
)

// dump writes a tree on one line, without the fields that are zero.
func dump(v any) string {
	var b strings.Builder
	write(&b, reflect.ValueOf(v))
	return b.String()
}

func write(b *strings.Builder, v reflect.Value) {
	switch v.Kind() { //nolint:exhaustive // default is for the others
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			b.WriteString("nil")
			return
		}
		if v.CanInterface() && short(b, v.Interface()) {
			return
		}
		write(b, v.Elem())
	case reflect.Struct:
		writeStruct(b, v)
	case reflect.Slice:
		b.WriteString("[")
		for i := range v.Len() {
			if i > 0 {
				b.WriteString(" ")
			}
			write(b, v.Index(i))
		}
		b.WriteString("]")
	case reflect.String:
		fmt.Fprintf(b, "%q", v.String())
	default:
		fmt.Fprint(b, v.Interface())
	}
}

func writeStruct(b *strings.Builder, v reflect.Value) {
	if name, ok := reflect.TypeAssert[tree.Name](v); ok {
		if name.Schema != "" {
			b.WriteString(name.Schema + ".")
		}
		b.WriteString(name.Name)
		return
	}
	b.WriteString(v.Type().Name() + "{")
	first := true
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			continue
		}
		if !first {
			b.WriteString(" ")
		}
		first = false
		b.WriteString(v.Type().Field(i).Name)
		if v.Field(i).Kind() == reflect.Bool {
			continue
		}
		b.WriteString(":")
		write(b, v.Field(i))
	}
	b.WriteString("}")
}

// short writes the expressions that have a short form.
func short(b *strings.Builder, v any) bool {
	switch e := v.(type) {
	case *tree.Column, *tree.Star, *tree.Literal, *tree.Param, *tree.Default:
		b.WriteString(tree.Text(e.(tree.Expr)))
	case *tree.Cast:
		b.WriteString("cast(")
		write(b, reflect.ValueOf(e.Value))
		b.WriteString(" as " + e.Type + ")")
	case *tree.Op:
		b.WriteString("(" + e.Name)
		for _, arg := range e.Args {
			b.WriteString(" ")
			write(b, reflect.ValueOf(arg))
		}
		b.WriteString(")")
	default:
		return false
	}
	return true
}
