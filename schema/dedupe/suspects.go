package dedupe

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/jinzhu/inflection"

	"github.com/semel-dev/semel/schema/catalog"
)

// suspect is a column that may refer to rows of a table without the database knowing.
type suspect struct {
	column  string // schema.table.column
	declare string // table.column, as a request names it
	parent  *table
	why     string
	list    bool
}

// maxNamed bounds the suspects that an error names.
const maxNamed = 10

// lines are the suspects for people: a line for each column.
func lines(all []suspect) []string {
	var lines []string
	for i := 0; i < len(all); {
		one, parents := all[i], []string(nil)
		for ; i < len(all) && all[i].column == one.column && all[i].why == one.why; i++ {
			parents = append(parents, all[i].parent.name)
		}
		lines = append(lines, fmt.Sprintf("%s: %s %s", one.column, one.why, strings.Join(parents, ", ")))
	}
	return lines
}

// undeclared refuses to delete rows, or to change their keys, where a suspect may name them.
func (s *site) undeclared() error {
	var named, deleted []string
	example := ""
	for _, one := range s.suspects {
		if !one.parent.marks {
			join(&deleted, []string{one.parent.name})
			join(&named, []string{one.declare})
			if example == "" && !one.list {
				example = fmt.Sprintf("--reference %q, with a where if it also refers to others, or ", one.declare+" to "+one.parent.catalog.Name)
			}
		}
	}
	if named == nil {
		return nil
	}
	none, more := named[0]+" to "+noTable, ""
	if n := len(named) - maxNamed; n > 0 {
		named, more = named[:maxNamed], fmt.Sprintf(" and %d more", n)
	}
	return refuse("rows of %s would be deleted or get another key, and these columns may name them without a foreign key: %s%s (say of each what it refers to: %s--reference %q)",
		strings.Join(deleted, ", "), strings.Join(named, ", "), more, example, none)
}

// leave reports whether the key of a row can be gone after a merge, or that of a merged row: the row is merged, or its key is the
// reference that moves.
func (t *table) leave() bool {
	return t.number == 0 || t.merges() || len(t.id) == 1 && len(overlap(t.id, t.moves)) > 0
}

// joins reports whether the key of the table consists of references, so that no column names one of its rows.
func (v *surveyor) joins(t *table) bool {
	return len(t.id) > 1 && !slices.ContainsFunc(t.id, func(name string) bool {
		return !slices.ContainsFunc(v.links, func(l link) bool { return l.child == t.name && slices.Contains(l.cols, name) })
	})
}

// declare adds the declared references.
func (v *surveyor) declare(root *table) error {
	declared, err := v.site.request.references()
	if err != nil {
		return err
	}
	v.root = root
	var said []reference // with full names
	for _, r := range declared {
		child, name, err := v.ends(r)
		if err != nil {
			return err
		}
		full := reference{table: fullName(child), columns: r.columns, to: name, where: r.where}
		if err := v.contradicts(said, full); err != nil {
			return err
		}
		if said = append(said, full); name == noTable {
			continue
		}
		parent, err := v.find(name)
		if err != nil {
			return err
		}
		id := identity(parent)
		if len(r.columns) != len(id) {
			return fmt.Errorf("reference: %s has %d columns, and a row of %s is named by %d", r.table, len(r.columns), name, len(id))
		}
		if c, _ := child.Column(r.columns[0]); isArray(c) {
			return fmt.Errorf("reference: %s.%s is a list, which a merge does not change (--reference %q where that may be)", r.table, c.Name, r.table+"."+c.Name+" to "+noTable)
		}
		l := link{name: declaredName + strings.Join(r.columns, ",") + " to " + name + " where " + r.where, child: fullName(child), parent: name, cols: r.columns, refs: id, where: r.where}
		l.cast(v.schema)
		v.links = append(v.links, l)
	}
	return nil
}

