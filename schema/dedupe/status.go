package dedupe

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"strings"
	"time"
)

// State is a run as the database knows it.
type State struct {
	Run      int64      `json:"run"`
	Name     string     `json:"name"`
	Table    string     `json:"table"`
	Started  time.Time  `json:"started"`
	By       string     `json:"by"`
	Finished *time.Time `json:"finished,omitempty"`
	Undone   *time.Time `json:"undone,omitempty"`
	Merged   int64      `json:"merged"`
	Open     int64      `json:"open"`
	Refused  int64      `json:"refused"`
	Restored int64      `json:"restored"`
	// Found is the number of losers that the run began with, and Uncounted says that they are too many to be counted by their
	// state. Only [Database.Recent] sets them.
	Found     int64 `json:"-"`
	Uncounted bool  `json:"-"`
}

// maxCounted bounds the rows that [Database.Recent] counts.
const maxCounted = 100_000

// timeOf reads a time as the ledger has it, in UTC; nil where there is none, and momentOf the zero time.
func timeOf(text sql.NullString) *time.Time {
	if at := momentOf(text); !at.IsZero() {
		return &at
	}
	return nil
}

func momentOf(text sql.NullString) time.Time {
	at, _ := time.Parse("2006-01-02 15:04:05.999999", text.String) // the zero time with an error
	return at
}

// Status lists the runs, the last one first.
func (d *Database) Status(ctx context.Context) (all []State, err error) {
	err = d.read(ctx, func(s *dbSession) error {
		if all, err = s.runs(ctx, " ORDER BY id DESC"); err != nil {
			return err
		}
		return s.countStates(ctx, all, "")
	})
	return all, err
}

// Recent lists the runs before one, or all where that is 0: the last ones, of which it returns at most so many. It counts no more than
// 100,000 losers by their state, those of the last runs first.
func (d *Database) Recent(ctx context.Context, before int64, most int) (all []State, err error) {
	which := ""
	if before > 0 {
		which = " WHERE id < " + strconv.FormatInt(before, 10)
	}
	err = d.read(ctx, func(s *dbSession) error {
		if all, err = s.runs(ctx, which+" ORDER BY id DESC LIMIT "+strconv.Itoa(most)); err != nil {
			return err
		}
		left, few := int64(maxCounted), []string{"0"}
		for i := range all {
			one := &all[i] // the order of items is that of groups
			err := s.one(ctx, "SELECT item FROM semel_dedupe_map WHERE run = $1 ORDER BY grp DESC, item DESC LIMIT 1", []any{one.Run}, &one.Found)
			if err != nil && !errors.Is(err, sql.ErrNoRows) {
				return err
			}
			if one.Uncounted = one.Found > left; !one.Uncounted {
				left -= one.Found
				few = append(few, strconv.FormatInt(one.Run, 10))
			}
		}
		return s.countStates(ctx, all, " WHERE run IN ("+strings.Join(few, ", ")+")")
	})
	return all, err
}

// runs lists runs without the counts of their losers.
func (s *dbSession) runs(ctx context.Context, which string) (all []State, err error) {
	err = s.each(ctx, "SELECT id, name, tbl, "+s.moment("started_at")+", started_by, "+s.moment("finished_at")+", "+s.moment("undone_at")+" FROM semel_dedupe_run"+which, nil, func(rows *sql.Rows) error {
		var one State
		var started, finished, undone sql.NullString
		err := rows.Scan(&one.Run, &one.Name, &one.Table, &started, &one.By, &finished, &undone)
		one.Started, one.Finished, one.Undone = momentOf(started), timeOf(finished), timeOf(undone)
		all = append(all, one)
		return err
	})
	return all, err
}

// countStates counts the losers of runs by their state.
func (s *dbSession) countStates(ctx context.Context, all []State, which string) error {
	return s.each(ctx, "SELECT run, state, count(*) FROM semel_dedupe_map"+which+" GROUP BY run, state", nil, func(rows *sql.Rows) error {
		var run, state, n int64
		err := rows.Scan(&run, &state, &n)
		for i := range all {
			if one := &all[i]; one.Run == run && state >= 0 && state <= 3 {
				*[]*int64{&one.Open, &one.Merged, &one.Refused, &one.Restored}[state] = n
			}
		}
		return err
	})
}

