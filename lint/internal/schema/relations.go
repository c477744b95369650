package schema

import (
	"cmp"
	"slices"
	"strings"

	"github.com/semel-dev/semel/lint/internal/tree"
)

// Relation is a foreign key that changes rows of its own table, From, when rows of another change.
type Relation struct {
	From string // in lower case
	*tree.Foreign
}

// relations are collected from all tables when they are first needed after a change of the schema.
type relations struct {
	acting  []Relation
	parents map[string]bool // tables that others inherit from, in lower case
}

// Acting returns the foreign keys that change rows when others are changed, in the order of their tables.
func (s *Schema) Acting() []Relation { return s.collected().acting }

// HasHeirs reports whether tables inherit from one of a name, in any schema.
func (s *Schema) HasHeirs(name string) bool { return s.collected().parents[strings.ToLower(name)] }

func (s *Schema) collected() *relations {
	if s == nil {
		return &relations{}
	}
	if r := s.related.Load(); r != nil {
		return r
	}
	r := &relations{parents: map[string]bool{}}
	s.All(func(t *tree.Table) {
		for _, f := range t.Foreign {
			if f.Acts() {
				r.acting = append(r.acting, Relation{From: strings.ToLower(t.Name.Name), Foreign: f})
			}
		}
		for _, p := range t.Parents {
			r.parents[strings.ToLower(p.Name)] = true
		}
	})
	slices.SortStableFunc(r.acting, func(a, b Relation) int { return cmp.Compare(a.From, b.From) })
	s.related.Store(r)
	return r
}

// Named returns the tables of a name in all schemas.
func (s *Schema) Named(name string) []*tree.Table {
	if s == nil {
		return nil
	}
	return s.named[strings.ToLower(name)]
}
