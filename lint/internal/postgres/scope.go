package postgres

import (
	"errors"
	"reflect"
	"sync"

	pg "github.com/sqlc-dev/oliphant"

	"github.com/semel-dev/semel/lint/internal/tree"
)

// scope holds the names in a statement that decide how a name is read.
type scope struct {
	tables   map[string]map[string]bool // schemas of the tables by the name that columns refer to
	columns  map[string]bool            // names that are columns for certain
	excluded bool                       // a source is named as [tree.Excluded]
}

// maxDepth bounds the nesting of the messages of a statement, and with it the recursion of the translator.
const maxDepth = 20_000

// survey collects the names of a whole statement, and refuses one that is nested too deeply.
func survey(node *pg.Node) (scope, error) {
	s := scope{tables: map[string]map[string]bool{}, columns: map[string]bool{}}
	if !s.message(reflect.ValueOf(node), 0) {
		return scope{}, errors.New("nested too deeply")
	}
	return s, nil
}

// message visits a message and those in it; it reports false if they are nested too deeply. Package reflect takes a
// third of the time of protoreflect.
func (s *scope) message(pointer reflect.Value, depth int) bool {
	if depth > maxDepth {
		return false
	}
	if pointer.IsNil() {
		return true
	}
	s.addMessage(pointer.Interface())
	for _, i := range holders(pointer.Type().Elem()) {
		switch f := pointer.Elem().Field(i); {
		case f.Kind() == reflect.Slice:
			for k := range f.Len() {
				if !s.message(f.Index(k), depth+1) {
					return false
				}
			}
		case f.Kind() == reflect.Interface: // one of several, in a struct of its own
			if f.IsNil() {
				continue
			}
			f = f.Elem().Elem().Field(0)
			if f.Kind() == reflect.Pointer && !s.message(f, depth+1) {
				return false
			}
		case !s.message(f, depth+1):
			return false
		}
	}
	return true
}

// holders returns the fields of a message that can hold messages.
func holders(of reflect.Type) (fields []int) {
	if known, ok := holding.Load(of); ok {
		return known.([]int) //nolint:errcheck,forcetypeassert // nothing else is stored.
	}
	for i := range of.NumField() {
		f := of.Field(i)
		message := func(t reflect.Type) bool { return t.Kind() == reflect.Pointer }
		if f.IsExported() && (message(f.Type) || f.Type.Kind() == reflect.Interface || f.Type.Kind() == reflect.Slice && message(f.Type.Elem())) {
			fields = append(fields, i)
		}
	}
	holding.Store(of, fields)
	return fields
}

// holding keeps what holders has found: the parser has about 270 messages.
var holding sync.Map //nolint:gochecknoglobals // types of the parser, the same for every text.

// addMessage records the names that one node brings.
func (s *scope) addMessage(m any) {
	switch n := m.(type) {
	case *pg.RangeVar:
		if n.GetAlias() != nil {
			s.source(n.GetAlias().GetAliasname(), "")
		} else {
			s.source(n.GetRelname(), n.GetSchemaname())
		}
	case *pg.RangeSubselect:
		s.source(n.GetAlias().GetAliasname(), "")
	case *pg.JoinExpr:
		s.source(n.GetAlias().GetAliasname(), "")
	case *pg.UpdateStmt:
		s.targets(n.GetTargetList())
	case *pg.InsertStmt:
		s.targets(n.GetCols())
	case *pg.OnConflictClause:
		s.targets(n.GetTargetList())
	case *pg.ColumnRef:
		if f := n.GetFields(); len(f) > 1 {
			s.columns[f[len(f)-1].GetString_().GetSval()] = true
		}
	}
}

func (s *scope) targets(list []*pg.Node) {
	for _, n := range list {
		s.columns[n.GetResTarget().GetName()] = true
	}
}

func (s *scope) source(name, schema string) {
	if name == "" {
		return
	}
	if name == tree.Excluded {
		s.excluded = true
	}
	if s.tables[name] == nil {
		s.tables[name] = map[string]bool{}
	}
	s.tables[name][schema] = true
}

// isRow reports whether a name alone means the whole row of a source.
func (s *scope) isRow(name string) bool {
	return s.tables[name] != nil && !s.columns[name]
}

// rows makes old and new the names of rows, as in triggers.
func (s *scope) rows() {
	s.source("old", "")
	s.source("new", "")
	delete(s.columns, "old")
	delete(s.columns, "new")
}