// read calls work on a database in which the tool has tables, and does nothing in another one.
func (d *Database) read(ctx context.Context, work func(*dbSession) error) (err error) {
	s, err := d.openSession(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	has, err := s.kept(ctx)
	if err != nil || !has {
		return err
	}
	return work(s)
}

// Trace is one merge of a row.
type Trace struct {
	Table  string    `json:"table"`
	Key    string    `json:"key"`
	Winner string    `json:"winner"`
	Run    int64     `json:"run"`
	Group  int64     `json:"group"`
	At     time.Time `json:"at"`
	// Row is the row as it was, a JSON object of texts.
	Row string `json:"row"`
	// Purged says that the audit of the merge was deleted: At is when the run began, and Row is empty.
	Purged bool `json:"purged,omitempty"`
}

// maxTraces bounds how often a row, its winner and so on can have been merged.
const maxTraces = 1000

// Show follows a row that was merged: into which, and into which that one was merged. The table may be "" for all.
func (d *Database) Show(ctx context.Context, table, id string) (all []Trace, err error) {
	err = d.read(ctx, func(s *dbSession) error {
		return s.eachKey(ctx, id, func(key string) error {
			if len(all) > 0 {
				return nil
			}
			return s.each(ctx, `WITH RECURSIVE trace AS (
    SELECT run, grp, id, tbl, winner, 1 AS depth FROM semel_dedupe_audit WHERE step = 2 AND undone_at IS NULL AND "key" = $1 AND ($2 = '' OR tbl = $2 OR tbl LIKE concat('%.', $2))
    UNION ALL
    SELECT a.run, a.grp, a.id, a.tbl, a.winner, t.depth + 1 FROM trace AS t
    JOIN semel_dedupe_audit AS a ON a.tbl = t.tbl AND a."key" = t.winner AND a.step = 2 AND a.undone_at IS NULL AND a.run > t.run
    WHERE t.depth < $3
) SELECT a.tbl, a."key", a.winner, a.run, a.grp, `+s.moment("a.at")+", "+s.plain("a.whole")+" FROM trace AS t JOIN semel_dedupe_audit AS a ON a.run = t.run AND a.grp = t.grp AND a.id = t.id ORDER BY a.tbl, t.depth", []any{key, table, maxTraces}, func(rows *sql.Rows) error {
				var one Trace
				var when sql.NullString
				err := rows.Scan(&one.Table, &one.Key, &one.Winner, &one.Run, &one.Group, &when, &one.Row)
				one.At = momentOf(when)
				all = append(all, one)
				return err
			})
		})
	})
	return all, err
}

// ShowPurged does the same for rows of runs whose audit was deleted, by the map, which it reads as a whole. It also returns the runs
// of which the map has nothing either.
func (d *Database) ShowPurged(ctx context.Context, table, id string) (all []Trace, unknown []int64, err error) {
	err = d.read(ctx, func(s *dbSession) error {
		err := s.eachKey(ctx, id, func(key string) error {
			return s.each(ctx, "SELECT r.tbl, m.loser, m.winner, m.run, m.grp, "+s.moment("r.started_at")+" FROM semel_dedupe_map AS m JOIN semel_dedupe_run AS r ON r.id = m.run WHERE m.loser = $1 AND m.state = 1"+
				" AND ($2 = '' OR r.tbl = $2 OR r.tbl LIKE concat('%.', $2)) AND NOT EXISTS (SELECT 1 FROM semel_dedupe_audit AS a WHERE a.run = m.run AND a.grp = m.grp AND a.step = 2 AND a.tbl = r.tbl AND a.\"key\" = m.loser)"+
				" ORDER BY m.run", []any{key, table}, func(rows *sql.Rows) error {
				one := Trace{Purged: true}
				var when sql.NullString
				err := rows.Scan(&one.Table, &one.Key, &one.Winner, &one.Run, &one.Group, &when)
				one.At = momentOf(when)
				all = append(all, one)
				return err
			})
		})
		if err != nil {
			return err
		}
		unknown, err = scanned[int64](ctx, s, "SELECT id FROM semel_dedupe_run WHERE undone_at IS NULL AND NOT EXISTS (SELECT 1 FROM semel_dedupe_map WHERE run = id) ORDER BY id")
		return err
	})
	return all, unknown, err
}
