package draft

import (
	"slices"
	"strconv"
	"strings"

	"github.com/semel-dev/semel/internal/texts"
	"github.com/semel-dev/semel/schema/catalog"
)

// rule is a rule as the file will have it.
type rule struct {
	name, table, index, nulls string
	terms                     []term
	except                    []string
}

// scopeNames are columns that usually scope uniqueness.
func scopeNames() []string {
	return []string{
		"tenant", "workspace", "org", "organization", "organisation", "account", "company", "team", "project", "shop", "store",
		"site", "merchant", "customer", "group", "source", "provider", "system", "realm", "namespace",
	}
}

// isScope reports whether a column looks like a scope by its name: tenant_id,
// import_source.
func isScope(name string) bool {
	name = strings.ToLower(name)
	base := strings.TrimSuffix(strings.TrimSuffix(name, "_id"), "_uuid")
	return slices.Contains(scopeNames(), base) || strings.HasSuffix(name, "_source") || strings.HasSuffix(name, "_provider")
}

// divide guesses which terms are the scope: those with such a name, and foreign
// keys to a parent. The last term is always a field.
func (r *rule) divide(t *catalog.Table) {
	fields := len(r.terms)
	for i := range r.terms {
		one := &r.terms[i]
		name, isColumn := one.expr.Column()
		if !isColumn || fields == 1 {
			continue
		}
		column, ok := t.Column(name)
		if isScope(name) || ok && column.References != "" {
			one.scope = true
			fields--
		}
	}
}

// parts are the terms of the scope, or the fields.
func (r *rule) parts(scope bool) []term {
	return slices.DeleteFunc(slices.Clone(r.terms), func(one term) bool { return one.scope != scope })
}

// lines is the rule in YAML.
func (r *rule) lines() []string {
	lines := []string{
		"- name: " + r.name,
		"  says: " + quoted(r.sentence()),
		"  table: " + quoted(r.table),
	}
	if scope := r.parts(true); len(scope) > 0 {
		lines = append(lines, "  scope: ["+written(scope)+"]")
	} else {
		lines = append(lines, "  scope: global")
	}
	lines = append(lines, "  fields: ["+written(r.parts(false))+"]")
	if r.nulls != "" {
		lines = append(lines, "  nulls: "+r.nulls)
	}
	if len(r.except) > 0 {
		lines = append(lines, "  except: ["+joined(r.except)+"]")
	}
	if r.index != r.name && r.index != "" {
		lines = append(lines, "  index: "+quoted(r.index))
	}
	return lines
}

func written(terms []term) string {
	return strings.Join(texts.Of(terms, func(one term) string {
		if one.raw != "" {
			return one.text
		}
		return quoted(one.text)
	}), ", ")
}

// quoted writes a text for YAML: plain if that is safe, else in double quotes.
// They have JSON's escapes.
func quoted(s string) string {
	safe := s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r != '_' && r != ' ' && r != '.' && r != '(' && r != ')' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	}) && strings.TrimSpace(s) == s && (s[0] < '0' || s[0] > '9') && !slices.Contains([]string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}, strings.ToLower(s))
	if safe {
		return s
	}
	return strconv.Quote(s)
}

func joined(names []string) string { return strings.Join(texts.Of(names, quoted), ", ") }

// sentence guesses what the rule says, in plain words.
func (r *rule) sentence() string {
	var what, within []term
	for _, one := range r.terms {
		if one.scope || one.isPeriod() {
			within = append(within, one)
		} else {
			what = append(what, one)
		}
	}
	if len(what) == 0 {
		what, within = within, nil
	}
	text := "One " + words(what)
	if len(within) > 0 {
		return text + " per " + words(within) + "."
	}
	_, bare, qualified := strings.Cut(r.table, ".")
	if !qualified {
		bare = r.table
	}
	return text + " in all of " + strings.ReplaceAll(bare, "_", " ") + "."
}

func words(terms []term) string {
	items := texts.Of(terms, func(one term) string { return one.words() })
	if n := len(items) - 1; n > 0 {
		return strings.Join(items[:n], ", ") + " and " + items[n]
	}
	return strings.Join(items, "")
}

// words says a term in plain words: tenant for tenant_id, year of issued on for
// year(issued_on).
func (t *term) words() string {
	plain := func(name string) string {
		name = strings.ReplaceAll(strings.ToLower(name), "_", " ")
		if short := strings.TrimSuffix(name, " id"); t.scope && short != "" {
			return short
		}
		return name
	}
	text := strings.Join(texts.Of(t.columns, plain), " and ")
	if function, _, _ := t.expr.Argument(); t.isPeriod() {
		return function + " of " + text
	}
	return text
}

// isPeriod reports whether a term is a time within which people count.
func (t *term) isPeriod() bool {
	function, _, _ := t.expr.Argument()
	return slices.Contains([]string{"year", "month", "day", "hour", "date"}, function)
}

// freeName makes an unused name from that of the index, or from table and
// columns where the server named the index.
func (s *sketch) freeName(index, table string, terms []term) string {
	name := machineName(index)
	byServer := len(terms) > 0 && len(terms[0].columns) > 0 && strings.EqualFold(index, terms[0].columns[0]) // MySQL
	if index == "" || byServer || strings.EqualFold(index, "primary") || strings.HasPrefix(index, "sqlite_autoindex_") {
		name = table
		for _, one := range terms {
			name += "_" + strings.Join(one.columns, "_")
		}
		name = machineName(name)
	}
	free, n := name, 1
	for slices.ContainsFunc(s.entries, func(e entry) bool { return e.name == free }) {
		n++
		tail := "_" + strconv.Itoa(n)
		free = name[:min(len(name), maxName-len(tail))] + tail
	}
	return free
}

// maxName bounds the name of a rule.
const maxName = 63

// machineName makes a name of lower-case letters, digits and underscores.
func machineName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return '_'
	}, strings.ToLower(name))
	name = strings.Trim(name, "_")
	if name == "" || name[0] < 'a' || name[0] > 'z' {
		name = "rule_" + name
	}
	return name[:min(len(name), maxName)]
}

// columnTerm is the term that is a column.
func columnTerm(t *catalog.Table, name string) term {
	column, _ := t.Column(name)
	expr := folded(t, name, column.Folding)
	return term{expr: expr, text: expr.String(), columns: []string{name}, nullable: len(t.Nullable([]string{name})) > 0}
}
