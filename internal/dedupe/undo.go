package dedupe

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/semel-dev/semel/internal/rules/catalog"
	"github.com/semel-dev/semel/internal/texts"
)

// Target says what to undo of a run: all of it, one group, or one loser.
type Target struct {
	Run int64
	// Group is a number of the map; 0 for all.
	Group int64
	// Record is the key of a loser in the table of the run, such as 5 or 1,A-1; "" for all.
	Record string
	// DropIndex lets the guard take the place of the unique indexes that [Database.Finish] made for the table: they refuse the
	// duplicates that come back.
	DropIndex bool
}

// Undone is the result of an undo.
type Undone struct {
	Run int64 `json:"run"`
	// Restored counts the rows that are as they were.
	Restored int64 `json:"restored"`
	// Kept are rows that were changed or deleted after the merge, and were left as they are.
	Kept []Kept `json:"kept,omitempty"`
}

// Kept is a row that an undo left as it is. It is the winner of a group where the whole group stays merged.
type Kept struct {
	Table  string `json:"table"`
	Key    string `json:"key"`
	Reason string `json:"reason"`
}

// undoer takes a run back.
type undoer struct {
	*session

	run    int64
	root   string // its table
	item   int64  // of one record; 0 for all
	by     string
	tables []*trail
	report *Undone
	pace   *pacer
	// finished are the unique indexes that may be in the way.
	finished []string
	// blocked says that a group stays merged.
	blocked bool
	// references are the foreign keys of the application.
	references []link
}

// trail holds what the audit of a run has of one table.
type trail struct {
	*table

	// moved, filled and marked are the columns that the run changed.
	moved, filled, marked []string
	deleted               bool
}

// Undo takes back what a run did, group by group, the last one first.
func (d *Database) Undo(ctx context.Context, target Target, o *Options) (report *Undone, err error) {
	s, err := d.open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	u := &undoer{session: s, run: target.Run, by: o.By, report: &Undone{Run: target.Run}, pace: &pacer{session: s, Pace: o.Pace}}
	if err := u.pace.start(ctx); err != nil {
		return nil, err
	}
	if u.root, err = u.find(ctx); err != nil {
		return nil, err
	}
	if err := u.read(ctx); err != nil {
		return nil, err
	}
	switch {
	case target.Record != "":
		target.Group, err = u.record(ctx, target.Record)
	case target.Group != 0:
		err = u.merged(ctx, target.Group)
	}
	if err != nil {
		return nil, err
	}
	if err := u.checkWhole(ctx, target.Group); err != nil {
		return nil, err
	}
	if err := u.checkLater(ctx, target.Group); err != nil {
		return nil, err
	}
	if target.DropIndex {
		if err := u.unbuild(ctx, u.root, o.By); err != nil {
			return nil, err
		}
	} else if u.finished, err = u.session.finished(ctx, u.root); err != nil {
		return nil, err
	}
	if err := u.execAll(ctx, u.small()); err != nil {
		return nil, err
	}
	if err := u.groups(ctx, target.Group, o.Progress); err != nil {
		return u.report, err
	}
	return u.report, u.end(ctx, target.Group)
}

// find returns the table of the run.
func (u *undoer) find(ctx context.Context) (root string, err error) {
	has, err := u.kept(ctx)
	if err == nil && has {
		err = u.mayWrite(ctx, runTables())
	}
	if err != nil {
		return "", err
	}
	var undone bool
	if has {
		err = u.one(ctx, "SELECT tbl, undone_at IS NOT NULL FROM semel_dedupe_run WHERE id = $1", []any{u.run}, &root, &undone)
	}
	if undone {
		return "", refuse("run %d was undone already", u.run)
	}
	if !has || errors.Is(err, sql.ErrNoRows) {
		return "", refuse("run %d is not known here (see: semel dedupe status)", u.run)
	}
	return root, err
}

