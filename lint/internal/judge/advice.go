package judge

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/lint/internal/schema"
	"github.com/semel-dev/semel/lint/internal/tree"
)

const claimedKey = "run it under a claimed key: semel.Do"

// advised completes a judgement with what would make the statement safe, as text to paste.
func (j *judge) advised(st tree.Statement, res Judgement) Judgement {
	if res.Verdict != NotSafe && res.Verdict != Time {
		return res
	}
	switch res.Rule { //nolint:exhaustive // the others have theirs, or none
	case RelativeValue:
		res.Guard = j.versionAdvice(st)
	case NoUniqueKey:
		res.Guard = j.keyAdvice(st)
	case Timestamp:
		res.Guard = "pass the time as a parameter, the same at each run"
	case Undefined:
		if d, ok := st.(*tree.Define); ok && d.Kind == "create index" && d.Index != nil && d.Table != nil {
			res.Guard = indexAdvice(d)
		}
	case Cascades:
		res.Guard = "name the rows by their key: WHERE id IN (…), or " + claimedKey
	}
	if res.Guard == "" && res.Verdict == NotSafe {
		res.Guard = claimedKey
	}
	return res
}

var versionName = regexp.MustCompile(`(?i)^(row_?)?(version|revision|rev|lock_version|generation|etag_?version|epoch)(_?(no|nr|number))?$`)

// relativeFirst puts the parts that compute a value from the old one before the others.
func (j *judge) relativeFirst(writes []tree.Statement) []tree.Statement {
	relative := func(st tree.Statement) bool {
		u, ok := st.(*tree.Update)
		if !ok {
			return false
		}
		t := j.target(u.Table, u.As, u.From)
		return slices.ContainsFunc(u.Set, func(a tree.Assign) bool { return t.readsOwn(a.Value, strings.ToLower(a.Column)) })
	}
	first := slices.DeleteFunc(slices.Clone(writes), func(st tree.Statement) bool { return !relative(st) })
	return append(first, writes...)
}

// versionAdvice proposes a version in the condition: a column of the table, or a new one.
func (j *judge) versionAdvice(st tree.Statement) string {
	table, column := "t", ""
	for _, one := range j.relativeFirst(writesOf(st)) {
		var name tree.Name
		switch one := one.(type) {
		case *tree.Update:
			name = one.Table
		case *tree.Insert:
			name = one.Table
		case *tree.Merge:
			name = one.Table
		default:
			continue
		}
		table = name.Name
		if j.isView(name) {
			table = j.base(name)
		}
		if t := j.schema.Table(tree.Name{Schema: name.Schema, Name: table}); t != nil {
			i := slices.IndexFunc(t.Columns, func(c *tree.ColumnDef) bool { return versionName.MatchString(c.Name) && typeOf(c.Type) == integer })
			if i >= 0 {
				column = t.Columns[i].Name
			}
		}
		break
	}
	first := ""
	if column == "" {
		column, first = "version", fmt.Sprintf("ALTER TABLE %s ADD COLUMN version bigint NOT NULL DEFAULT 0; then ", j.quoted(table))
	}
	name := j.quoted(column)
	return fmt.Sprintf("%sSET …, %s = %s + 1 WHERE … AND %s = %s; or %s", first, name, name, name, j.placeholder(st), claimedKey)
}

// placeholder is the next one of the statement.
func (j *judge) placeholder(st tree.Statement) string {
	last, numbered := 0, true
	tree.StatementExprs(st, func(e tree.Expr) bool {
		if p, ok := e.(*tree.Param); ok {
			n, err := strconv.Atoi(p.Name)
			last, numbered = max(last, n), numbered && err == nil
		}
		return true
	})
	switch {
	case !numbered:
		return ":version"
	case j.dialect == dialect.PostgreSQL:
		return "$" + strconv.Itoa(last+1)
	}
	return "?"
}

