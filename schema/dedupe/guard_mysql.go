package dedupe

import (
	"context"
	"database/sql"
	_ "embed" // the statements below
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/texts"
	"github.com/semel-dev/semel/schema/catalog"
)

//go:embed sql/mysql_guard_ledger.sql
var mysqlGuardLedger string

//go:embed sql/mysql_guard.sql
var mysqlGuard string

//go:embed sql/mysql_redirect.sql
var mysqlRedirect string

// mysqlKeeper has triggers that count, in a table of the guard, the rows that have a value: see guard_mysql_values.go.
type mysqlKeeper struct{}

func (mysqlKeeper) ledger() string { return mysqlGuardLedger }

func (mysqlKeeper) hasGuards() string {
	return "SELECT count(*) > 0 FROM information_schema.TABLES WHERE TABLE_SCHEMA = database() AND TABLE_NAME = 'semel_dedupe_guard'"
}

// brief bounds the wait for a table that others use: the server knows whole seconds.
func (mysqlKeeper) brief() []string { return []string{"SET SESSION lock_wait_timeout = 1"} }

func (mysqlKeeper) resetTimeouts() []string {
	return []string{"SET SESSION lock_wait_timeout = DEFAULT"}
}

func (k mysqlKeeper) objects(g *guarding) []object {
	all := k.counters(g)
	for _, e := range g.edges {
		if e.parent.marks {
			all = append(all, k.redirect(g, e, "INSERT", "_i"), k.redirect(g, e, "UPDATE", "_u"))
		}
	}
	return all
}

// counters are the triggers on the table of the rule.
func (k mysqlKeeper) counters(g *guarding) []object {
	return []object{k.counter(g, "INSERT", "NEW"), k.counter(g, "UPDATE", "OLD", "NEW"), k.counter(g, "DELETE", "OLD")}
}

// counter is a trigger that counts values of the rows that it knows.
func (k mysqlKeeper) counter(g *guarding, event string, rows ...string) object {
	root, n := g.tables[0], len(g.grouping.Terms)
	before, after := numbered("", "semel_o", n), numbered("", "semel_n", n)
	var declare, set, shown []string
	for i, kind := range g.kinds {
		shown = append(shown, readable(after[i], kind))
		declare = append(declare, "DECLARE "+before[i]+", "+after[i]+" "+kind+";")
		for _, row := range rows {
			variable := map[string]string{"OLD": before[i], "NEW": after[i]}[row]
			set = append(set, "SET "+variable+" = (SELECT "+g.grouping.Terms[i]+" FROM "+k.row(root, row, g.grouping.Columns)+whereOf(g.grouping.Where)+");")
		}
	}
	const rest = len("Duplicate entry '' for key ''")
	text := strings.NewReplacer("{name}", quote(g.base+"_"+strings.ToLower(event)), "{event}", event, "{table}", root.path, "{comment}", g.comment, "{values}", k.values(g),
		"{declare}", strings.Join(declare, " "), "{set}", strings.Join(set, " "), "{unchanged}", pairs(before, after, " <=> ", " AND "),
		"{old}", known(before), "{new}", known(after), "{old_values}", list(before), "{new_values}", list(after), "{same}", equal(numbered("v", "semel_e", n), after),
		"{shown}", list(shown), "{index}", g.literal(g.grouping.Index), "{most}", strconv.Itoa(maxMessage-rest-len(g.grouping.Index)),
	).Replace(mysqlGuard)
	return object{name: g.base + "_" + strings.ToLower(event), table: root.name, trigger: text}
}

// maxMessage bounds the characters of an error that a trigger raises.
const maxMessage = 128

// readable is a value in an error of the server.
func readable(value, kind string) string {
	if strings.Contains(kind, "binary") || strings.HasPrefix(kind, "bit") {
		return "hex(" + value + ")"
	}
	return "cast(" + value + " AS char CHARACTER SET utf8mb4)"
}

func known(values []string) string {
	return strings.Join(texts.Of(values, func(value string) string { return value + " IS NOT NULL" }), " AND ")
}

// values is the table of the guard that has the numbers of rows.
func (mysqlKeeper) values(g *guarding) string { return g.sibling(g.tables[0], g.base+"_values") }

// row is a table of the row NEW or OLD, with these columns; nil for all.
func (mysqlKeeper) row(t *table, row string, names []string) string {
	var columns []string
	for _, c := range t.catalog.Columns {
		if names == nil || slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, c.Name) }) {
			columns = append(columns, row+"."+quote(c.Name)+" AS "+quote(c.Name))
		}
	}
	return "(SELECT " + list(columns) + ") AS " + quote(t.catalog.Name)
}

