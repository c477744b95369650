package dedupe

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/rules/expression"
	"github.com/semel-dev/semel/internal/rules/sqltext"
	"github.com/semel-dev/semel/internal/texts"
	"github.com/semel-dev/semel/schema/catalog"
	"github.com/semel-dev/semel/schema/internal/serversql"
)

// A unique key of a child says one of two things. With more than the reference in it, such as (invoice, line), two rows with
// the same values are the same thing, and are merged. Over the reference alone, such as (person) WHERE is_primary, it says that
// each parent has at most one: two of them need not be the same. Their group is refused, unless the request yields.

// yielding says which of several rows keeps the only place at a parent, and what happens to the others.
type yielding struct {
	// keep is keepWinner, oldest or newest.
	keep string
	// columns of the others get these values, in SQL; without columns, the others are merged into the row that keeps the place.
	columns, values []string
}

// keepWinner lets the row of the winner keep the place, or the first one where the winner has none.
const keepWinner = "winner"

// yieldings parses the request's, by the names of tables as they are written.
func (q *Request) yieldings(d dialect.Dialect) (map[string]*yielding, error) {
	all := map[string]*yielding{}
	for _, text := range q.Yields {
		table, how, _ := strings.Cut(text, "=")
		keep, sets, hasSets := strings.Cut(how, ":")
		y := &yielding{keep: strings.TrimSpace(keep)}
		if hasSets {
			tokens, err := sqltext.Scan(d, sets) // a text in quotes may hold a semicolon
			if err != nil {
				return nil, fmt.Errorf("child %q: what follows the colon is not SQL: %w", text, err)
			}
			for _, one := range sqltext.Split(tokens, ";") {
				column, value, ok := strings.Cut(sqltext.Source(sets, one), "=")
				if !ok {
					return nil, fmt.Errorf("child %q: write COLUMN=VALUE after the colon, several with ; between them", text)
				}
				y.columns, y.values = append(y.columns, strings.TrimSpace(column)), append(y.values, strings.TrimSpace(value))
			}
		}
		if table == "" || !slices.Contains([]string{keepWinner, "oldest", "newest"}, y.keep) || slices.Contains(y.columns, "") || slices.Contains(y.values, "") {
			return nil, fmt.Errorf("child %q: write TABLE= and winner, oldest or newest, for the row that stays as it is, and after a colon COLUMN=VALUE for the others; they are merged into it without", text)
		}
		if table = strings.TrimSpace(table); all[table] != nil {
			return nil, fmt.Errorf("child: %s is there twice: name the columns of one with ; between them", table)
		}
		all[table] = y
	}
	return all, nil
}

// yields gives tables what the request says of their rows.
func (v *surveyor) yields() error {
	all, err := v.site.request.yieldings(v.schema.Dialect)
	if err != nil {
		return err
	}
	for name, y := range all {
		c, err := v.find(name)
		if err != nil {
			return fmt.Errorf("child: %w", err)
		}
		for i, name := range y.columns {
			found, ok := c.Column(name)
			if !ok {
				return fmt.Errorf("child: %w", c.NoColumn(name))
			}
			y.columns[i] = found.Name
		}
		v.yielding[fullName(c)] = y
	}
	return nil
}

// checkYields refuses those that cannot be followed.
func (v *surveyor) checkYields() error {
	for name, y := range v.yielding {
		t := v.byName[name]
		if t == nil || !t.crowds() {
			return fmt.Errorf("child: no unique key of %s is over a reference alone: leave it out", name)
		}
		if t.aged() && len(overlap(t.id, t.moves)) == len(t.id) { // another would take the key of one that is deleted, which an undo gives back
			return fmt.Errorf("child: rows of %s are named by the reference that moves, and only the winner's can stay: write %s=%s", name, t.catalog.Name, keepWinner)
		}
		if len(y.columns) > 0 && len(overlap(t.id, t.moves)) > 0 {
			return fmt.Errorf("child: rows of %s are named by the reference that moves, and can only be merged: leave out the colon and what follows", name)
		}
		for _, column := range y.columns {
			switch {
			case t.column(column).Generated != "":
				return fmt.Errorf("child: %s of %s is generated", column, name)
			case slices.Contains(slices.Concat(t.id, t.moves, t.refs), column):
				return fmt.Errorf("child: %s of %s is a key or a reference, which stays", column, name)
			}
		}
	}
	return nil
}

