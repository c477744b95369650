package dedupe

import (
	"context"
	"database/sql"
	_ "embed" // the statement below
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/texts"
)

//go:embed sql/sqlite_guard_ledger.sql
var sqliteGuardLedger string

// sqliteKeeper has triggers that look at rows when they are stored. There is one writer, so that nothing is locked.
type sqliteKeeper struct{}

// maxHops is the number of merges over which a trigger follows a row. The end of a run moves what is further away.
const maxHops = 8

func (sqliteKeeper) ledger() string { return sqliteGuardLedger }

func (sqliteKeeper) hasGuards() string {
	return "SELECT count(*) > 0 FROM main.sqlite_schema WHERE name = 'semel_dedupe_guard'"
}

func (sqliteKeeper) lookup(ctx context.Context, g *guarding) error { return g.index(ctx) }

func (sqliteKeeper) brief() []string         { return nil }
func (sqliteKeeper) resetTimeouts() []string { return nil }

// quiet holds outside of the transactions of semel dedupe.
const quiet = "NOT EXISTS (SELECT 1 FROM semel_dedupe_now)"

func (k sqliteKeeper) objects(g *guarding) []object {
	root := g.tables[0]
	trigger := func(name, when, condition, body string) object {
		return object{name: g.base + name, table: root.name, trigger: "CREATE TRIGGER " + quote(g.base+name) + " AFTER " + when + " ON " + quote(root.catalog.Name) + " WHEN " + quiet + condition +
			" BEGIN -- " + g.comment + "\n" + body + "; END"}
	}
	changed := ""
	if g.grouping.Columns != nil {
		var tests []string
		for _, name := range g.grouping.Columns {
			if c, ok := root.catalog.Column(name); ok {
				tests = append(tests, "OLD."+quote(c.Name)+" IS NOT NEW."+quote(c.Name))
			}
		}
		changed = " AND (" + strings.Join(tests, " OR ") + ")"
	}
	all := []object{trigger("_insert", "INSERT", "", k.refuse(g, "")), trigger("_update", "UPDATE", changed, k.refuse(g, " AND NOT EXISTS (SELECT 1 FROM ("+k.key(g, "OLD")+") AS o WHERE "+
		pairs(numbered("o", "semel_e", len(g.grouping.Terms)), numbered("n", "semel_e", len(g.grouping.Terms)), " IS ", " AND ")+")"))}
	for _, e := range g.edges {
		if e.parent.marks {
			all = append(all, k.redirect(g, e, "INSERT", "_i"), k.redirect(g, e, "UPDATE OF "+list(texts.Of(e.cols, quote)), "_u"))
		}
	}
	return all
}

// key selects the terms of the row NEW or OLD, if it counts.
func (sqliteKeeper) key(g *guarding, row string) string {
	root := g.tables[0]
	var columns []string
	for _, c := range root.catalog.Columns {
		columns = append(columns, row+"."+quote(c.Name)+" AS "+quote(c.Name))
	}
	return "SELECT " + list(as(g.grouping.Terms, "semel_e")) + " FROM (SELECT " + list(columns) + ") AS " + quote(root.catalog.Name) + whereOf(g.grouping.Where)
}

func whereOf(condition string) string {
	if condition == "" {
		return ""
	}
	return " WHERE " + condition
}

// refuse ends the statement when another row has the key.
func (k sqliteKeeper) refuse(g *guarding, unless string) string {
	root := g.tables[0]
	name := quote(root.catalog.Name)
	tests := pairsOf(g.grouping.Terms, numbered("n", "semel_e", len(g.grouping.Terms)))
	if g.grouping.Where != "" {
		tests = append(tests, g.grouping.Where)
	}
	tests = append(tests, "("+pairs(of(name, root.id), of("NEW", root.id), " IS NOT ", " OR ")+")")
	return "SELECT RAISE(ABORT, " + g.literal("UNIQUE constraint failed: index '"+g.grouping.Index+"'") + ") FROM (" + k.key(g, "NEW") + ") AS n WHERE EXISTS (SELECT 1 FROM " + name + " WHERE " +
		strings.Join(tests, " AND ") + ")" + unless
}