// redirect is the trigger that lets new references to merged rows refer to the rows that have their place.
func (k mysqlKeeper) redirect(g *guarding, e *edge, event, end string) object {
	name := g.redirectName(e) + end
	condition := ""
	if event == "UPDATE" {
		condition = " AND NOT (" + pairs(of("OLD", e.cols), of("NEW", e.cols), " <=> ", " AND ") + ")"
	}
	condition += e.alive("NEW")
	if e.where != "" {
		condition += " AND EXISTS (SELECT 1 FROM " + k.row(e.child, "NEW", e.child.stored()) + " WHERE " + e.where + ")"
	}
	variables := numbered("", "semel_r", len(e.refs))
	var declare []string
	for i, ref := range e.refs {
		declare = append(declare, "DECLARE "+variables[i]+" "+declared(e.parent.column(ref))+";")
	}
	text := strings.NewReplacer("{name}", quote(name), "{event}", event, "{table}", e.child.path, "{comment}", g.comment, "{id}", declared(e.parent.column(mergedInto)), "{declare}", strings.Join(declare, " "),
		"{condition}", condition, "{merged}", quote(mergedInto), "{parent}", e.parent.path, "{refers}", e.refers("t", "NEW"), "{most}", strconv.Itoa(maxTraces),
		"{columns}", list(of("t", e.refs)), "{variables}", list(variables), "{next}", equal(of("t", e.parent.id), []string{"semel_into"}), "{set}", pairs(of("NEW", e.cols), variables, " = ", ", "),
	).Replace(mysqlRedirect)
	return object{name: name, table: e.child.name, trigger: text}
}

// declared is the type of a variable that holds values of a column.
func declared(c *catalog.Column) string {
	if charset, _, ok := strings.Cut(c.Collation, "_"); ok {
		return c.Type + " CHARACTER SET " + charset + " COLLATE " + c.Collation
	}
	return c.Type
}

// allowed refuses what would leave half of a guard, and rows that change where no trigger sees it.
func (k mysqlKeeper) allowed(ctx context.Context, g *guarding) error {
	if err := k.prepare(ctx, g); err != nil {
		return err
	}
	if err := k.taken(ctx, g); err != nil {
		return err
	}
	if err := k.unseen(ctx, g); err != nil {
		return err
	}
	var seen []string
	for _, one := range k.objects(g) {
		if slices.Contains(seen, one.table) {
			continue
		}
		seen = append(seen, one.table)
		if err := k.mayTrigger(ctx, g, one); err != nil {
			return err
		}
	}
	return k.mayLock(ctx, g)
}

// prepare reads the types of the rule's values, and refuses a server that has one trigger for an event.
func (mysqlKeeper) prepare(ctx context.Context, g *guarding) error {
	var server, collation string
	root := g.tables[0]
	err := g.one(ctx, "SELECT version(), (SELECT TABLE_COLLATION FROM information_schema.TABLES WHERE TABLE_SCHEMA = $1 AND TABLE_NAME = $2)", []any{root.catalog.Schema, root.catalog.Name}, &server, &collation)
	if err != nil {
		return err
	}
	if !manyTriggers(server) {
		return refuse("this server (%s) has one trigger for each event of a table, and the guard needs its own (MariaDB 10.2.3 and MySQL 5.7.2 have more)", server)
	}
	g.kinds = nil
	for _, kind := range g.grouping.Kinds {
		if strings.Contains(kind, "char") && !strings.Contains(kind, " COLLATE ") { // as the generated column of the index
			charset, _, _ := strings.Cut(collation, "_")
			kind += " CHARACTER SET " + charset + " COLLATE " + collation
		}
		if base, size, _ := strings.Cut(kind, "("); base == "timestamp" { // which may have a default of its own
			kind = strings.TrimSuffix("datetime("+size, "(")
		}
		g.kinds = append(g.kinds, kind)
	}
	return nil
}

// manyTriggers reports whether a server allows more than one trigger for an event of a table.
func manyTriggers(server string) bool {
	first := []int{5, 7, 2}
	if strings.Contains(server, "MariaDB") {
		first = []int{10, 2, 3}
	}
	var version []int
	for _, digits := range strings.FieldsFunc(server, func(r rune) bool { return r < '0' || r > '9' }) {
		n, _ := strconv.Atoi(digits) // 0 where it is not a number
		version = append(version, n)
	}
	return slices.Compare(version[:min(len(version), len(first))], first) >= 0
}