// ends finds the table of a declared reference, whose columns get their names there, and the name of the one that it is to.
func (v *surveyor) ends(r reference) (child *catalog.Table, to string, err error) {
	if child, err = v.find(r.table); err != nil {
		return nil, "", err
	}
	for i, name := range r.columns {
		c, ok := child.Column(name)
		if !ok {
			return nil, "", fmt.Errorf("reference: %w", child.NoColumn(name))
		}
		r.columns[i] = c.Name
	}
	if r.to == noTable {
		return child, noTable, nil
	}
	to, err = v.target(r)
	return child, to, err
}

// contradicts refuses a reference that says something else of a column's rows than an earlier one, or than a foreign key.
func (v *surveyor) contradicts(said []reference, r reference) error {
	column := r.table + "." + strings.Join(r.columns, ",")
	for _, l := range v.links {
		if l.child == r.table && r.to == noTable && l.where == "" && slices.Contains(l.cols, r.columns[0]) && len(r.columns) == 1 && !strings.HasPrefix(l.name, declaredName) {
			return fmt.Errorf("reference: %s is declared to %s, and is in a foreign key to %s, which moves (leave out the declaration)", column, noTable, l.parent)
		}
	}
	for _, other := range said {
		switch {
		case other.table != r.table || !slices.Equal(other.columns, r.columns):
		case other.to == r.to && (other.where == r.where || other.where == "" || r.where == ""):
			return fmt.Errorf("reference: %s is declared to %s twice (leave out one, or say with a where of each which rows it is about)", column, r.to)
		case (other.to == noTable || r.to == noTable) && other.where+r.where != "": // the rows without the condition refer to none
		case other.to != r.to && (other.where == r.where || other.where == "" || r.where == ""):
			return fmt.Errorf("reference: %s is declared to %s and to %s (leave out one, or say of each with a where which rows refer to it)", column, other.to, r.to)
		}
	}
	return nil
}

// target is the table that a declared reference is to.
func (v *surveyor) target(r reference) (string, error) {
	if r.to == "" {
		return v.root.name, nil
	}
	found, err := v.find(r.to)
	if err != nil {
		return "", fmt.Errorf("reference: %w", err)
	}
	return fullName(found), nil
}

// suspects lists columns that look like references to tables whose rows are merged, but are not known to be.
func (v *surveyor) suspects(foreign []link) (all []suspect, err error) {
	declared, err := v.site.request.references()
	if err != nil {
		return nil, err
	}
	names := namesOf(v.schema)
	for i := range v.schema.Tables {
		t := &v.schema.Tables[i]
		if t.Kind == catalog.View || t.Kind == catalog.Partition || t.Kind == catalog.Foreign || strings.HasPrefix(t.Name, "semel_dedupe_") {
			continue
		}
		for j := range t.Columns {
			c := &t.Columns[j]
			if c.Generated != "" || slices.Contains([]string{mergedInto, mergedAt, mergeRun}, c.Name) || slices.ContainsFunc(foreign, func(l link) bool { return l.child == fullName(t) && slices.Contains(l.cols, c.Name) }) {
				continue
			}
			look := lookOf(names, t, c)
			for _, parent := range v.site.tables {
				if why := look.at(parent, t, c); why != "" && parent.deep && parent.leave() && !v.joins(parent) && !v.known(declared, t, c, parent) {
					all = append(all, suspect{fullName(t) + "." + c.Name, t.Name + "." + c.Name, parent, why, look.list})
				}
			}
		}
	}
	return all, nil
}

// known reports whether the request says what a column is to the parent.
func (v *surveyor) known(declared []reference, t *catalog.Table, c *catalog.Column, parent *table) bool {
	return slices.ContainsFunc(declared, func(r reference) bool {
		found, ok := v.schema.Table(r.table)
		if !ok || fullName(found) != fullName(t) || !slices.ContainsFunc(r.columns, func(name string) bool {
			named, ok := t.Column(name)
			return ok && named.Name == c.Name
		}) {
			return false
		}
		target, _ := v.target(r)
		return r.to == noTable || target == parent.name
	})
}

