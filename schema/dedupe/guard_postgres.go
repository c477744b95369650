package dedupe

import (
	"context"
	"database/sql"
	_ "embed" // the statements below
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"github.com/semel-dev/semel/internal/texts"
)

//go:embed sql/postgres_guard.sql
var guardText string

//go:embed sql/postgres_redirect.sql
var redirectText string

//go:embed sql/postgres_guard_ledger.sql
var guardLedgerText string

//go:embed sql/postgres_guard_triggers.sql
var guardTriggersText string

// postgresKeeper has functions that triggers call.
type postgresKeeper struct{}

func (postgresKeeper) ledger() string { return guardLedgerText }

func (postgresKeeper) hasGuards() string {
	return "SELECT to_regclass('semel_dedupe_guard') IS NOT NULL"
}

func (postgresKeeper) lookup(ctx context.Context, g *guarding) error { return g.index(ctx) }

func (postgresKeeper) brief() []string {
	return []string{"SET LOCAL lock_timeout = '" + briefLock + "'"}
}

func (postgresKeeper) resetTimeouts() []string { return []string{"RESET lock_timeout"} }

const (
	// guardLocks is the number of keys that a transaction locks before it locks the rule: the server has room for 64 locks for
	// each connection that it allows, for all transactions together.
	guardLocks = 500
	// briefLock bounds how long others wait behind a statement that waits for its lock.
	briefLock = "500ms"
)

func (postgresKeeper) objects(g *guarding) []object {
	root := g.tables[0]
	function := g.sibling(root, g.base)
	trigger := func(name, when, condition string) object {
		return object{g.base + name, root.name, function, g.guardFunction(function), "CREATE TRIGGER " + quote(g.base+name) + " AFTER " + when + " ON " + root.path + " FOR EACH ROW" + condition + " EXECUTE FUNCTION " + function + "()"}
	}
	all := []object{trigger("_insert", "INSERT", ""), trigger("_update", "UPDATE", g.changed())}
	for _, e := range g.edges {
		if e.parent.marks {
			all = append(all, g.redirect(e))
		}
	}
	return all
}

func (g *guarding) sibling(t *table, name string) string {
	return quote(t.catalog.Schema) + "." + quote(name)
}

// changed is the condition under which an update can make a row the same as another one.
func (g *guarding) changed() string {
	if g.grouping.Columns == nil {
		return ""
	}
	var tests []string
	for _, name := range g.grouping.Columns {
		if c, ok := g.tables[0].catalog.Column(name); ok {
			tests = append(tests, "OLD."+quote(c.Name)+" IS DISTINCT FROM NEW."+quote(c.Name))
		}
	}
	return " WHEN (" + strings.Join(tests, " OR ") + ")"
}

// guardFunction is the function that refuses new duplicates.
func (g *guarding) guardFunction(name string) string {
	root, n := g.tables[0], len(g.grouping.Terms)
	values := numbered("semel_new", "e", n)
	hash := "{rule}"
	if g.hashes {
		hash = "hash_record_extended(ROW(" + list(g.grouping.Terms) + "), {rule})"
	}
	return strings.NewReplacer("{rule}", g.lockNumber()).Replace(strings.NewReplacer(
		"{function}", name, "{path}", g.path, "{terms}", list(as(g.grouping.Terms, "e")), "{hash}", hash, "{alias}", quote(root.catalog.Name), "{where}", whereOf(g.grouping.Where),
		"{unchanged}", pairs(numbered("semel_old", "e", n), values, " IS NOT DISTINCT FROM ", " AND "), "{name}", g.literal(g.rule.Name), "{most}", strconv.Itoa(guardLocks),
		"{search}", g.search(values), "{index}", g.literal(g.grouping.Index), "{key}", g.literal(strings.Join(g.grouping.Terms, ", ")), "{values}", list(values),
		"{schema}", g.literal(root.catalog.Schema), "{table}", g.literal(root.catalog.Name),
	).Replace(guardText))
}

