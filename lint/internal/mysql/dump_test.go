package mysql_test

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/semel-dev/semel/lint/internal/tree"
)

// dump writes a tree in one line: the type of each node and its fields that are not zero.
func dump(node any) string {
	return dumped(reflect.ValueOf(node))
}

func dumped(v reflect.Value) string {
	if !v.IsValid() {
		return "nil"
	}
	switch v.Kind() { //nolint:exhaustive // the others are plain values
	case reflect.Interface:
		return dumped(v.Elem())
	case reflect.Pointer:
		if v.IsNil() {
			return "nil"
		}
		if e, ok := reflect.TypeAssert[tree.Expr](v); ok {
			return dumpedExpr(e)
		}
		return dumped(v.Elem())
	case reflect.Slice:
		all := make([]string, v.Len())
		for i := range all {
			all[i] = dumped(v.Index(i))
		}
		return "[" + strings.Join(all, ", ") + "]"
	case reflect.Struct:
		if n, ok := reflect.TypeAssert[tree.Name](v); ok {
			return strings.TrimPrefix(n.Schema+"."+n.Name, ".")
		}
		return v.Type().Name() + dumpedFields(v)
	}
	return fmt.Sprint(v.Interface())
}

func dumpedFields(v reflect.Value) string {
	var all []string
	for i := range v.NumField() {
		f, called := v.Field(i), v.Type().Field(i).Name
		switch {
		case f.IsZero():
		case f.Kind() == reflect.Bool:
			all = append(all, called)
		default:
			all = append(all, called+"="+dumped(f))
		}
	}
	return "{" + strings.Join(all, " ") + "}"
}

// dumpedExpr is as [tree.Text], with what that leaves out.
func dumpedExpr(e tree.Expr) string {
	switch e := e.(type) {
	case *tree.Query:
		return fmt.Sprintf("%s%s(%s %s)", e.Kind, strings.TrimSuffix(" "+e.Op, " "), tree.Text(e.Left), dump(e.Select))
	case *tree.Raw:
		return "RAW " + e.Why
	case *tree.Op:
		called := e.Name
		if e.Pipes {
			called += "|"
		}
		return "(" + called + " " + dumpedList(e.Args) + ")"
	case *tree.Call:
		if e.Schema == "" && !e.Over && len(e.OrderBy) == 0 {
			star := ""
			if e.Star {
				star = "*"
			}
			if e.Distinct {
				star = "distinct "
			}
			return e.Name + "(" + star + dumpedList(e.Args) + ")"
		}
		return "Call" + dumpedFields(reflect.ValueOf(*e))
	case *tree.Cast:
		return "cast(" + dumpedExpr(e.Value) + " as " + e.Type + ")"
	case *tree.Case:
		return "Case" + dumpedFields(reflect.ValueOf(*e))
	case *tree.List:
		return "(" + dumpedList(e.Items) + ")"
	}
	return tree.Text(e)
}

func dumpedList(list []tree.Expr) string {
	all := make([]string, len(list))
	for i, e := range list {
		all[i] = dump(e)
	}
	return strings.Join(all, ", ")
}
