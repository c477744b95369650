package dedupe

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/semel-dev/semel/internal/texts"
	"github.com/semel-dev/semel/schema/catalog"
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
	// Kept are rows that were changed or deleted after the merge and were left as they are, and groups that stay merged.
	Kept []Kept `json:"kept,omitempty"`
}

// Kept is a row that an undo left as it is: the winner of a group that stays merged as a whole, or a row that left its group after
// the merge. The reason holds keys and names, but no other values.
type Kept struct {
	Table  string `json:"table"`
	Key    string `json:"key"`
	Reason string `json:"reason"`
}

// undoer takes a run back.
type undoer struct {
	*dbSession

	run    int64
	root   string // its table
	item   int64  // of one record; 0 for all
	by     string
	tables []*trail
	report *Undone
	pace   *pacer
	// finished are the unique indexes that may be in the way.
	finished []string
	// stays are the groups that this call leaves merged.
	stays map[int64]Kept
	// references are the foreign keys of the application, known those and what the plan of the run declares.
	references, known []link
	// needs are the groups for which each group waits, back those that this call took back.
	needs map[int64][]need
	back  map[int64]bool
}

// trail holds what the audit of a run has of one table.
type trail struct {
	*table

	// moved, filled, marked and yielded are the columns that the run changed.
	moved, filled, marked, yielded []string
	deleted                        bool
}