// look is the reading of a column's name.
type look struct {
	// tables are those that it is named like.
	tables []string
	// list says that it holds several keys, partner names the column that says of which table the key is.
	list    bool
	partner string
	// bare says that the name has no word such as id: only the type of the key says that it may be one.
	bare bool
}

// at says why the column may refer to rows of the parent, or "".
func (l look) at(parent *table, t *catalog.Table, c *catalog.Column) string {
	own := fullName(t) == parent.name && slices.Contains(parent.id, c.Name)
	may := slices.ContainsFunc(parent.id, func(name string) bool {
		key := parent.column(name)
		return holds(c, key) && (!l.bare || isJSON(c) || familyOf(c) == familyOf(key))
	})
	switch {
	case own || !may:
	case slices.Contains(l.tables, parent.name) && l.list:
		return "a list of references, which a merge does not change, to"
	case l.partner != "" && !l.list:
		return "next to " + l.partner + ", it may refer to rows of"
	case slices.Contains(l.tables, parent.name):
		return "named like a reference, without a foreign key, to"
	}
	return ""
}

// tableName is the name of a table in words, in the singular.
type tableName struct {
	full  string
	words []string
}

func namesOf(schema *catalog.Schema) (all []tableName) {
	for i := range schema.Tables {
		if t := &schema.Tables[i]; t.Kind != catalog.View && t.Kind != catalog.Partition {
			all = append(all, tableName{fullName(t), singular(wordsOf(t.Name))})
		}
	}
	return all
}

func singular(words []string) []string {
	if len(words) == 0 {
		return words
	}
	words = slices.Clone(words)
	words[len(words)-1] = inflection.Singular(words[len(words)-1])
	return words
}

// lookOf reads the name of a column.
func lookOf(names []tableName, t *catalog.Table, c *catalog.Column) (l look) {
	words := wordsOf(c.Name)
	if len(words) == 0 {
		return l
	}
	last := words[len(words)-1]
	base, many, isKey := words[:len(words)-1], isID(strings.TrimSuffix(last, "s")) && strings.HasSuffix(last, "s"), isID(last)
	l.list = many || isArray(c) || isJSON(c)
	switch {
	case isKey && !l.list || many:
		l.tables = likeOf(names, base)
		l.partner = partnerOf(t, c, base)
		if len(base) > 0 && base[len(base)-1] == "parent" && l.tables == nil {
			l.tables = []string{fullName(t)}
		}
	case folded(last) != "": // without anything between, as PostgreSQL has an ownerId that is not quoted
		base = append(slices.Clone(base), folded(last))
		l.tables = exactly(names, base)
		l.partner = partnerOf(t, c, base)
		l.list = l.list || strings.HasSuffix(last, "s")
	case l.list:
		l.tables, l.bare = likeOf(names, words), true
	case slices.Equal(singular(words), words):
		l.tables, l.bare = exactly(names, words), true
	}
	return l
}

// folded is the part of a word before id or ids, or "".
func folded(word string) string {
	for _, ending := range []string{"uuid", "guid", "id"} {
		if base, ok := strings.CutSuffix(strings.TrimSuffix(word, "s"), ending); ok && len(base) > 2 {
			return base
		}
	}
	return ""
}

// exactly are the tables with a name of these words.
func exactly(names []tableName, words []string) (all []string) {
	want := strings.Join(singular(words), "")
	for _, n := range names {
		if strings.Join(n.words, "") == want {
			all = append(all, n.full)
		}
	}
	return all
}

// likeOf are the tables whose names are most like the words: the same, else the longest that these end with, such as customers
// for billing_customer, else those that end with these, such as shop_category for category.
func likeOf(names []tableName, words []string) (all []string) {
	if len(words) == 0 {
		return nil
	}
	if all = exactly(names, words); all != nil {
		return all
	}
	words = singular(words)
	longest := 0
	for _, n := range names {
		if k := len(n.words); k >= longest && k > 0 && endsWith(words, n.words) {
			if k > longest {
				all = nil
			}
			longest, all = k, append(all, n.full)
		}
	}
	if all != nil {
		return all
	}
	for _, n := range names {
		if endsWith(n.words, words) {
			all = append(all, n.full)
		}
	}
	return all
}

