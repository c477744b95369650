package gormmodel

import (
	"go/types"
	"slices"
	"strings"
)

// Model holds the table, columns and keys that GORM sees in a struct type.
type Model struct {
	Name    string
	Table   string // empty when Unknown says why
	Unknown string // why the model or its table is not known
	Fields  []*Field
	Keys    [][]*Field // the primary key first, then the unique indexes that cover every row
	hooks   []string
}

// Field is a column or an association of a model.
type Field struct {
	Name, Column string // Column is empty for an association
	Type         types.Type
	Primary      bool
	Numbered     bool // by the database
	// Defaulted says that the database fills the column in when the value is zero; Default is a value that GORM fills in.
	Defaulted bool
	Default   string
	// Created and Updated say that GORM sets the time when it inserts, or whenever it writes; Unix that it is a number.
	Created, Updated, Unix bool
	Deleted                bool // the time of a soft delete
	NoCreate, NoUpdate     bool
	NotNull                bool
	counted                bool // the tag says whether the database numbers it
	indexes                []membership
	depth                  int // of embedding
}

// Namer says what the method TableName of a type returns.
type Namer func(*types.Func) (name string, ok bool)

// maxDepth bounds how deep structs are embedded.
const maxDepth = 8

// Of returns the model of a type: a struct, or pointers to or slices of one. It returns nil for other types.
func Of(t types.Type, named Namer) *Model {
	of, s := element(t)
	if s == nil {
		return nil
	}
	m := &Model{Name: types.TypeString(of, func(*types.Package) string { return "" })}
	m.name(of, named)
	m.structure(s, "", 0)
	m.primary()
	m.index()
	methods := types.NewMethodSet(types.NewPointer(of))
	for method := range methods.Methods() {
		switch name := method.Obj().Name(); name {
		case "BeforeSave", "BeforeCreate", "BeforeUpdate", "BeforeDelete", "AfterSave", "AfterCreate", "AfterUpdate", "AfterDelete":
			m.hooks = append(m.hooks, name)
		}
	}
	return m
}

// element returns the struct behind pointers and slices.
func element(t types.Type) (types.Type, *types.Struct) {
	for t != nil {
		switch u := types.Unalias(t).Underlying().(type) {
		case *types.Pointer:
			t = u.Elem()
		case *types.Slice:
			t = u.Elem()
		case *types.Array:
			t = u.Elem()
		case *types.Struct:
			return types.Unalias(t), u
		default:
			return nil, nil
		}
	}
	return nil, nil
}

// name finds the name of the table.
func (m *Model) name(of types.Type, named Namer) {
	if fn := method(of, "TableName"); fn != nil {
		name, ok := "", false
		if fn.Signature().Params().Len() == 0 {
			name, ok = named(fn)
		}
		if m.Table = name; !ok {
			m.Unknown = "what TableName of " + m.Name + " returns"
		}
		return
	}
	if n, ok := of.(*types.Named); ok {
		m.Table = TableName(n.Obj().Name())
		return
	}
	m.Unknown = "the table of a struct without a name"
}

// method returns a method of a type or of a pointer to it.
func method(t types.Type, name string) *types.Func {
	for one := range types.NewMethodSet(types.NewPointer(t)).Methods() {
		if fn, ok := one.Obj().(*types.Func); ok && fn.Name() == name {
			return fn
		}
	}
	return nil
}

// structure adds the fields of a struct, which may be embedded.
func (m *Model) structure(s *types.Struct, prefix string, depth int) {
	for i := range s.NumFields() {
		v := s.Field(i)
		tags := parse(s.Tag(i))
		if !v.Exported() || tags["-"] == "-" || strings.EqualFold(strings.TrimSpace(tags["-"]), "all") {
			continue
		}
		inner := under(v.Type())
		if embeds(v, inner, tags) && depth < maxDepth {
			m.structure(inner, prefix+tags["EMBEDDEDPREFIX"], depth+1)
			continue
		}
		f := m.field(v, tags)
		f.depth = depth
		if f.Column != "" {
			f.Column = prefix + f.Column
		}
		if depth > 0 && !tags.is("PRIMARYKEY", "PRIMARY_KEY") {
			f.Primary = false
		}
		m.add(f)
	}
}

// under returns the struct that a field holds, or nil.
func under(t types.Type) *types.Struct {
	if p, ok := types.Unalias(t).Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	s, _ := types.Unalias(t).Underlying().(*types.Struct)
	return s
}

// embeds reports whether the fields of a field are columns of the model.
func embeds(v *types.Var, inner *types.Struct, tags settings) bool {
	if inner == nil {
		return false
	}
	return tags.is("EMBEDDED") || v.Anonymous() && !isTime(v.Type()) && method(bare(v.Type()), "Value") == nil
}

// add puts a field in, in the place of one of the same column that is embedded deeper.
func (m *Model) add(f *Field) {
	at := slices.IndexFunc(m.Fields, func(o *Field) bool { return f.Column != "" && o.Column == f.Column })
	switch {
	case at < 0:
		m.Fields = append(m.Fields, f)
	case f.depth < m.Fields[at].depth:
		m.Fields[at] = f
	}
}

