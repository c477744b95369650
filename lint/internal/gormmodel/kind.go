package gormmodel

import "go/types"

// kind says how GORM keeps a field.
type kind uint8

const (
	unknown kind = iota
	association
	text
	whole
	number
	boolean
	moment
	other // a column of another type
)

// bare returns a type without its pointers.
func bare(t types.Type) types.Type {
	for {
		t = types.Unalias(t)
		p, ok := t.Underlying().(*types.Pointer)
		if !ok {
			return t
		}
		t = p.Elem()
	}
}

func kindOf(t types.Type, tags settings) kind {
	t = bare(t)
	if tags.is("SERIALIZER", "JSON") {
		return other
	}
	if isTime(t) {
		return moment
	}
	isValue := method(t, "Value") != nil || method(t, "GormDataType") != nil || method(t, "GormValue") != nil
	switch u := t.Underlying().(type) {
	case *types.Basic:
		switch info := u.Info(); {
		case isValue:
			return other
		case info&types.IsString != 0:
			return text
		case info&types.IsInteger != 0:
			return whole
		case info&types.IsFloat != 0:
			return number
		case info&types.IsBoolean != 0:
			return boolean
		}
		return unknown
	case *types.Struct:
		if isValue || tags["TYPE"] != "" {
			return other
		}
		return association
	case *types.Slice:
		return listed(u.Elem(), isValue || tags["TYPE"] != "")
	case *types.Array:
		return listed(u.Elem(), isValue || tags["TYPE"] != "")
	case *types.Map, *types.Interface:
		if isValue || tags["TYPE"] != "" {
			return other
		}
	}
	return unknown
}

// listed returns the kind of a list.
func listed(of types.Type, isColumn bool) kind {
	if b, ok := of.Underlying().(*types.Basic); ok && b.Kind() == types.Byte || isColumn {
		return other
	}
	if _, ok := bare(of).Underlying().(*types.Struct); ok {
		return association
	}
	return unknown
}

// isTime reports whether a type is time.Time, or one that converts to it.
func isTime(t types.Type) bool {
	t = bare(t)
	n, ok := t.(*types.Named)
	if !ok {
		return false
	}
	if n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == "time" && n.Obj().Name() == "Time" {
		return true
	}
	s, ok := n.Underlying().(*types.Struct)
	return ok && s.NumFields() == 3 && s.Field(0).Name() == "wall" && s.Field(0).Pkg() != nil && s.Field(0).Pkg().Path() == "time"
}

func isWhole(t types.Type) bool {
	b, ok := bare(t).Underlying().(*types.Basic)
	return ok && b.Info()&types.IsInteger != 0
}

// Nullable reports whether the zero value of a type is NULL in the database.
func Nullable(t types.Type) bool {
	switch u := types.Unalias(t).Underlying().(type) {
	case *types.Pointer, *types.Slice, *types.Map, *types.Interface:
		return true
	case *types.Struct: // sql.NullString and the like
		for f := range u.Fields() {
			if f.Name() == "Valid" || f.Embedded() && Nullable(f.Type()) {
				return true
			}
		}
	}
	return false
}