// redirect lets a new reference to a merged row refer to the row that has its place, step by step.
func (sqliteKeeper) redirect(g *guarding, e *edge, when, end string) object {
	name := g.redirectName(e) + end
	child, parent := quote(e.child.catalog.Name), quote(e.parent.catalog.Name)
	merged := e.refers("p", child) + " AND p." + quote(mergedInto) + " IS NOT NULL"
	values := texts.Of(e.refs, func(ref string) string {
		return "(SELECT q." + quote(ref) + " FROM " + parent + " AS p JOIN " + parent + " AS q ON " + equal(of("q", e.parent.id), []string{"p." + quote(mergedInto)}) + " WHERE " + merged + ")"
	})
	where := ""
	if e.where != "" {
		where = " AND (" + e.where + ")"
	}
	step := "UPDATE " + child + " SET " + pairs(texts.Of(e.cols, quote), values, " = ", ", ") + " WHERE " + equal(of(child, e.child.id), of("NEW", e.child.id)) + e.alive(child) + where +
		" AND EXISTS (SELECT 1 FROM " + parent + " AS p JOIN " + parent + " AS q ON " + equal(of("q", e.parent.id), []string{"p." + quote(mergedInto)}) + " WHERE " + merged + ")"
	return object{name: name, table: e.child.name, trigger: "CREATE TRIGGER " + quote(name) + " AFTER " + when + " ON " + child + " WHEN " + quiet + " BEGIN -- " + g.comment + "\n" +
		strings.Repeat(step+"; ", maxHops) + "END"}
}

func (k sqliteKeeper) allowed(ctx context.Context, g *guarding) error {
	for _, one := range k.objects(g) {
		var table string
		//semel:safe it only reads
		err := g.each(ctx, "SELECT tbl_name FROM main.sqlite_schema WHERE name = $1 AND instr(coalesce(sql, ''), $2) = 0", []any{one.name, g.comment}, func(rows *sql.Rows) error { return rows.Scan(&table) })
		if err != nil {
			return err
		}
		if table != "" {
			return refuse("%s has a trigger %s already, which does not belong to this guard (rename or drop it)", table, one.name)
		}
	}
	return nil
}

func (sqliteKeeper) owned(context.Context, *guarding) error { return nil }

// create makes a trigger anew.
func (sqliteKeeper) create(ctx context.Context, g *guarding, one object) error {
	return g.execAll(ctx, []string{"DROP TRIGGER IF EXISTS " + quote(one.name), one.trigger})
}

func (sqliteKeeper) triggers(ctx context.Context, s *dbSession, one *Guard) (all []string, err error) {
	//semel:safe it only reads
	err = s.each(ctx, "SELECT tbl_name, name FROM main.sqlite_schema WHERE type = 'trigger' AND instr(sql, $1) > 0 ORDER BY tbl_name, name", []any{" -- " + guardComment(one.Name, one.Table) + "\n"}, func(rows *sql.Rows) error {
		var table, name string
		err := rows.Scan(&table, &name)
		all = append(all, "main."+table+": "+name)
		return err
	})
	return all, err
}

func (k sqliteKeeper) drop(ctx context.Context, s *dbSession, one *Guard) error {
	all, err := k.triggers(ctx, s, one)
	if err != nil {
		return err
	}
	slices.Reverse(all)
	return s.briefly(ctx, "remove the guard", func() error {
		for _, trigger := range all {
			_, name, _ := strings.Cut(trigger, ": ")
			//semel:safe the second run finds no trigger
			if _, err := s.exec(ctx, "DROP TRIGGER IF EXISTS "+quote(name)); err != nil {
				return err
			}
		}
		return k.dropIndex(ctx, s, one.Table, guardName(one.Name)+"_index", false)
	})
}

func (sqliteKeeper) dropIndex(ctx context.Context, s *dbSession, table, name string, invalid bool) error {
	if invalid {
		return nil // there are none
	}
	var there bool
	err := s.one(ctx, "SELECT count(*) > 0 FROM main.sqlite_schema WHERE type = 'index' AND name = $1 AND 'main.' || tbl_name = $2", []any{name, table}, &there)
	if err == nil && there {
		_, err = s.exec(ctx, "DROP INDEX IF EXISTS "+quote(name))
	}
	return err
}

func (sqliteKeeper) relation(ctx context.Context, s *dbSession, t *table, name string) (what string, err error) {
	err = s.each(ctx, "SELECT CASE type WHEN 'index' THEN 'an index of ' || tbl_name ELSE 'a ' || type END FROM main.sqlite_schema WHERE lower(name) = lower($1) AND (type <> 'index' OR tbl_name <> $2)",
		[]any{name, t.catalog.Name}, func(rows *sql.Rows) error { return rows.Scan(&what) })
	return what, err
}

func (sqliteKeeper) notes(context.Context, *guarding) ([]string, error) { return nil, nil }