var (
	natural   = regexp.MustCompile(`(?i)(^|_)(id|key|ref|reference|code|slug|email|uuid|guid|number|no|hash|token|name|external|txn|event)(_|$)|(Id|ID|Key|Ref|Code|Number|Hash|Name)$`)
	unnatural = regexp.MustCompile(`(?i)(created|updated|modified|deleted|inserted|expires)(_?(at|on|by|time|ts))?$|(^|_)(at|time|timestamp|data|payload|body|status|state|message|description|error|count|amount|metadata|priority)$`)
)

// keyAdvice proposes a unique key over the columns that most likely make a row the same.
func (j *judge) keyAdvice(st tree.Statement) string {
	var in *tree.Insert
	for _, one := range writesOf(st) {
		if found, ok := one.(*tree.Insert); ok {
			in = found
		}
	}
	if in == nil {
		return claimedKey
	}
	t := j.schema.Table(in.Table)
	var chosen, others []string
	for _, name := range in.Columns {
		def := schema.Column(t, name)
		switch {
		case def != nil && (def.Serial || !indexable(def.Type)), unnatural.MatchString(name):
		case natural.MatchString(name):
			chosen = append(chosen, name)
		default:
			others = append(others, name)
		}
	}
	const most = 3 // columns of a key
	if len(chosen) == 0 {
		chosen = others
	}
	chosen = chosen[:min(most, len(chosen))]
	table := j.quoted(in.Table.Name)
	if in.Table.Schema != "" {
		table = j.quoted(in.Table.Schema) + "." + table
	}
	if len(chosen) == 0 {
		return fmt.Sprintf("ALTER TABLE %s ADD COLUMN request_id varchar(100) UNIQUE; and insert the same request_id at each run; or %s", table, claimedKey)
	}
	var parts []string
	for _, name := range chosen {
		part := j.quoted(name)
		if def := schema.Column(t, name); j.dialect == dialect.MySQL && def != nil && strings.HasSuffix(def.Type, "text") {
			part += "(191)"
		}
		parts = append(parts, part)
	}
	index := j.quoted(strings.ToLower(in.Table.Name + "_" + strings.Join(chosen, "_") + "_key"))
	return fmt.Sprintf("CREATE UNIQUE INDEX %s ON %s (%s), if these columns make a row the same; or %s", index, table, strings.Join(parts, ", "), claimedKey)
}

// indexable reports whether a column of a type may say what a row is about.
func indexable(kind string) bool {
	kind, _, _ = strings.Cut(kind, "(")
	switch {
	case strings.HasPrefix(kind, "json"), strings.HasSuffix(kind, "blob"), strings.HasPrefix(kind, "timestamp"), strings.HasPrefix(kind, "bool"):
		return false
	case kind == "bytea", kind == "real", kind == "double precision", kind == "double", kind == "float", kind == "datetime", kind == "longtext", strings.HasSuffix(kind, "]"):
		return false
	}
	return true
}

// indexAdvice names an index as PostgreSQL would.
func indexAdvice(d *tree.Define) string {
	var parts []string
	name := d.Table.Name.Name
	for _, part := range d.Index.Parts {
		c, ok := part.(*tree.Column)
		if !ok {
			return "name the index: CREATE INDEX IF NOT EXISTS " + name + "_… ON …"
		}
		name += "_" + c.Name
		parts = append(parts, c.Name)
	}
	unique := ""
	if d.Index.Unique {
		unique = "UNIQUE "
	}
	return fmt.Sprintf("name the index: CREATE %sINDEX IF NOT EXISTS %s_idx ON %s (%s)", unique, name, d.Table.Name.Name, strings.Join(parts, ", "))
}

var bareName = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)

// quoted writes a name so that the database takes it as it is.
func (j *judge) quoted(name string) string {
	switch {
	case bareName.MatchString(name) && !reserved[name]:
		return name
	case j.dialect == dialect.MySQL:
		return "`" + strings.ReplaceAll(name, "`", "``") + "`"
	}
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

//nolint:gochecknoglobals // a constant.
var reserved = set(`all and any as asc check column constraint create default desc distinct do else end for from group having in index into is join
	key like limit not null on or order primary references select set table then to union unique update user using value values when where with`)