// taken refuses names that others have.
func (k mysqlKeeper) taken(ctx context.Context, g *guarding) error {
	query := "SELECT concat(EVENT_OBJECT_SCHEMA, '.', EVENT_OBJECT_TABLE) FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = database() AND TRIGGER_NAME = $1 AND instr(ACTION_STATEMENT, $2) = 0"
	for _, one := range k.objects(g) {
		table := ""
		if err := g.each(ctx, query, []any{one.name, k.mark(g.comment)}, func(rows *sql.Rows) error { return rows.Scan(&table) }); err != nil {
			return err
		}
		if table != "" {
			return refuse("%s has a trigger %s already, which does not belong to this guard (rename or drop it)", table, one.name)
		}
	}
	var others bool
	err := g.one(ctx, "SELECT count(*) > 0 FROM information_schema.TABLES WHERE TABLE_SCHEMA = database() AND TABLE_NAME = $1 AND TABLE_COMMENT <> $2", []any{g.base + "_values", g.comment}, &others)
	if err == nil && others {
		err = refuse("the table %s is there already, and does not belong to this guard (rename or drop it)", g.base+"_values")
	}
	return err
}

// mark is in the text of each trigger of a guard.
func (mysqlKeeper) mark(comment string) string { return " -- " + comment + "\n" }

// cascades are the references of the table that change its rows without its triggers.
const cascades = "SELECT r.CONSTRAINT_NAME, r.REFERENCED_TABLE_NAME, r.UPDATE_RULE, r.DELETE_RULE, k.COLUMN_NAME FROM information_schema.REFERENTIAL_CONSTRAINTS AS r JOIN information_schema.KEY_COLUMN_USAGE AS k" +
	" ON k.CONSTRAINT_SCHEMA = r.CONSTRAINT_SCHEMA AND k.CONSTRAINT_NAME = r.CONSTRAINT_NAME AND k.TABLE_NAME = r.TABLE_NAME WHERE r.CONSTRAINT_SCHEMA = $1 AND r.TABLE_NAME = $2" +
	" AND (r.UPDATE_RULE IN ('CASCADE', 'SET NULL') OR r.DELETE_RULE IN ('CASCADE', 'SET NULL')) ORDER BY r.CONSTRAINT_NAME, k.ORDINAL_POSITION"

// unseen refuses references that change values of the rule: the server fires no trigger then.
func (mysqlKeeper) unseen(ctx context.Context, g *guarding) (err error) {
	root := g.tables[0]
	refused := ""
	err = g.each(ctx, cascades, []any{root.catalog.Schema, root.catalog.Name}, func(rows *sql.Rows) error {
		var name, parent, updates, deletes, column string
		err := rows.Scan(&name, &parent, &updates, &deletes, &column)
		changes := updates == "CASCADE" || updates == "SET NULL" || deletes == "SET NULL"
		if changes && (g.grouping.Columns == nil || slices.Contains(g.grouping.Columns, column)) {
			refused = name
		}
		return err
	})
	if err == nil && refused != "" {
		err = refuse("the foreign key %s changes columns of the rule with the row that it names, and no trigger of %s sees it (make it ON UPDATE RESTRICT ON DELETE RESTRICT)", refused, root.name)
	}
	return err
}

// mayTrigger refuses a user without the right to make a trigger. The server checks it before it finds that this one would set
// a column that is not there.
func (mysqlKeeper) mayTrigger(ctx context.Context, g *guarding, one object) error {
	path := g.pathOf(one.table)
	//semel:safe the server refuses it, whatever the rights
	err := g.probe(ctx, "CREATE TRIGGER "+quote(guardPrefix+"probe")+" BEFORE INSERT ON "+path+" FOR EACH ROW SET NEW."+quote(guardPrefix+"probe")+" = 1")
	if err != nil {
		err = refuse("this user may not make triggers on %s (GRANT TRIGGER ON %s TO this user; where the server writes a binary log, it may also have to SET GLOBAL log_bin_trust_function_creators = 1): %w", one.table, path, err)
	}
	return err
}

// mayLock refuses a user without the right to lock the table for the moment in which the triggers come.
func (mysqlKeeper) mayLock(ctx context.Context, g *guarding) error {
	root := g.tables[0]
	err := g.probe(ctx, "LOCK TABLES "+root.path+" READ")
	if err != nil {
		return refuse("this user may not lock %s (GRANT LOCK TABLES ON %s.* TO this user): %w", root.name, quote(root.catalog.Schema), err)
	}
	_, err = g.exec(ctx, "UNLOCK TABLES")
	return err
}

// probe returns the error of a statement for which rights are missing, and no other.
func (g *guarding) probe(ctx context.Context, statement string) error {
	if err := g.execAll(ctx, g.keeper().brief()); err != nil {
		return err
	}
	_, err := g.exec(ctx, statement)
	refused, ok := dialect.Refused(err)
	if ok && slices.Contains([]int{1044, 1142, 1143, 1227, 1419}, refused.Number) {
		return err
	}
	return g.execAll(ctx, g.keeper().resetTimeouts())
}