// read collects what the audit of the run has of each table, which must be as it was.
func (u *undoer) read(ctx context.Context) error {
	schema, err := catalog.Read(ctx, u.DB, u.Dialect)
	if err != nil {
		return err
	}
	if u.references, err = u.session.references(ctx, schema); err != nil {
		return err
	}
	v := &surveyor{schema: schema, engine: u.engine, site: &site{}, byName: map[string]*table{}}
	trails := map[string]*trail{}
	query := "SELECT tbl, step, " + u.plain("whole") + ", " + u.plain("old") + " FROM semel_dedupe_audit WHERE run = $1 AND id IN (SELECT min(id) FROM semel_dedupe_audit WHERE run = $1 AND undone_at IS NULL GROUP BY tbl, step) ORDER BY tbl, step"
	err = u.each(ctx, query, []any{u.run}, func(rows *sql.Rows) error {
		var name string
		var step int
		var whole, old sql.NullString
		if err := rows.Scan(&name, &step, &whole, &old); err != nil {
			return err
		}
		t := trails[name]
		if t == nil {
			found, err := v.table(name)
			if err != nil {
				return refuse("%w", err)
			}
			t = &trail{table: found}
			trails[name] = t
			u.tables = append(u.tables, t)
		}
		return t.add(step, whole, old)
	})
	for i, t := range u.tables {
		t.number = i
	}
	return err
}

// add takes the columns of one row of the audit.
func (t *trail) add(step int, whole, old sql.NullString) error {
	var values map[string]*string
	if old.Valid {
		if err := json.Unmarshal([]byte(old.String), &values); err != nil {
			return err
		}
	}
	var names []string
	for name := range values {
		names = append(names, name)
	}
	if step == stepMerged && !old.Valid {
		t.deleted = true
		if err := json.Unmarshal([]byte(whole.String), &values); err != nil {
			return err
		}
	}
	for name := range values {
		if _, ok := t.catalog.Column(name); !ok {
			return refuse("the column %s of %s, which the run changed, is gone", name, t.name)
		}
	}
	switch step {
	case stepMoved:
		t.moved = names
	case stepMerged:
		t.marked = names
	case stepKept:
		t.filled = names
	}
	return nil
}

// merged refuses a group that the run did not merge.
func (u *undoer) merged(ctx context.Context, group int64) error {
	var losers int64
	err := u.one(ctx, "SELECT count(*) FROM semel_dedupe_map WHERE run = $1 AND grp = $2 AND state = 1", []any{u.run, group}, &losers)
	if err == nil && losers == 0 {
		err = refuse("run %d did not merge a group %d of %s, or it was taken back", u.run, group, u.root)
	}
	return err
}

// record finds the group of one loser.
func (u *undoer) record(ctx context.Context, record string) (grp int64, err error) {
	err = u.eachKey(ctx, record, func(key string) error {
		err := u.one(ctx, "SELECT grp, item FROM semel_dedupe_map WHERE run = $1 AND loser = $2 AND state = 1", []any{u.run, key}, &grp, &u.item)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	})
	if err == nil && grp == 0 {
		err = refuse("run %d did not merge the row %s of %s, or it was taken back", u.run, record, u.root)
	}
	return grp, err
}

// eachKey calls f with the keys, as the tables of the tool have them, that values with commas between them may be.
func (s *session) eachKey(ctx context.Context, text string, f func(key string) error) error {
	for _, values := range s.keys(strings.Split(text, ",")) {
		var key string
		if err := s.one(ctx, "SELECT "+s.array(values), nil, &key); err != nil {
			return err
		}
		if err := f(key); err != nil {
			return err
		}
	}
	return nil
}

// checkWhole refuses an undo of merges whose audit was deleted.
func (u *undoer) checkWhole(ctx context.Context, group int64) error {
	var merged, kept int64
	err := u.one(ctx, "SELECT (SELECT count(*) FROM semel_dedupe_map AS m WHERE run = $1 AND state = 1"+u.only("m", group)+"), (SELECT count(*) FROM semel_dedupe_audit AS a WHERE run = $1 AND step = "+
		strconv.Itoa(stepMerged)+" AND tbl = "+u.literal(u.root)+" AND undone_at IS NULL"+u.only("a", group)+")", []any{u.run}, &merged, &kept)
	if err == nil && kept < merged {
		err = refuse("semel_dedupe_audit has %d of %s of %s that this run merged: what was deleted there cannot come back (restore it from a backup; a group whose rows are all there comes back with --group)", kept, texts.Count(merged, "row"), u.root)
	}
	return err
}

