package dedupe

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"github.com/semel-dev/semel/internal/texts"
	"github.com/semel-dev/semel/schema/catalog"
)

// The table of a guard has a row for each value, with the number of rows that have it. The triggers come in one moment, in which
// nothing writes, and a snapshot of that moment has the rows that they did not count: these are added while others write. A
// value that is not added yet may become a duplicate, which is an old one then: the guard is installed when all are added.

// lookup makes and fills the table, unless that is done.
func (k mysqlKeeper) lookup(ctx context.Context, g *guarding) (err error) {
	done, err := k.counts(ctx, g)
	if err != nil || done {
		return err
	}
	if _, err := g.exec(ctx, "UPDATE semel_dedupe_guard SET installed_at = NULL WHERE id = $1", g.id); err != nil {
		return err
	}
	if err := k.createValues(ctx, g); err != nil {
		return err
	}
	view, err := g.openSession(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, view.close(ctx)) }()
	if err := k.start(ctx, g, view); err != nil {
		return err
	}
	return k.fill(ctx, g, view)
}

// counts reports whether the triggers have counted all rows since the guard was installed.
func (k mysqlKeeper) counts(ctx context.Context, g *guarding) (done bool, err error) {
	err = g.one(ctx, "SELECT installed_at IS NOT NULL AND (SELECT count(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = database() AND TABLE_NAME = $2) = 1 FROM semel_dedupe_guard WHERE id = $1",
		[]any{g.id, g.base + "_values"}, &done)
	for _, one := range k.counters(g) {
		if err == nil && done {
			done, err = k.there(ctx, g, one)
		}
	}
	return done, err
}

// createValues makes the table anew: triggers that are left of an interrupted call go first.
func (k mysqlKeeper) createValues(ctx context.Context, g *guarding) error {
	n := len(g.kinds)
	columns := numbered("", "semel_e", n)
	var definitions []string
	for i, kind := range g.kinds {
		definitions = append(definitions, columns[i]+" "+kind+" NOT NULL")
	}
	statements := append(k.dropCounters(g), "DROP TABLE IF EXISTS "+k.values(g),
		"CREATE TABLE "+k.values(g)+" ("+list(definitions)+", semel_rows bigint NOT NULL, PRIMARY KEY ("+list(columns)+")) ENGINE = InnoDB COMMENT = "+g.literal(g.comment),
		// It adds no row: it shows that this user, with whose rights the triggers run, may add some
		"INSERT INTO "+k.values(g)+" SELECT v.* FROM "+k.values(g)+" AS v LIMIT 0 ON DUPLICATE KEY UPDATE semel_rows = 1")
	for _, statement := range statements {
		if err := g.briefly(ctx, "prepare the guard", func() error { _, err := g.exec(ctx, statement); return err }); err != nil {
			return err
		}
	}
	return nil
}

func (k mysqlKeeper) dropCounters(g *guarding) []string {
	return texts.Of(k.counters(g), func(o object) string {
		return "DROP TRIGGER IF EXISTS " + g.sibling(g.tables[0], o.name)
	})
}

// start makes the triggers, and a snapshot of the same moment.
func (k mysqlKeeper) start(ctx context.Context, g *guarding, view *dbSession) error {
	root := g.tables[0]
	if _, err := view.exec(ctx, "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ"); err != nil {
		return err
	}
	return g.briefly(ctx, "install the guard on "+root.name, func() (err error) {
		if _, err := g.exec(ctx, "LOCK TABLES "+root.path+" WRITE"); err != nil {
			return err
		}
		defer func() {
			_, unlocked := g.exec(context.WithoutCancel(ctx), "UNLOCK TABLES")
			err = errors.Join(err, unlocked)
		}()
		if err := g.execAll(ctx, k.dropCounters(g)); err != nil {
			return err
		}
		for _, one := range k.counters(g) {
			//semel:safe it was dropped under the same lock of the table
			if _, err := g.exec(ctx, one.trigger); err != nil {
				return err
			}
		}
		_, err = view.exec(ctx, "START TRANSACTION WITH CONSISTENT SNAPSHOT")
		return err
	})
}

// fillRows is the number of rows that one statement adds: writers of their values wait for it.
const fillRows = 100

// fill adds the rows of the snapshot.
func (k mysqlKeeper) fill(ctx context.Context, g *guarding, view *dbSession) error {
	if err := g.execAll(ctx, k.resetTimeouts()); err != nil {
		return err
	}
	columns, err := k.columns(ctx, g)
	if err != nil {
		return err
	}
	terms := numbered("", "semel_e", len(columns))
	selected := texts.Of(columns, func(c *catalog.Column) string { return g.text(quote(c.Name), c) })
	var args []any
	query := "SELECT " + list(selected) + " FROM (SELECT " + list(as(g.grouping.Terms, "semel_e")) + " FROM " + g.tables[0].path + " AS " + quote(g.tables[0].catalog.Name) + whereOf(g.grouping.Where) + ") AS v WHERE " + known(terms)
	err = view.each(ctx, query, nil, func(rows *sql.Rows) error {
		row := make([]string, len(columns))
		into := make([]any, len(columns))
		for i := range row {
			into[i] = &row[i]
		}
		if err := rows.Scan(into...); err != nil {
			return err
		}
		for _, value := range row {
			args = append(args, value)
		}
		if len(args) < fillRows*len(columns) {
			return nil
		}
		full := args
		args = nil
		return k.add(ctx, g, columns, full)
	})
	if err == nil && len(args) > 0 {
		err = k.add(ctx, g, columns, args)
	}
	return err
}

// columns are those of the table's values.
func (k mysqlKeeper) columns(ctx context.Context, g *guarding) (columns []*catalog.Column, err error) {
	schema, err := catalog.Read(ctx, g.DB, g.Dialect)
	if err != nil {
		return nil, err
	}
	t, ok := schema.Table(g.tables[0].catalog.Schema + "." + g.base + "_values")
	if !ok {
		return nil, errors.New("the table of the guard was dropped while it was filled")
	}
	for i := range g.kinds {
		columns = append(columns, &t.Columns[i])
	}
	return columns, nil
}

// add adds rows to the numbers of their values.
func (k mysqlKeeper) add(ctx context.Context, g *guarding, columns []*catalog.Column, args []any) error {
	row := "(" + list(texts.Of(columns, func(c *catalog.Column) string { return g.value("?", c) })) + ", 1)"
	rows := strings.TrimSuffix(strings.Repeat(row+", ", len(args)/len(columns)), ", ")
	statement := "INSERT INTO " + k.values(g) + " VALUES " + rows + " ON DUPLICATE KEY UPDATE semel_rows = semel_rows + 1" //nolint:gosec // names that are quoted, and question marks.
	return g.briefly(ctx, "count the rows of "+g.tables[0].name, func() error {
		g.notice(statement)
		//semel:safe a statement that failed has added nothing, and the numbers begin anew with each call
		_, err := g.conn.ExecContext(ctx, statement, args...)
		return err
	})
}