func (mysqlKeeper) owned(context.Context, *guarding) error { return nil }

// create makes a trigger that refers rows elsewhere; the others were made with the numbers of their rows.
func (k mysqlKeeper) create(ctx context.Context, g *guarding, one object) error {
	there, err := k.there(ctx, g, one)
	if err == nil && !there {
		//semel:safe it is not there, and one process at a time has the lock of the session
		_, err = g.exec(ctx, one.trigger)
	}
	return err
}

func (k mysqlKeeper) there(ctx context.Context, g *guarding, one object) (there bool, err error) {
	err = g.one(ctx, "SELECT count(*) > 0 FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = database() AND TRIGGER_NAME = $1 AND instr(ACTION_STATEMENT, $2) > 0", []any{one.name, k.mark(g.comment)}, &there)
	return there, err
}

func (k mysqlKeeper) triggers(ctx context.Context, s *dbSession, one *Guard) (all []string, err error) {
	query := "SELECT EVENT_OBJECT_SCHEMA, EVENT_OBJECT_TABLE, TRIGGER_NAME FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = database() AND instr(ACTION_STATEMENT, $1) > 0 ORDER BY 1, 2, 3"
	err = s.each(ctx, query, []any{k.mark(guardComment(one.Name, one.Table))}, func(rows *sql.Rows) error {
		var space, table, name string
		err := rows.Scan(&space, &table, &name)
		all = append(all, space+"."+table+": "+name)
		return err
	})
	return all, err
}

func (k mysqlKeeper) drop(ctx context.Context, s *dbSession, one *Guard) error {
	all, err := k.triggers(ctx, s, one)
	if err != nil {
		return err
	}
	space, _, _ := strings.Cut(one.Table, ".")
	var statements []string
	for _, trigger := range all {
		_, name, _ := strings.Cut(trigger, ": ")
		statements = append(statements, "DROP TRIGGER IF EXISTS "+quote(space)+"."+quote(name))
	}
	statements = append(statements, "DROP TABLE IF EXISTS "+quote(space)+"."+quote(guardName(one.Name)+"_values"))
	for _, statement := range statements {
		if err := s.briefly(ctx, "remove the guard", func() error { _, err := s.exec(ctx, statement); return err }); err != nil {
			return err
		}
	}
	return s.execAll(ctx, k.resetTimeouts())
}

// dropIndex drops an index, and the generated columns that were made for it. None is left that enforces nothing: the server
// takes back a statement that fails.
func (k mysqlKeeper) dropIndex(ctx context.Context, s *dbSession, table, name string, invalid bool) error {
	if invalid {
		return nil
	}
	query := "SELECT DISTINCT concat('DROP INDEX ', $3) FROM information_schema.STATISTICS WHERE concat(TABLE_SCHEMA, '.', TABLE_NAME) = $1 AND INDEX_NAME = $2" +
		" UNION ALL SELECT concat('DROP COLUMN \"', COLUMN_NAME, '\"') FROM information_schema.COLUMNS WHERE concat(TABLE_SCHEMA, '.', TABLE_NAME) = $1 AND GENERATION_EXPRESSION <> '' AND COLUMN_NAME REGEXP $4"
	drops, err := scanned[string](ctx, s, query, table, name, quote(name), "^semel_"+regexp.QuoteMeta(name)+"_[0-9]+$")
	if err != nil || len(drops) == 0 {
		return err
	}
	err = s.briefly(ctx, "drop the index "+name, func() error {
		//semel:safe the second run finds neither
		_, err := s.exec(ctx, "ALTER TABLE "+pathOf(table)+" "+strings.Join(drops, ", "))
		return err
	})
	if err != nil {
		return err
	}
	return s.execAll(ctx, k.resetTimeouts())
}

func (mysqlKeeper) relation(context.Context, *dbSession, *table, string) (string, error) {
	return "", nil
}

// notes say which rows vanish without a trigger.
func (mysqlKeeper) notes(ctx context.Context, g *guarding) (all []string, err error) {
	root := g.tables[0]
	err = g.each(ctx, cascades, []any{root.catalog.Schema, root.catalog.Name}, func(rows *sql.Rows) error {
		var name, parent, updates, deletes, column string
		err := rows.Scan(&name, &parent, &updates, &deletes, &column)
		note := "the server fires no trigger for rows of " + root.name + " that it deletes with those of " + parent + " (ON DELETE CASCADE): their values stay taken until the guard is removed and installed again"
		if deletes == "CASCADE" && !slices.Contains(all, note) {
			all = append(all, note)
		}
		return err
	})
	return all, err
}