// checkLater refuses an undo of merges on which a later run builds.
func (u *undoer) checkLater(ctx context.Context, group int64) error {
	var table, winner, later string
	var run int64
	err := u.one(ctx, "SELECT a.tbl, a.winner, b.run, b.winner FROM semel_dedupe_audit AS a JOIN semel_dedupe_audit AS b ON b.tbl = a.tbl AND b.\"key\" = a.winner AND b.step = 2 AND b.run > a.run AND b.undone_at IS NULL"+
		" WHERE a.run = $1 AND a.step = 2 AND a.undone_at IS NULL"+u.only("a", group)+" ORDER BY b.run DESC LIMIT 1", []any{u.run}, &table, &winner, &run, &later)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return err
	}
	return refuse("run %d merged the row %s of %s, which is a winner of run %d, into %s (undo run %d first)", run, winner, table, u.run, later, run)
}

func (u *undoer) only(alias string, group int64) string {
	text := ""
	if group != 0 {
		text += " AND " + alias + ".grp = " + strconv.FormatInt(group, 10)
	}
	if u.item != 0 {
		text += " AND " + alias + ".item = " + strconv.FormatInt(u.item, 10)
	}
	return text
}

// groups takes groups back in batches, the last one first.
func (u *undoer) groups(ctx context.Context, only int64, progress func(done, all int, waits string)) error {
	var all []int64
	err := u.each(ctx, "SELECT DISTINCT grp FROM semel_dedupe_audit AS a WHERE run = $1 AND undone_at IS NULL"+u.only("a", only)+" ORDER BY grp DESC", []any{u.run}, func(rows *sql.Rows) error {
		var number int64
		err := rows.Scan(&number)
		all = append(all, number)
		return err
	})
	if err != nil {
		return err
	}
	for done := 0; done < len(all); {
		say := func(waits string) {
			if progress != nil {
				progress(done, len(all), waits)
			}
		}
		say("")
		if err := u.pace.wait(ctx, say); err != nil {
			return err
		}
		batch := all[done:min(done+u.pace.most(), len(all))]
		if err := u.pace.during(func() error { return u.attempt(ctx, batch) }); err != nil {
			return err
		}
		done += len(batch)
	}
	return nil
}

// attempt takes a batch back; it is tried again where other transactions keep it from its rows, and in halves where a group is in the way
// of the others.
func (u *undoer) attempt(ctx context.Context, batch []int64) error {
	before, kept := u.report.Restored, len(u.report.Kept)
	for tries := 1; ; tries++ {
		err := u.within(ctx, func() error { return u.restore(ctx, batch) })
		if err == nil {
			return nil
		}
		u.report.Restored, u.report.Kept = before, u.report.Kept[:kept]
		class := u.classify(err)
		inTheWay := class == ofRows || errors.Is(err, ErrRefused)
		switch {
		case class == ofRows && len(u.finished) > 0:
			return refuse("group %d and those before it cannot be restored: %w (semel dedupe finish made the unique index %s: let the guard take its place with --drop-index)", batch[0], u.explain(err), strings.Join(u.finished, ", "))
		case len(batch) > 1 && (inTheWay || errors.Is(err, errShared)):
			half := len(batch) / 2
			if err := u.attempt(ctx, batch[:half]); err != nil {
				return err
			}
			return u.attempt(ctx, batch[half:])
		case inTheWay:
			return u.block(ctx, batch[0], u.explain(err))
		case class != transient || tries == maxTries:
			return u.explain(err)
		}
		if err := pause(ctx, time.Duration(tries)*100*time.Millisecond); err != nil {
			return err
		}
	}
}

// end closes a run that is taken back as a whole.
func (u *undoer) end(ctx context.Context, group int64) error {
	if group != 0 || u.blocked {
		return nil
	}
	return u.within(ctx, func() error {
		if _, err := u.exec(ctx, "UPDATE semel_dedupe_map SET state = 3 WHERE run = $1 AND state = 0", u.run); err != nil {
			return err
		}
		//semel:safe only a time differs, and one transaction holds it
		_, err := u.exec(ctx, "UPDATE semel_dedupe_run SET undone_at = "+u.clock()+" WHERE id = $1", u.run)
		return err
	})
}