// field reads one field.
func (m *Model) field(v *types.Var, tags settings) *Field {
	f := &Field{Name: v.Name(), Type: v.Type(), indexes: tags.indexes(), NotNull: tags.is("NOT NULL", "NOTNULL")}
	kind := kindOf(v.Type(), tags)
	if kind == unknown {
		m.Unknown = "how GORM keeps the field " + v.Name() + " of " + m.Name
	}
	if kind == unknown || kind == association {
		return f
	}
	if f.Column = tags["COLUMN"]; f.Column == "" {
		f.Column = ColumnName(v.Name())
	}
	f.Primary, f.Numbered = tags.is("PRIMARYKEY", "PRIMARY_KEY"), tags.is("AUTOINCREMENT")
	f.Defaulted, f.counted = f.Numbered, tags["AUTOINCREMENT"] != ""
	if value, ok := tags["DEFAULT"]; ok {
		f.fills(strings.TrimSpace(value), kind)
	}
	stamps := kind == moment || kind == whole
	f.Created = tags.is("AUTOCREATETIME") || tags["AUTOCREATETIME"] == "" && f.Name == "CreatedAt" && stamps
	f.Updated = tags.is("AUTOUPDATETIME") || tags["AUTOUPDATETIME"] == "" && f.Name == "UpdatedAt" && stamps
	f.Unix = kind != moment
	f.permit(tags)
	m.clauses(f)
	return f
}

// fills notes the default of a column: GORM sends a constant itself, and leaves all else to the database.
func (f *Field) fills(value string, kind kind) {
	call := strings.Contains(value, "(") && strings.Contains(value, ")")
	constant := value != "" && !strings.EqualFold(value, "null") && !call
	switch {
	case constant && (kind == whole || kind == number || kind == boolean):
		f.Default = value
	case constant && kind == text:
		f.Default = "'" + strings.ReplaceAll(strings.Trim(strings.Trim(value, "'"), `"`), "'", "''") + "'"
	default:
		f.Defaulted = true
	}
}

// permit reads the permissions of a field.
func (f *Field) permit(tags settings) {
	if _, ok := tags["->"]; ok {
		f.NoCreate, f.NoUpdate = true, true
	}
	if value, ok := tags["<-"]; ok && value != "<-" {
		f.NoCreate, f.NoUpdate = !strings.Contains(value, "create"), !strings.Contains(value, "update")
	} else if ok {
		f.NoCreate, f.NoUpdate = false, false
	}
}

// clauses notes a type that adds clauses of its own to statements: that of soft deletes is known.
func (m *Model) clauses(f *Field) {
	t := bare(f.Type)
	if n, ok := t.(*types.Named); ok && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == "gorm.io/gorm" && n.Obj().Name() == "DeletedAt" {
		f.Deleted = true
		return
	}
	for _, name := range []string{"CreateClauses", "UpdateClauses", "DeleteClauses"} {
		if method(t, name) != nil {
			m.Unknown = "what the type of " + f.Name + " adds to the statements on " + m.Name
		}
	}
}

// primary finds the primary key, as GORM does: the tag, or else a field called ID. A number in it is made by the database.
func (m *Model) primary() {
	primary := m.Primary()
	first := m.Field("id")
	if first == nil {
		first = m.Field("ID")
	}
	if len(primary) == 0 && first != nil && first.Column != "" {
		first.Primary = true
		primary = []*Field{first}
	}
	if first == nil || !first.Primary {
		first = nil
		if len(primary) == 1 {
			first = primary[0]
		}
	}
	if len(primary) > 0 {
		m.Keys = append(m.Keys, primary)
	}
	if first != nil && isWhole(first.Type) && !first.counted {
		first.Numbered, first.Defaulted, first.Default = true, true, ""
	}
}

// index collects the unique indexes.
func (m *Model) index() {
	type index struct {
		fields          []*Field
		unique, partial bool
	}
	var names []string
	named := map[string]*index{}
	for _, f := range m.Fields {
		for _, one := range f.indexes {
			if one.name == "" {
				if one.unique && !one.partial && f.Column != "" {
					m.Keys = append(m.Keys, []*Field{f})
				}
				continue
			}
			if named[one.name] == nil {
				named[one.name] = &index{}
				names = append(names, one.name)
			}
			i := named[one.name]
			i.fields, i.unique, i.partial = append(i.fields, f), i.unique || one.unique, i.partial || one.partial
		}
	}
	for _, name := range names {
		if i := named[name]; i.unique && !i.partial {
			m.Keys = append(m.Keys, i.fields)
		}
	}
}

// Primary returns the fields of the primary key.
func (m *Model) Primary() (all []*Field) {
	for _, f := range m.Fields {
		if f.Primary && f.Column != "" {
			all = append(all, f)
		}
	}
	return all
}

// Field returns the field that a name means to GORM: that of a column, or of a field. It is nil for none.
func (m *Model) Field(name string) *Field {
	for _, f := range m.Fields {
		if f.Column != "" && f.Column == name {
			return f
		}
	}
	for _, f := range m.Fields {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// Associations returns the names of the fields that hold other models.
func (m *Model) Associations() (all []string) {
	for _, f := range m.Fields {
		if f.Column == "" {
			all = append(all, f.Name)
		}
	}
	return all
}

// Deleted returns the column of soft deletes, nil for none.
func (m *Model) Deleted() *Field {
	for _, f := range m.Fields {
		if f.Deleted {
			return f
		}
	}
	return nil
}

// Hook returns the first method of the model that runs around an event: "Create", "Update" or "Delete". Before says that it runs
// before the statement, and so may change it.
func (m *Model) Hook(event string) (name string, before bool) {
	for _, when := range []string{"Before", "After"} {
		for _, name := range m.hooks {
			if name == when+event || name == when+"Save" && event != "Delete" {
				return name, when == "Before"
			}
		}
	}
	return "", false
}