// crowds reports whether rows of the table can meet in a key over a reference alone.
func (t *table) crowds() bool {
	return slices.ContainsFunc(t.keys, func(k *key) bool { return k.alone })
}

// sets are the columns that change in rows that yield.
func (t *table) sets() []string {
	if t.yields == nil {
		return nil
	}
	return t.yields.columns
}

// merging reports whether rows with the same values of the key are merged.
func (t *table) merging(k *key) bool {
	return !k.alone || t.yields != nil && len(t.yields.columns) == 0
}

// merges reports whether rows of the table can be merged because they become the same.
func (t *table) merges() bool { return slices.ContainsFunc(t.keys, t.merging) }

// aged reports whether the age of rows decides which one keeps its place.
func (t *table) aged() bool { return t.yields != nil && t.yields.keep != keepWinner }

// precedence orders the rows of a key's class in v, the one that keeps the place first.
func (t *table) precedence(k *key) []string {
	n := len(t.id)
	own, lost := numbered("v", "semel_o", n), t.differ(numbered("v", "semel_w", n), numbered("v", "semel_o", n))
	if !k.alone || !t.aged() {
		return append([]string{"v.semel_moved", lost}, own...)
	}
	if t.yields.keep == "newest" {
		own = descending(own)
	}
	terms := []string{lost}
	if t.created() != "" {
		age := "v.semel_c1"
		terms = append(terms, age+" IS NULL", age)
		if t.yields.keep == "newest" {
			terms[len(terms)-1] = age + " DESC"
		}
	}
	return append(terms, own...)
}

// yield gives the rows of a fate that do not keep their place their new values.
func (t *table) yield(k *key) string {
	n := len(t.id)
	own := numbered("v", "semel_o", n)
	places := "SELECT " + list(as(own, "o")) + ", row_number() OVER (PARTITION BY " + list(numbered("v", "semel_e", len(k.parts))) + " ORDER BY " + list(t.precedence(k)) + ") AS place FROM (" + t.future(k) + ") AS v WHERE NOT " +
		t.differ(numbered("v", "semel_w", n), own)
	return t.update(t.fate(), "f", t.at("", "n", t.sets()), t.yields.values, "("+places+") AS p", equal(t.oldID("f"), numbered("p", "o", n))+" AND p.place > 1")
}

// yielded holds for the fate f of a row that yields.
func (t *table) yielded() string {
	return t.differ(t.at("f", "n", t.sets()), t.at("f", "o", t.sets())) + " AND NOT " + t.lost("f")
}

// crowded selects the rows of which a key over a reference alone allows one: the group and the key.
func (t *table) crowded(k *key) string {
	n := len(t.id)
	own := numbered("v", "semel_o", n)
	rows := "SELECT v.semel_grp, v.semel_moved, " + list(as(own, "o")) + ", count(*) OVER (PARTITION BY " + list(numbered("v", "semel_e", len(k.parts))) + ") AS n FROM (" + t.future(k) + ") AS v WHERE NOT " +
		t.differ(numbered("v", "semel_w", n), own)
	moved := "v.semel_moved"
	if len(t.sets()) > 0 { // one that yields may be the row that was met
		moved = "1 = 1"
	}
	return "SELECT v.semel_grp, " + t.key(numbered("v", "o", n)) + " FROM (" + rows + ") AS v WHERE v.n > 1 AND " + moved + " ORDER BY v.semel_grp, " + list(numbered("v", "o", n))
}

