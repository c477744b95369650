package postgres

import (
	"errors"

	pg "github.com/sqlc-dev/oliphant"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/semel-dev/semel/internal/lint/tree"
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
	if !s.message(node.ProtoReflect(), 0) {
		return scope{}, errors.New("nested too deeply")
	}
	return s, nil
}

// message visits a message and those in it; it reports false if they are nested too deeply.
func (s *scope) message(m protoreflect.Message, depth int) bool {
	if depth > maxDepth {
		return false
	}
	s.note(m.Interface())
	fine := true
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if f.Kind() != protoreflect.MessageKind {
			return true
		}
		if !f.IsList() {
			fine = s.message(v.Message(), depth+1)
			return fine
		}
		for i := 0; i < v.List().Len() && fine; i++ {
			fine = s.message(v.List().Get(i).Message(), depth+1)
		}
		return fine
	})
	return fine
}

// note records the names that one node brings.
func (s *scope) note(m proto.Message) {
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
