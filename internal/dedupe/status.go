package dedupe

import (
	"context"
	"database/sql"
	"errors"
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
}

// states counts the losers of each run by their state.
const states = "SELECT run, sum(CASE WHEN state = 1 THEN 1 ELSE 0 END) AS merged, sum(CASE WHEN state = 0 THEN 1 ELSE 0 END) AS still, sum(CASE WHEN state = 2 THEN 1 ELSE 0 END) AS refused," +
	" sum(CASE WHEN state = 3 THEN 1 ELSE 0 END) AS undone FROM semel_dedupe_map GROUP BY run"

// timeOf reads a time as the ledger has it, in UTC; nil where there is none.
func timeOf(text sql.NullString) *time.Time {
	at, err := time.Parse("2006-01-02 15:04:05.999999", text.String)
	if err != nil {
		return nil
	}
	return &at
}

// Status lists the runs, the last one first.
func (d *Database) Status(ctx context.Context) (all []State, err error) {
	err = d.read(ctx, func(s *session) error {
		return s.each(ctx, "SELECT r.id, r.name, r.tbl, "+s.moment("r.started_at")+", r.started_by, "+s.moment("r.finished_at")+", "+s.moment("r.undone_at")+","+
			" coalesce(m.merged, 0), coalesce(m.still, 0), coalesce(m.refused, 0), coalesce(m.undone, 0) FROM semel_dedupe_run AS r LEFT JOIN ("+states+") AS m ON m.run = r.id ORDER BY r.id DESC", nil, func(rows *sql.Rows) error {
			var one State
			var started, finished, undone sql.NullString
			err := rows.Scan(&one.Run, &one.Name, &one.Table, &started, &one.By, &finished, &undone, &one.Merged, &one.Open, &one.Refused, &one.Restored)
			if at := timeOf(started); at != nil {
				one.Started = *at
			}
			one.Finished, one.Undone = timeOf(finished), timeOf(undone)
			all = append(all, one)
			return err
		})
	})
	return all, err
}

// read calls work on a database in which the tool has tables, and does nothing in another one.
func (d *Database) read(ctx context.Context, work func(*session) error) (err error) {
	s, err := d.open(ctx)
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
}

// maxTraces bounds how often a row, its winner and so on can have been merged.
const maxTraces = 1000

// Show follows a row that was merged: into which, and into which that one was merged. The table may be "" for all.
func (d *Database) Show(ctx context.Context, table, id string) (all []Trace, err error) {
	err = d.read(ctx, func(s *session) error {
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
				if at := timeOf(when); at != nil {
					one.At = *at
				}
				all = append(all, one)
				return err
			})
		})
	})
	return all, err
}