// lockNumber is that of the rule's advisory lock.
func (g *guarding) lockNumber() string {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(g.comment))                           // it never returns an error
	return strconv.FormatInt(int64(sum.Sum64()), 10) + "::bigint" //nolint:gosec // any number of 64 bits does.
}

// search looks for another row with the key, by an index: = finds no NULL there, and IS NOT DISTINCT FROM uses none.
func (g *guarding) search(values []string) string {
	root := g.tables[0]
	var tests []string
	if g.grouping.Where != "" {
		tests = append(tests, g.grouping.Where)
	}
	mine := of("NEW", root.id)
	query := func(tests, mine []string) string {
		return "SELECT FROM " + root.path + " AS " + quote(root.catalog.Name) + " WHERE " + strings.Join(append(tests, g.differ(of(quote(root.catalog.Name), root.id), mine)), " AND ")
	}
	if !slices.Contains(g.grouping.Nulls, true) {
		return "semel_same := EXISTS (" + query(append(tests, pairsOf(g.grouping.Terms, values)...), mine) + ");"
	}
	parameter := 0
	next := func() string { parameter++; return "$" + strconv.Itoa(parameter) }
	var choices []string
	for i, term := range g.grouping.Terms {
		same := g.literal(" AND (" + term + ") = " + next())
		if g.grouping.Nulls[i] {
			same = "CASE WHEN " + values[i] + " IS NULL THEN " + g.literal(" AND ("+term+") IS NULL") + " ELSE " + same + " END"
		}
		choices = append(choices, same)
	}
	ids := texts.Of(mine, func(string) string { return next() })
	return "EXECUTE " + g.literal("SELECT EXISTS ("+query(tests, ids)) + " || " + strings.Join(choices, " || ") + " || ')' INTO semel_same USING " + list(values, mine) + ";"
}

func pairsOf(terms, values []string) []string {
	all := make([]string, len(terms))
	for i := range terms {
		all[i] = "(" + terms[i] + ") = " + values[i]
	}
	return all
}

// redirect is the trigger that lets new references to merged rows refer to the rows that have their place.
func (g *guarding) redirect(e *edge) object {
	name := g.redirectName(e)
	function := g.sibling(e.child, name)
	skip := ""
	if e.live() {
		skip = "IF NEW." + quote(mergedInto) + " IS NOT NULL THEN RETURN NEW; END IF;"
	}
	if e.where != "" {
		skip += "PERFORM FROM (SELECT (NEW).*) AS " + quote(e.child.catalog.Name) + " WHERE " + e.where + "; IF NOT FOUND THEN RETURN NEW; END IF;"
	}
	var set []string
	for i, name := range e.cols {
		set = append(set, "NEW."+quote(name)+" := semel_row.r"+strconv.Itoa(i+1)+";")
	}
	text := strings.NewReplacer("{function}", function, "{path}", g.path, "{skip}", skip, "{parent}", e.parent.path, "{most}", strconv.Itoa(maxTraces), "{set}", strings.Join(set, " "),
		"{columns}", list([]string{"t." + quote(mergedInto) + " AS semel_into"}, as(of("t", e.refs), "r")),
		"{refers}", e.refers("t", "NEW"), "{next}", equal(of("t", e.parent.id), []string{"semel_row.semel_into"}),
	).Replace(redirectText)
	columns := list(texts.Of(e.cols, quote))
	return object{name, e.child.name, function, text, "CREATE TRIGGER " + quote(name) + " BEFORE INSERT OR UPDATE OF " + columns + " ON " + e.child.path + " FOR EACH ROW EXECUTE FUNCTION " + function + "()"}
}