// Undo takes back what a run did, group by group, the last one first.
func (d *Database) Undo(ctx context.Context, target Target, o *Options) (report *Undone, err error) {
	s, err := d.openSession(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	u := &undoer{dbSession: s, run: target.Run, by: o.By, report: &Undone{Run: target.Run}, pace: &pacer{dbSession: s, Pace: o.Pace}}
	if err := u.pace.start(ctx); err != nil {
		return nil, err
	}
	plan, err := u.find(ctx)
	if err != nil {
		return nil, err
	}
	if err := u.read(ctx, plan); err != nil {
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
	} else if u.finished, err = u.dbSession.finished(ctx, u.root); err != nil {
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

// find finds the table of the run, and returns its plan.
func (u *undoer) find(ctx context.Context) (plan string, err error) {
	has, err := u.kept(ctx)
	if err == nil && has {
		err = u.mayWrite(ctx, runTables())
	}
	if err != nil {
		return "", err
	}
	var undone bool
	if has {
		err = u.one(ctx, "SELECT tbl, plan, undone_at IS NOT NULL FROM semel_dedupe_run WHERE id = $1", []any{u.run}, &u.root, &plan, &undone)
	}
	if undone {
		return "", refuse("run %d was undone already", u.run)
	}
	if !has || errors.Is(err, sql.ErrNoRows) {
		return "", refuse("run %d is not known here (see: semel dedupe status)", u.run)
	}
	return plan, err
}

// read collects what the audit of the run has of each table, which must be as it was.
func (u *undoer) read(ctx context.Context, plan string) error {
	schema, err := catalog.Read(ctx, u.DB, u.Dialect)
	if err != nil {
		return err
	}
	if u.references, err = u.dbSession.references(ctx, schema); err != nil {
		return err
	}
	v := &surveyor{schema: schema, engine: u.engine, site: &site{}, byName: map[string]*table{}}
	declared, err := u.declared(v, plan)
	if err != nil {
		return err
	}
	u.known = slices.Concat(u.references, declared)
	trails := map[string]*trail{}
	query := "SELECT tbl, step, " + u.plain("whole") + ", " + u.plain("old") + " FROM (SELECT min(id) AS first_id FROM semel_dedupe_audit WHERE run = $1 AND undone_at IS NULL GROUP BY tbl, step) AS f JOIN semel_dedupe_audit AS a ON a.id = f.first_id ORDER BY tbl, step"
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
	case stepYielded:
		t.yielded = names
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
func (s *dbSession) eachKey(ctx context.Context, text string, f func(key string) error) error {
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
	// Compared with each row of a run, the number of its run costs every pair of rows.
	last := strconv.FormatInt(u.run, 10)
	err := u.one(ctx, "SELECT a.tbl, a.winner, b.run, b.winner FROM semel_dedupe_audit AS a JOIN semel_dedupe_audit AS b ON b.tbl = a.tbl AND b.\"key\" = a.winner AND b.step = 2 AND b.run > "+last+" AND b.undone_at IS NULL"+
		" WHERE a.run = "+last+" AND a.step = 2 AND a.undone_at IS NULL"+u.only("a", group)+" ORDER BY b.run DESC LIMIT 1", nil, &table, &winner, &run, &later)
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

// groups takes groups back in batches, the last one first. A group can wait for rows of one that comes after it, so those that
// stay merged are tried again until nothing more comes back.
func (u *undoer) groups(ctx context.Context, only int64, progress func(done, all int, waits string)) error {
	units, err := u.units(ctx, only)
	if err != nil {
		return err
	}
	defer func() {
		for _, number := range slices.Sorted(maps.Keys(u.stays)) {
			u.report.Kept = append(u.report.Kept, u.stays[number])
		}
	}()
	all, done := 0, 0
	for _, unit := range units {
		all += len(unit)
	}
	say := func(waits string) {
		if progress != nil {
			progress(done, all, waits)
		}
	}
	for before := -1; len(units) != before && len(units) > 0; {
		before, u.stays = len(units), map[int64]Kept{}
		if err := u.batches(ctx, units, &done, say); err != nil {
			return err
		}
		units = slices.DeleteFunc(units, u.cameBack)
	}
	return nil
}

func (u *undoer) cameBack(unit []int64) bool { _, stays := u.stays[unit[0]]; return !stays }

// batches tries every unit once, and adds the groups that come back to done.
func (u *undoer) batches(ctx context.Context, left [][]int64, done *int, say func(waits string)) error {
	for len(left) > 0 {
		say("")
		if err := u.pace.wait(ctx, say); err != nil {
			return err
		}
		n := size(left, u.pace.most())
		if err := u.pace.during(func() error { return u.attempt(ctx, left[:n:n]) }); err != nil {
			return err
		}
		for _, unit := range left[:n] {
			if u.cameBack(unit) {
				*done += len(unit)
			}
		}
		left = left[n:]
	}
	return nil
}

// size is the number of units with at most so many groups; at least 1.
func size(units [][]int64, most int) int {
	groups := 0
	for i, unit := range units {
		if groups += len(unit); groups > most {
			return max(i, 1)
		}
	}
	return len(units)
}

// attempt takes a batch back, but no unit of it with a group that cannot come back as a whole. It is tried again where other
// transactions keep it from its rows, and in halves where a unit is in the way of the others.
func (u *undoer) attempt(ctx context.Context, batch [][]int64) error {
	before, kept := u.report.Restored, len(u.report.Kept)
	for tries := 1; len(batch) > 0; tries++ {
		err := u.within(ctx, func() error { return u.restore(ctx, batch) })
		if err == nil {
			for _, grp := range slices.Concat(batch...) {
				u.back[grp] = true
			}
			return nil
		}
		u.report.Restored, u.report.Kept = before, u.report.Kept[:kept]
		if refused, ok := errors.AsType[*refusedError](err); ok {
			if batch, err = u.stay(ctx, batch, refused.reasons); err != nil {
				return err
			}
			tries = 0
			continue
		}
		class := u.classify(err)
		inTheWay := class == ofRows || errors.Is(err, ErrRefused)
		switch {
		case class == ofRows && len(u.finished) > 0:
			return refuse("group %d and those before it cannot be restored: %w (semel dedupe finish made the unique index %s: let the guard take its place with --drop-index)", batch[0][0], u.explain(err), strings.Join(u.finished, ", "))
		case len(batch) > 1 && (inTheWay || errors.Is(err, errShared)):
			return u.halves(ctx, batch)
		case inTheWay:
			return u.block(ctx, batch[0], u.explain(err))
		case class != transient || tries == maxTries:
			return u.explain(err)
		}
		if err := pause(ctx, time.Duration(tries)*100*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// halves takes the halves of a batch back, one after the other.
func (u *undoer) halves(ctx context.Context, batch [][]int64) error {
	half := len(batch) / 2
	if err := u.attempt(ctx, batch[:half:half]); err != nil {
		return err
	}
	return u.attempt(ctx, batch[half:])
}

// end closes a run that is taken back as a whole.
func (u *undoer) end(ctx context.Context, group int64) error {
	if group != 0 || len(u.stays) > 0 {
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