func endsWith(words, end []string) bool {
	return len(words) >= len(end) && slices.Equal(words[len(words)-len(end):], end)
}

// kinds are the words by which a column says of which table a key is, things those for a row of any table.
//
//nolint:gochecknoglobals // constants
var (
	kinds  = []string{"type", "table", "model", "class", "kind", "entity"}
	things = []string{"object", "record", "row", "res", "entity", "target", "source", "subject", "resource", "ref", "reference", "related", "foreign", "model", "item"}
)

// partnerOf returns the column that says of which table the key in c is, or "": owner_type for owner_id, and for words that mean
// any row also content_type or table_name.
func partnerOf(t *catalog.Table, c *catalog.Column, base []string) string {
	own := strings.Join(base, "")
	for i := range t.Columns {
		p := &t.Columns[i]
		if p == c || own == "" || !slices.Contains([]family{numbers, letters, anything}, familyOf(p)) {
			continue
		}
		joined := strings.Join(wordsOf(p.Name), "")
		for _, ending := range []string{"", "name", "id"} {
			kind, ok := strings.CutSuffix(joined, ending)
			if !ok {
				continue
			}
			if rest, ok := strings.CutPrefix(kind, own); ok && slices.Contains(kinds, rest) {
				return p.Name
			}
			if slices.Contains(things, own) && (kind == own && ending == "" || slices.Contains(kinds, kind) || slices.Contains(kinds, strings.TrimPrefix(kind, "content"))) {
				return p.Name
			}
		}
	}
	return ""
}

// family are types that hold each other's values.
type family int

const (
	others family = iota
	numbers
	letters
	uuids
	bytesOf
	anything
)

func familyOf(c *catalog.Column) family {
	base, _, _ := strings.Cut(strings.ToLower(c.Base), " ")
	base = strings.TrimLeft(strings.TrimSuffix(base, "[]"), "_")
	switch {
	case strings.EqualFold(c.Type, "tinyint(1)"):
		return others
	case slices.Contains([]string{"", "any"}, base):
		return anything
	case slices.Contains([]string{"int2", "int4", "int8", "int", "integer", "smallint", "mediumint", "bigint", "tinyint", "numeric", "decimal", "oid"}, base):
		return numbers
	case base == "uuid":
		return uuids
	case strings.Contains(base, "char") || strings.Contains(base, "text") || base == "name" || base == "enum":
		return letters
	case strings.Contains(base, "binary") || strings.Contains(base, "blob") || base == "bytea":
		return bytesOf
	}
	return others
}

// holds reports whether values of a key may be in a column. A list may be in a text.
func holds(c, key *catalog.Column) bool {
	mine, its := familyOf(c), familyOf(key)
	switch {
	case isJSON(c) || mine == letters:
		return true
	case mine == others:
		return its == others && c.Type == key.Type
	case its == uuids || its == bytesOf:
		return mine == uuids || mine == bytesOf || mine == anything
	}
	return mine == its || mine == anything || its == anything
}

func isJSON(c *catalog.Column) bool { return strings.HasPrefix(strings.ToLower(c.Base), "json") }

func isArray(c *catalog.Column) bool { return strings.HasSuffix(c.Type, "[]") }

func isID(word string) bool {
	return slices.Contains([]string{"id", "uuid", "guid", "pk", "fk", "ref"}, word)
}

// wordsOf splits a name into its words, in lower case: billing_customer_id, billingCustomerID.
func wordsOf(name string) (words []string) {
	runes := []rune(name)
	start := 0
	cut := func(end int) {
		if end > start {
			words = append(words, strings.ToLower(string(runes[start:end])))
		}
		start = end
	}
	for i, r := range runes {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			cut(i)
			start = i + 1
		case i > 0 && unicode.IsUpper(r) && (unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1]) && unicode.IsUpper(runes[i-1]) && string(runes[i:]) != "Ds"):
			cut(i)
		}
	}
	cut(len(runes))
	return words
}