// allowed refuses what would leave half of a guard: rights that are missing, and objects of others by the same names.
func (k postgresKeeper) allowed(ctx context.Context, g *guarding) error {
	if err := g.prepare(ctx); err != nil {
		return err
	}
	if err := k.owned(ctx, g); err != nil {
		return err
	}
	for _, t := range g.tables {
		var owner string
		var may bool
		err := g.one(ctx, "SELECT pg_get_userbyid(relowner), has_table_privilege(oid, 'TRIGGER') AND has_schema_privilege(relnamespace, 'CREATE') FROM pg_class WHERE oid = $1::regclass", []any{t.path}, &owner, &may)
		if err != nil {
			return err
		}
		if !may && slices.ContainsFunc(k.objects(g), func(o object) bool { return o.table == t.name }) {
			return refuse("this user may not make triggers on %s (GRANT TRIGGER ON %s, and CREATE ON SCHEMA %s, or connect as %s)", t.name, t.path, quote(t.catalog.Schema), owner)
		}
	}
	for _, one := range k.objects(g) {
		var function, trigger *string
		err := g.one(ctx, "SELECT (SELECT p.oid::regprocedure::text FROM pg_proc p WHERE p.oid = to_regproc($1) AND obj_description(p.oid, 'pg_proc') IS DISTINCT FROM $4),"+
			" (SELECT t.tgname FROM pg_trigger t WHERE t.tgrelid = to_regclass($2) AND t.tgname = $3 AND obj_description(t.tgfoid, 'pg_proc') IS DISTINCT FROM $4)",
			[]any{one.function, g.pathOf(one.table), one.name, g.comment}, &function, &trigger)
		switch {
		case err != nil:
			return err
		case function != nil:
			return refuse("the function %s is there already, and does not belong to this guard (rename or drop it)", *function)
		case trigger != nil:
			return refuse("%s has a trigger %s already, which does not belong to this guard (rename or drop it)", one.table, *trigger)
		}
	}
	return nil
}

// owned refuses a user who may not make an index of the table.
func (postgresKeeper) owned(ctx context.Context, g *guarding) error {
	var owner string
	var owns bool
	t := g.tables[0]
	err := g.one(ctx, "SELECT pg_get_userbyid(relowner), pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = $1::regclass", []any{t.path}, &owner, &owns)
	if err == nil && !owns {
		err = refuse("this user may not make an index of %s, which belongs to %s (connect as %s)", t.name, owner, owner)
	}
	return err
}

// prepare reads what the functions need: the schemas in which names of the rule are looked for, and whether its values can be
// hashed; else writers lock the rule.
func (g *guarding) prepare(ctx context.Context) error {
	err := g.one(ctx, "SELECT coalesce(string_agg(quote_ident(s), ', ') || ', ', 'pg_catalog, ') || 'pg_temp' FROM unnest(current_schemas(false)) AS s", nil, &g.path)
	if err != nil {
		return err
	}
	root := g.tables[0]
	if err := g.strange(ctx, root, g.grouping.Terms); err != nil {
		return err
	}
	err = g.each(ctx, "SELECT hash_record_extended(ROW("+list(g.grouping.Terms)+"), 0) FROM "+root.path+" LIMIT 1", nil, func(*sql.Rows) error { return nil })
	g.hashes = err == nil
	return nil
}

