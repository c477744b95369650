package schema

import (
	"cmp"
	"slices"

	"github.com/semel-dev/semel/lint/internal/tree"
)

// copied gives a table what its definition takes from others (LIKE). Where those are not known in full, neither is it.
func (s *Schema) copied(t *tree.Table) {
	added := 0
	for _, from := range t.Like {
		of := s.own(from.Table)
		if of == nil || alike(of, from.Table) || of.View != nil || of.Unknown != "" || len(of.Like) > 0 && of == t {
			t.Unknown = cmp.Or(t.Unknown, "its columns are those of another table")
			return
		}
		at := min(from.At+added, len(t.Columns))
		t.Columns = slices.Insert(t.Columns, at, copiedColumns(t, of, from)...)
		added += len(of.Columns)
		if !from.Keys {
			continue
		}
		for _, k := range of.Keys {
			key := copiedKey(k, t, from.Named)
			if key == nil {
				t.Unknown = cmp.Or(t.Unknown, "a key is one of another table")
				return
			}
			t.Keys = append(t.Keys, key)
		}
	}
}

// copiedColumns returns the columns of a table as another one takes them. It says of that one what is not known of them.
func copiedColumns(to, of *tree.Table, from tree.Like) []*tree.ColumnDef {
	columns := make([]*tree.ColumnDef, 0, len(of.Columns))
	for _, c := range of.Columns {
		def := *c
		if c.Generated != nil || c.Serial && from.Defaults != from.Numbers { // serial or identity
			to.Unknown = cmp.Or(to.Unknown, "column "+c.Name+" is one of another table")
		} else if c.Serial {
			def.Serial = from.Numbers
		}
		if !from.Defaults {
			def.Default = nil
		}
		columns = append(columns, &def)
	}
	return columns
}

// copiedKey returns the key as a table takes it from another one: nil for one that is not over columns alone.
func copiedKey(k *tree.Key, to *tree.Table, named bool) *tree.Key {
	key := *k
	key.Parts = slices.Clone(k.Parts)
	for i, part := range key.Parts {
		c, ok := part.(*tree.Column)
		if k.Unique && (!ok || k.Where != nil || k.Exclusion) {
			return nil
		}
		if ok {
			of := *c
			key.Parts[i] = &of
		}
	}
	if !named {
		key.Name, key.First = "", to.Name.Name
	}
	if key.Primary && !named {
		key.Name = to.Name.Name + "_pkey"
	}
	return &key
}
