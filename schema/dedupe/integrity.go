package dedupe

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/texts"
)

// MariaDB checks references row by row, and SQLite runs ON DELETE in the middle of a statement: neither allows the rows of a
// merge to move in one step. There, references are not checked while rows move. These queries find what is broken then, of the
// rows that moved and of those that refer to them, in the same transaction.

// missing holds where a reference of the row names no row of the parent.
func (l *link) missing(row string) string {
	cols := of(row, l.cols)
	return pairs(cols, texts.Of(cols, func(string) string { return "" }), " IS NOT NULL", " AND ") +
		" AND NOT EXISTS (SELECT 1 FROM " + l.path + " AS p WHERE " + equal(of("p", l.refs), cast(cols, l.casts)) + ")"
}

// lost are the queries for references that a merge broke: the group, and the key of a row.
func (r *runner) lost(l *link) (queries []string) {
	if t := r.named(l.child); r.met[t] && len(overlap(l.cols, t.moves)) > 0 {
		queries = append(queries, "SELECT f.grp, "+t.key(of("t", t.id))+" FROM "+t.fate()+" AS f JOIN "+t.path+" AS t ON "+equal(of("t", t.id), t.newID("f"))+
			" WHERE "+t.moved()+" AND "+l.missing("t"))
	}
	if t := r.named(l.parent); r.met[t] && t.deep && len(overlap(l.refs, t.refs)) == len(l.refs) {
		gone := t.differ(t.at("f", "n", l.refs), t.at("f", "o", l.refs))
		if !t.marks {
			gone += " OR " + t.lost("f")
		}
		queries = append(queries, "SELECT f.grp, "+t.key(t.oldID("f"))+" FROM "+t.fate()+" AS f JOIN "+l.source+" AS c ON "+equal(t.at("f", "o", l.refs), cast(of("c", l.cols), l.casts))+
			" WHERE ("+gone+") AND "+l.missing("c"))
	}
	return queries
}

func (s *site) named(name string) *table {
	if i := slices.IndexFunc(s.tables, func(t *table) bool { return t.name == name }); i >= 0 {
		return s.tables[i]
	}
	return nil
}

// referred refuses the groups of which a reference names no row.
func (r *runner) referred(ctx context.Context) error {
	reasons := map[int64]string{}
	for i := range r.links {
		l := &r.links[i]
		for _, query := range r.lost(l) {
			err := r.collectReasons(ctx, reasons, query, func(row string) string {
				return fmt.Sprintf("the reference %s of %s to %s would name no row: the row %s moves, and is not alone in it", strings.Join(l.cols, ", "), l.child, l.parent, row)
			})
			if err != nil {
				return err
			}
		}
	}
	return refusedFor(reasons)
}

// broken refuses an undo after which a reference names no row: of rows that came back, and of rows that refer to a key that a
// row gave up.
func (u *undoer) broken(ctx context.Context, audit string) error {
	for i := range u.references {
		l := &u.references[i]
		for _, t := range u.tables {
			for _, query := range u.brokenBy(audit, t, l) {
				if err := u.none(ctx, query, t, l); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// brokenBy are the queries for rows of the table for which the reference names no row.
func (u *undoer) brokenBy(audit string, t *trail, l *link) (queries []string) {
	rows := "(" + audit + " AND kept IS NULL AND tbl = " + u.literal(t.name) + ") AS a JOIN " + t.path + " AS t ON " + equal(of("t", t.id), t.back())
	if t.name == l.child && (t.deleted || len(overlap(l.cols, t.moved)) > 0) {
		queries = append(queries, "SELECT "+t.key(of("t", t.id))+" FROM "+rows+" WHERE "+l.missing("t"))
	}
	if t.name == l.parent && len(overlap(l.refs, t.moved)) > 0 {
		refs := texts.Of(l.refs, func(name string) string {
			if slices.Contains(t.moved, name) {
				return "CASE WHEN a.step = 1 THEN " + t.past("a.new", name) + " END"
			}
			return "t." + quote(name)
		})
		queries = append(queries, "SELECT "+t.key(of("t", t.id))+" FROM "+rows+" JOIN "+l.source+" AS c ON "+equal(refs, cast(of("c", l.cols), l.casts))+" WHERE "+l.missing("c"))
	}
	return queries
}

// none refuses the undo when the query finds a row of the table.
func (u *undoer) none(ctx context.Context, query string, t *trail, l *link) error {
	var row string
	err := u.one(ctx, query+" LIMIT 1", nil, &row)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return err
	}
	return refuse("the row %s of %s cannot come back: the reference %s of %s to %s would name no row (restore that row, or delete what refers to it, and undo again)", row, t.name, strings.Join(l.cols, ", "), l.child, l.parent)
}

// back is the identity of a row of the audit after it was restored.
func (t *trail) back() []string {
	all := t.unkey(`a."key"`)
	for i, name := range t.id {
		if slices.Contains(t.moved, name) {
			all[i] = "CASE WHEN a.step = 1 THEN " + t.past("a.old", name) + " ELSE " + all[i] + " END"
		}
	}
	return all
}