// create makes a trigger and its function, unless they are there.
func (postgresKeeper) create(ctx context.Context, g *guarding, one object) error {
	var there bool
	if err := g.one(ctx, "SELECT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = to_regclass($1) AND tgname = $2)", []any{g.pathOf(one.table), one.name}, &there); err != nil {
		return err
	}
	statements := []string{one.create, "COMMENT ON FUNCTION " + one.function + "() IS " + g.literal(g.comment), "REVOKE ALL ON FUNCTION " + one.function + "() FROM PUBLIC", one.trigger}
	if there {
		statements[3] = "ALTER TABLE " + g.pathOf(one.table) + " ENABLE TRIGGER " + quote(one.name)
	}
	for _, statement := range statements {
		if _, err := g.exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// triggers are the triggers of a guard that are there and enabled.
func (postgresKeeper) triggers(ctx context.Context, s *dbSession, one *Guard) (all []string, err error) {
	err = s.each(ctx, guardTriggersText, []any{guardComment(one.Name, one.Table)}, func(rows *sql.Rows) error {
		var function string
		var table, name sql.NullString
		var enabled sql.NullBool
		err := rows.Scan(&function, &table, &name, &enabled)
		if enabled.Bool {
			all = append(all, table.String+": "+name.String)
		}
		return err
	})
	return all, err
}

// dropGuard drops the functions of a guard with their triggers, and then its index.
func (k postgresKeeper) drop(ctx context.Context, s *dbSession, one *Guard) error {
	functions, err := scanned[string](ctx, s, "SELECT p.oid::regprocedure::text FROM pg_proc p WHERE obj_description(p.oid, 'pg_proc') = $1 ORDER BY p.oid DESC", guardComment(one.Name, one.Table))
	if err != nil {
		return err
	}
	for _, name := range functions { // those of references first: they are the younger ones
		err := s.briefly(ctx, "remove "+name, func() error {
			_, err := s.exec(ctx, "DROP FUNCTION IF EXISTS "+name+" CASCADE")
			return err
		})
		if err != nil {
			return err
		}
	}
	return k.dropIndex(ctx, s, one.Table, guardName(one.Name)+"_index", false)
}

// dropIndex drops an index of a table, if it is there; with invalid, only one that enforces nothing. Where it belongs to a
// partitioned table, others wait for a moment.
func (postgresKeeper) dropIndex(ctx context.Context, s *dbSession, table, name string, invalid bool) error {
	var index, kind string
	err := s.each(ctx, "SELECT c.oid::regclass::text, c.relkind FROM pg_class c JOIN pg_index i ON i.indexrelid = c.oid JOIN pg_class t ON t.oid = i.indrelid JOIN pg_namespace n ON n.oid = t.relnamespace"+
		" WHERE c.relname = $1 AND n.nspname || '.' || t.relname = $2 AND NOT (i.indisvalid AND $3::boolean)", []any{name, table, invalid}, func(rows *sql.Rows) error { return rows.Scan(&index, &kind) })
	switch {
	case err != nil:
		return err
	case kind == "I":
		return s.briefly(ctx, "drop "+index, func() error { _, err := s.exec(ctx, "DROP INDEX IF EXISTS "+index); return err })
	case index != "":
		_, err = s.exec(ctx, "DROP INDEX CONCURRENTLY IF EXISTS "+index)
		return s.explain(err)
	}
	return nil
}

// relation says which table or index of another table has a name in the schema of a table; "" for none.
func (postgresKeeper) relation(ctx context.Context, s *dbSession, t *table, name string) (what string, err error) {
	err = s.each(ctx, "SELECT CASE WHEN i.indrelid IS NULL THEN 'a table or view' ELSE 'an index of ' || i.indrelid::regclass END FROM pg_class c LEFT JOIN pg_index i ON i.indexrelid = c.oid JOIN pg_namespace n ON n.oid = c.relnamespace"+
		" WHERE c.relname = $1 AND n.nspname = $2 AND i.indrelid IS DISTINCT FROM to_regclass($3)", []any{name, t.catalog.Schema, t.path}, func(rows *sql.Rows) error { return rows.Scan(&what) })
	return what, err
}

// notes say which writers the guard refuses for their isolation.
func (postgresKeeper) notes(ctx context.Context, g *guarding) (all []string, err error) {
	const query = "SELECT coalesce('role ' || r.rolname, 'all roles'), split_part(c, '=', 2) FROM pg_db_role_setting s LEFT JOIN pg_roles r ON r.oid = s.setrole CROSS JOIN unnest(s.setconfig) AS c" +
		" WHERE c LIKE 'default_transaction_isolation=%' AND s.setdatabase IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))" +
		" UNION ALL SELECT 'the server', reset_val FROM pg_settings WHERE name = 'default_transaction_isolation'"
	err = g.each(ctx, query, nil, func(rows *sql.Rows) error {
		var who, level string
		err := rows.Scan(&who, &level)
		if level != "read committed" {
			all = append(all, "transactions of "+who+" are "+level+" by default: the guard refuses rows that they add to "+g.tables[0].name)
		}
		return err
	})
	if err == nil && !g.hashes {
		all = append(all, "values of the rule cannot be hashed: writers of "+g.tables[0].name+" wait for each other")
	}
	return all, err
}