// yieldings are the statements that change rows that yield. They come before references move: the place is free then.
func (s *site) yieldings() (all []write) {
	for _, t := range s.tables {
		if names := t.sets(); len(names) > 0 {
			due := t.yielded()
			all = append(all, write{t, t.update(t.path, "t", texts.Of(names, quote), t.at("f", "n", names), t.fate()+" AS f", equal(of("t", t.id), t.oldID("f"))+" AND "+due), due})
		}
	}
	return all
}

// auditYielded keeps what rows had that yield.
func (t *table) auditYielded() string {
	names := t.sets()
	return t.audit(fmt.Sprint(stepYielded)) + t.key(t.oldID("f")) + ", NULL, NULL, " + t.row(names, t.at("f", "o", names)) + ", " + t.row(names, t.at("f", "n", names)) + " FROM " + t.fate() + " AS f WHERE " + t.yielded()
}

// settle lets rows yield of which a parent may have one. It returns how much changed.
func (r *runner) settle(ctx context.Context) (all int64, err error) {
	for _, t := range r.tables {
		for _, k := range t.keys {
			if !k.alone || !r.met[t] {
				continue
			}
			//semel:safe a batch is one transaction, which ends with the states that keep it from running again
			if _, err := r.meet(ctx, t, t.insertMet(k)); err != nil {
				return 0, err
			}
			n, err := r.settleKey(ctx, t, k)
			if err != nil {
				return 0, err
			}
			all += n
		}
	}
	return all, nil
}

func (r *runner) settleKey(ctx context.Context, t *table, k *key) (n int64, err error) {
	switch {
	case t.yields == nil:
		return 0, nil
	case t.merging(k):
		n, err = r.exec(ctx, t.collide(k))
		if err == nil && n > 0 {
			err = r.compressAll(ctx, t)
		}
		return n, err
	}
	var before, after int64
	counted := "SELECT count(*) FROM " + t.fate() + " AS f WHERE " + t.yielded()
	if err := r.one(ctx, counted, nil, &before); err != nil {
		return 0, err
	}
	if _, err := r.exec(ctx, t.yield(k)); err != nil {
		return 0, fmt.Errorf("child %s: %w", t.name, err)
	}
	err = r.one(ctx, counted, nil, &after)
	return max(after-before, 0), err
}

// crowds refuses the groups of which a parent would have two rows where it may have one.
func (r *runner) crowds(ctx context.Context) error {
	reasons := map[int64]string{}
	for _, t := range r.tables {
		for _, k := range t.keys {
			if !k.alone || !r.met[t] {
				continue
			}
			err := r.collectReasons(ctx, reasons, t.crowded(k), func(row string) string {
				return fmt.Sprintf("the row %s of %s would be one of several where the unique key %s allows one for each %s (%s)", row, t.name, k.name, strings.Join(k.moves, ", "), t.yieldHint())
			})
			if err != nil {
				return err
			}
		}
	}
	return refusedFor(reasons)
}

// yieldHint says what to declare about rows of which a parent may have one.
func (t *table) yieldHint() string {
	if t.yields != nil {
		return "what --child sets does not take the others out of the key"
	}
	return "plan with --child " + t.catalog.Name + "=winner, oldest or newest: that row stays, and the others are merged into it, or with :COLUMN=VALUE they also stay, and get that value"
}

// alone reports whether a unique index holds no more than a reference, so that it says how many rows may refer, and not which are
// the same. What is the same in all rows that it compares tells none apart, and neither do truth values, nor what a child
// only repeats of its parent. Where an expression cannot be read, it is alone: rows are not merged by guess.
func (v *surveyor) alone(t *table, x *catalog.Index) bool {
	fixed := v.fixed(t, x.Where)
	var tells []string
	for i := range x.Parts {
		expr, text, counted := t.catalog.Compared(v.schema.Dialect, &x.Parts[i])
		join(&fixed, constants(counted))
		switch {
		case !expr.IsZero():
			if !slices.Contains(expr.Functions(), "is_null") {
				join(&tells, expr.Columns())
			}
		case counted == nil && !branches.MatchString(text):
			join(&tells, t.named(text))
		}
	}
	tells = slices.DeleteFunc(tells, func(name string) bool { return slices.Contains(fixed, name) || t.truth(name) })
	if len(tells) == 0 {
		return true
	}
	return slices.ContainsFunc(v.links, func(l link) bool {
		if l.child != t.name || len(overlap(l.cols, t.moves)) == 0 {
			return false
		}
		of := slices.Concat(l.cols, v.fixed(t, l.where))
		return len(overlap(l.cols, tells)) > 0 && !slices.ContainsFunc(tells, func(name string) bool { return !slices.Contains(of, name) && !v.repeats(&l, name) })
	})
}

