package judge

import (
	"cmp"
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/lint/internal/schema"
	"github.com/semel-dev/semel/lint/internal/tree"
)

// covered judges whether a unique key refuses every row at a second run.
func (j *judge) covered(i *insertion) Judgement {
	if i.Source == nil && len(i.rows) == 0 {
		i.rows = []map[string]tree.Expr{{}}
	}
	var assumes []string
	missing, open := "", ""
	for _, row := range i.rows {
		found := false
		for _, k := range i.t.table.Keys {
			c := j.covers(i, k, row)
			if c.why == "" {
				found, assumes = true, append(assumes, c.assumes...)
				break
			}
			if c.open {
				open = c.why
			}
			if k.Unique {
				missing = cmp.Or(missing, c.why)
			}
		}
		unknown := cmp.Or(i.t.table.Unknown, j.schema.Lacks)
		switch {
		case found:
		case open != "":
			return judged(CannotTell, NoUniqueKey, "a second run may insert the row again: "+open)
		case unknown != "":
			return judged(CannotTell, UnknownTable, "whether a unique key refuses a second row is not known: "+unknown)
		default:
			return judged(NotSafe, NoUniqueKey, "a second run inserts the row again: "+cmp.Or(missing, "the table has no unique key"))
		}
	}
	res := judged(Safe, UniqueKey, "a second row has the same unique key: it is refused, or left out")
	res.Assumes, res.Once = assumes, true
	return res
}

// coverage says why a key does not refuse a second copy of a row.
type coverage struct {
	why     string // empty if it does
	open    bool   // it may: unless an expression of the key is NULL, or a query finds other rows first
	assumes []string
}

// covers reports whether a key refuses a second copy of the row.
func (j *judge) covers(i *insertion, k *tree.Key, row map[string]tree.Expr) (c coverage) {
	name := "key " + k.Name
	if !k.Unique && !k.Primary || len(k.Parts) == 0 {
		return coverage{why: name + " is not unique"}
	}
	for _, e := range k.Parts {
		part := j.keyPart(e, i.t.table)
		for n, column := range append(slices.Clip(part.fixed), part.free...) {
			if j.lacks(i, row, schema.Column(i.t.table, column)) {
				return coverage{why: "the statement leaves out " + column + ", which has no default", open: true}
			}
			value := j.inserted(i, row, column)
			why, assumed := j.given(i, value, column, k.NullsSame || n >= len(part.fixed))
			if why != "" {
				found := j.selection(value, i.t, true) // the same rows in another order may give the same key
				return coverage{why: why, open: j.effectsOf(value).pure() && found.Verdict == CannotTell && found.Rule == OpenOrder}
			}
			c.assumes = append(c.assumes, assumed...)
		}
		if part.mayBeNull && !k.NullsSame {
			c.why, c.open = name+" is over an expression that may be NULL", true
		}
	}
	for _, e := range tree.Conjuncts(k.Where) {
		ok, assumed := j.implied(i, e, row)
		if !ok {
			return coverage{why: name + " does not cover every row"}
		}
		c.assumes = append(c.assumes, assumed...)
	}
	return c
}

// keyPart says what a part of a key reads.
type keyPart struct {
	fixed     []string // columns of which a NULL makes it NULL
	free      []string // columns whose NULL it survives
	mayBeNull bool     // it may be NULL though no column of fixed is
}

// neverNulls are the functions of each database that an index may have and that give NULL for a NULL alone; "prefix"
// is that of a key of MySQL.
//
//nolint:gochecknoglobals // a constant.
var neverNulls = map[dialect.Dialect]map[string]bool{
	dialect.PostgreSQL: set(`lower upper initcap btrim trim ltrim rtrim md5 sha224 sha256 sha384 sha512 encode decode convert_to convert_from length char_length
		character_length octet_length reverse replace translate left right lpad rpad split_part abs date_trunc hashtext hashtextextended`),
	dialect.MySQL:  set("lower upper trim ltrim rtrim md5 sha1 prefix"),
	dialect.SQLite: set("lower upper trim ltrim rtrim length hex replace"),
}

// keyPart looks at a part of a key of a table.
func (j *judge) keyPart(part tree.Expr, table *tree.Table) (p keyPart) {
	switch e := part.(type) {
	case *tree.Column:
		return j.keyColumn(e, table)
	case *tree.Literal:
		return keyPart{mayBeNull: e.Kind == tree.Null}
	case *tree.Call:
		switch {
		case e.Schema != "" && e.Schema != "pg_catalog", j.schema.Shadows(e.Name), len(e.Args) == 0:
		case e.Name == "coalesce" || e.Name == "ifnull" && j.dialect != dialect.PostgreSQL:
			p = j.keyParts(e.Args, table)
			last := j.keyPart(e.Args[len(e.Args)-1], table)
			return keyPart{fixed: last.fixed, free: append(p.free, p.fixed...), mayBeNull: last.mayBeNull}
		case neverNulls[j.dialect][e.Name] && j.ordinary(e.Args, table):
			return j.keyParts(e.Args, table)
		}
	case *tree.Op:
		if e.Name == "||" && !e.Pipes && j.dialect != dialect.MySQL || j.dialect == dialect.PostgreSQL && slices.Contains([]string{"+", "-", "*"}, e.Name) && len(e.Args) > 1 && j.ordinary(e.Args, table) {
			return j.keyParts(e.Args, table)
		}
	case *tree.Cast:
		p = j.keyPart(e.Value, table)
		p.mayBeNull = p.mayBeNull || !j.castKeepsNotNull(e, table)
		return p
	}
	p.mayBeNull = true
	tree.Exprs(part, func(e tree.Expr) bool {
		switch e := e.(type) {
		case *tree.Column:
			p.free = append(p.free, strings.ToLower(e.Name))
		case *tree.Raw, *tree.Star: // what they read is not known
			p.free = append(p.free, "*")
		}
		return true
	})
	return p
}