// branches finds expressions whose value may be another one than their columns'.
var branches = regexp.MustCompile(`(?i)\b(case|if|iif|nullif|decode)\b`)

// named are the columns that an expression names.
func (t *table) named(text string) (names []string) {
	for _, c := range t.catalog.Columns {
		if regexp.MustCompile(`(?i)(^|\W)` + regexp.QuoteMeta(c.Name) + `($|\W)`).MatchString(text) {
			names = append(names, c.Name)
		}
	}
	return names
}

// fixed are the columns that are the same in all rows of a condition.
func (v *surveyor) fixed(t *table, where string) (names []string) {
	if p, ok := serversql.Predicate(v.schema.Dialect, where); ok {
		return constants(p)
	}
	for _, c := range t.catalog.Columns {
		if regexp.MustCompile(`(?i)(^|\W)` + regexp.QuoteMeta(c.Name) + "[\"`]?\\)*(::[a-z ]+\\)*)?\\s*=\\s*\\(*['\\d]").MatchString(where) {
			names = append(names, c.Name)
		}
	}
	return names
}

// constants are the columns of which rows that count have one value.
func constants(p expression.Predicate) (names []string) {
	for _, c := range p {
		switch c.Test {
		case expression.Null, expression.True, expression.False, expression.Equal:
			names = append(names, c.Column)
		case expression.NotNull, expression.NotTrue, expression.NotFalse, expression.NotEqual, expression.Differs:
		}
	}
	return names
}

// truth reports whether a column says only that something is so, by its type or its name: is_primary, or deleted_at, which most
// rows have alike.
func (t *table) truth(name string) bool {
	c, words := t.column(name), wordsOf(name)
	if len(words) > 1 && slices.Contains([]string{"is", "has"}, words[0]) || slices.ContainsFunc(words, func(word string) bool { return slices.Contains(deletions, word) }) {
		return true
	}
	return slices.Contains([]string{"bool", "boolean"}, c.Base) || slices.Contains([]string{"tinyint(1)", "bit(1)"}, strings.ToLower(c.Type))
}

// deletions are the words by which a column says that a row does not count any more.
//
//nolint:gochecknoglobals // constants
var deletions = []string{"deleted", "archived", "removed", "discarded", "trashed"}

// repeats reports whether a child's column has the value of its parent's of that name, such as the tenant's: it is a tenant, or a
// reference that is in a unique key of the parent, or in the rule.
func (v *surveyor) repeats(l *link, name string) bool {
	i := slices.IndexFunc(v.schema.Tables, func(t catalog.Table) bool { return fullName(&t) == l.parent })
	if i < 0 {
		return false
	}
	parent := &v.schema.Tables[i]
	if _, both := parent.Column(name); !both {
		return false
	}
	words := wordsOf(name)
	if slices.Contains(words, "tenant") {
		return true
	}
	keyed := l.parent == v.root.name && slices.Contains(v.site.request.Terms, quote(name)) || slices.ContainsFunc(parent.Indexes, func(x catalog.Index) bool {
		return x.Unique && len(x.Parts) > 1 && slices.ContainsFunc(x.Parts, func(p catalog.Part) bool { return p.Column == name })
	})
	return keyed && len(words) > 1 && isID(words[len(words)-1])
}