// keyParts joins the parts of an expression that is NULL if one of its operands is.
func (j *judge) keyParts(list []tree.Expr, table *tree.Table) (p keyPart) {
	for _, e := range list {
		one := j.keyPart(e, table)
		p.fixed, p.free, p.mayBeNull = append(p.fixed, one.fixed...), append(p.free, one.free...), p.mayBeNull || one.mayBeNull
	}
	return p
}

// keyColumn looks at a column of a key; a generated one counts as its expression.
func (j *judge) keyColumn(c *tree.Column, table *tree.Table) keyPart {
	def := schema.Column(table, c.Name)
	if def == nil || def.Generated == nil {
		return keyPart{fixed: []string{strings.ToLower(c.Name)}}
	}
	computed := false // from another one, which most databases refuse
	tree.Exprs(def.Generated, func(e tree.Expr) bool {
		if column, ok := e.(*tree.Column); ok {
			from := schema.Column(table, column.Name)
			computed = computed || from == nil || from.Generated != nil
		}
		return !computed
	})
	if computed {
		return keyPart{free: []string{strings.ToLower(c.Name)}, mayBeNull: true}
	}
	p := j.keyPart(def.Generated, table)
	p.mayBeNull = p.mayBeNull || j.dialect == dialect.MySQL || j.dialect == dialect.PostgreSQL && !plainType(def.Type)
	return p
}

// ordinary reports whether the operands of an expression in a key are of types whose functions and conversions give
// NULL for NULL alone: in PostgreSQL not ranges, of which lower() is a bound or NULL, and not JSON, whose null becomes NULL.
func (j *judge) ordinary(list []tree.Expr, table *tree.Table) bool {
	if j.dialect != dialect.PostgreSQL {
		return true
	}
	other := false
	for _, e := range list {
		tree.Exprs(e, func(e tree.Expr) bool {
			switch e := e.(type) {
			case *tree.Column:
				def := schema.Column(table, e.Name)
				other = other || def == nil || !plainType(def.Type)
			case *tree.Cast:
				other = other || !plainType(e.Type)
				return !other && !isJSONText(e, table)
			}
			return !other
		})
	}
	return !other
}

// isJSONText reports whether an expression is the text of a JSON column, of which a JSON null is 'null'.
func isJSONText(e *tree.Cast, table *tree.Table) bool {
	c, ok := e.Value.(*tree.Column)
	def := schema.Column(table, name(c))
	return ok && def != nil && (def.Type == "json" || def.Type == "jsonb") && e.Type == "text"
}

// plainType reports whether a type of PostgreSQL is one of texts, bytes, numbers, times or a truth value.
func plainType(name string) bool {
	base, _, _ := strings.Cut(name, "(")
	return typeOf(name) != otherType || scalars[base]
}

//nolint:gochecknoglobals // a constant.
var scalars = set("bytea numeric decimal char bpchar uuid date timestamp timestamptz citext")

// castKeepsNotNull reports whether a conversion within a key gives NULL for NULL alone.
func (j *judge) castKeepsNotNull(e *tree.Cast, table *tree.Table) bool {
	if j.dialect == dialect.MySQL {
		return typeOf(e.Type) == text || strings.HasPrefix(e.Type, "char")
	}
	return j.ordinary([]tree.Expr{e}, table)
}

// implied reports whether a condition of a partial key certainly holds for the row, and what that assumes.
func (j *judge) implied(i *insertion, c tree.Expr, row map[string]tree.Expr) (ok bool, assumes []string) {
	if column, isColumn := c.(*tree.Column); isColumn {
		return isBool(j.inserted(i, row, strings.ToLower(column.Name)), "true"), nil
	}
	op, isOp := c.(*tree.Op)
	if !isOp || len(op.Args) == 0 {
		return false, nil
	}
	column, isColumn := op.Args[0].(*tree.Column)
	if !isColumn {
		return false, nil
	}
	v, def := j.inserted(i, row, strings.ToLower(column.Name)), schema.Column(i.t.table, column.Name)
	if v == nil {
		return false, nil
	}
	switch op.Name {
	case "is null":
		return isNull(v), nil
	case "is not null":
		if isParam(v) && !neverNull(v) && (def == nil || !def.NotNull) {
			return true, []string{"the parameter for " + column.Name + " is not NULL"}
		}
		return neverNull(v) || def != nil && def.NotNull, nil
	case "not":
		return isBool(v, "false"), nil
	case "=":
		return len(op.Args) == 2 && same(literal(uncast(v)), literal(uncast(op.Args[1]))) && keeps(j.dialect, def, literal(uncast(v))), nil
	case "<>":
		return len(op.Args) == 2 && keeps(j.dialect, def, literal(uncast(v))) && differ(j.dialect, def, literal(uncast(v)), literal(uncast(op.Args[1]))), nil
	}
	return false, nil
}
