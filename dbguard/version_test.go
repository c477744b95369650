package dbguard_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/dbguard"
	"github.com/semel-dev/semel/internal/guardtest"
)

// newPages makes rows at version 0.
func newPages(t *testing.T, db *guardtest.Database, keys int) {
	t.Helper()
	binary := map[dbguard.Dialect]string{dbguard.PostgreSQL: "bytea", dbguard.MySQL: "binary(32)", dbguard.SQLite: "BLOB"}[db.Dialect()]
	db.Run(t, "CREATE TABLE page (tenant int NOT NULL, id int NOT NULL, body int NOT NULL, version bigint NOT NULL, last_key "+binary+", PRIMARY KEY (tenant, id))")
	db.Insert(t, keys, "INSERT INTO page (tenant, id, body, version) VALUES (7, {key}, 0, 0)")
}

func page(id int) dbguard.Row {
	return dbguard.Row{Table: "page", Key: []dbguard.Cell{{Column: "tenant", Value: 7}, {Column: "id", Value: id}}}
}

func body(n int) []dbguard.Cell { return []dbguard.Cell{{Column: "body", Value: n}} }

// memories are the ways to remember the key of a change.
func memories(t *testing.T, db *guardtest.Database) map[string]func(c *dbguard.Change) {
	t.Helper()
	d := newDedup(t, db)
	return map[string]func(*dbguard.Change){
		"dedup":  func(c *dbguard.Change) { c.Dedup = d },
		"column": func(c *dbguard.Change) { c.KeyColumn = "last_key" },
	}
}

// change makes a change, in a transaction where the memory asks for one.
var errStale = new(dbguard.StaleError)

func makeChange(ctx context.Context, db *guardtest.Database, c dbguard.Change) (changed dbguard.Changed, err error) {
	if c.Dedup == nil {
		return dbguard.UpdateVersion(ctx, db, c)
	}
	err = again(ctx, db, func(ctx context.Context, tx dbguard.Session) error {
		changed, err = dbguard.UpdateVersion(ctx, tx, c)
		return err
	})
	return changed, err
}

// Four intents of four callers each want to change a row that all have read: one
// intent does, and its callers learn it; the others are stale.
func TestVersionRace(t *testing.T) {
	t.Parallel()
	const twins = 4
	guardtest.EachRace(t, func(t *testing.T, db *guardtest.Database) {
		newPages(t, db, 2*guardtest.Keys)
		rows := 0
		for name, remember := range memories(t, db) {
			firstRow := rows
			rows += guardtest.Keys
			var firsts, replays, stale atomic.Int64
			guardtest.Race(t, guardtest.Callers, guardtest.Keys, func(ctx context.Context, caller, key int) error {
				intent := caller / twins
				c := dbguard.Change{Row: page(firstRow + key), Set: body(intent + 1), Key: semel.Key{Scope: "pages", Name: string(rune('a' + intent))}}
				c.Key.Name += keyOf(key).Name
				remember(&c)
				changed, err := makeChange(ctx, db, c)
				switch {
				case errors.Is(err, errStale):
					stale.Add(1)
					return nil
				case err == nil && changed.Replayed:
					replays.Add(1)
				case err == nil:
					firsts.Add(1)
				}
				return err
			})
			got := []int64{firsts.Load(), replays.Load(), stale.Load()}
			want := []int64{guardtest.Keys, guardtest.Keys * (twins - 1), guardtest.Keys * (guardtest.Callers - twins)}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: changed, replayed, stale (-want +got):\n%s", name, diff)
			}
		}
		if n := db.Number(t, "SELECT count(*) FROM page WHERE version <> 1 OR body = 0"); n != 0 {
			t.Errorf("%d rows were not changed exactly once", n)
		}
	})
}

// Replay, stale, gone, reused: each has its own answer, even after others' changes.
func TestVersionTellsApart(t *testing.T) {
	t.Parallel()
	guardtest.Each(t, func(t *testing.T, db *guardtest.Database) {
		newPages(t, db, 2)
		row := 0
		for name, remember := range memories(t, db) {
			key := func(s string) semel.Key { return semel.Key{Scope: name, Name: s} }
			do := func(id int, version int64, k string, fp byte) (dbguard.Changed, error) {
				c := dbguard.Change{Row: page(id), Version: version, Set: body(1), Key: key(k), Fingerprint: semel.Fingerprint{fp}}
				remember(&c)
				return makeChange(t.Context(), db, c)
			}
			id := row
			row++
			dedup := name == "dedup"
			for i, step := range []struct {
				version int64
				key     string
				fp      byte
				want    dbguard.Changed
				err     error
			}{
				{version: 0, key: "a", want: dbguard.Changed{Version: 1}},
				{version: 0, key: "a", want: dbguard.Changed{Version: 1, Replayed: true}},
				{version: 1, key: "a", want: dbguard.Changed{Version: 1, Replayed: true}}, // it has read the row again
				{version: 0, key: "b", err: errStale},
				{version: 5, key: "b", err: errStale},
				{version: 0, key: "a", fp: 1, err: map[bool]error{true: semel.ErrMismatch, false: errStale}[dedup]},
				{version: 1, key: "b", want: dbguard.Changed{Version: 2}}, // being stale did not use the key up
			} {
				got, err := do(id, step.version, step.key, step.fp)
				if !errors.Is(err, step.err) || got != step.want {
					t.Errorf("%s: step %d: got %+v, %v, want %+v, %v", name, i, got, err, step.want, step.err)
				}
			}
			got, err := do(id, 0, "a", 0) // after another caller's change
			if dedup && (err != nil || got != dbguard.Changed{Version: 1, Replayed: true}) {
				t.Errorf("%s: got %+v, %v, want a replay of version 1", name, got, err)
			}
			if !dedup && !errors.Is(err, errStale) {
				t.Errorf("%s: got %+v, %v, want a StaleError: the column remembers the last key only", name, got, err)
			}
			if _, err := do(99, 0, "z", 0); !errors.Is(err, dbguard.ErrNotFound) {
				t.Errorf("%s: no row: got %v, want ErrNotFound", name, err)
			}
		}
		_, err := dbguard.UpdateVersion(t.Context(), db, dbguard.Change{Row: page(0), Version: 7, Set: body(1)})
		if stale, ok := errors.AsType[*dbguard.StaleError](err); !ok || *stale != (dbguard.StaleError{Want: 7, Have: 2}) {
			t.Errorf("got %v, want a StaleError that wants 7 and has 2", err)
		}
	})
}

// Changes that could not mean what they say are refused before the database is
// asked.
func TestVersionRefuses(t *testing.T) {
	t.Parallel()
	db := guardtest.Open(t, dbguard.SQLite)
	newPages(t, db, 1)
	d := newDedup(t, db)
	for name, change := range map[string]dbguard.Change{
		"no row":             {Set: body(1)},
		"two memories":       {Row: page(0), Dedup: d, KeyColumn: "last_key", Key: keyOf(1)},
		"a key, no memory":   {Row: page(0), Key: keyOf(1)},
		"memory, no key":     {Row: page(0), KeyColumn: "last_key"},
		"sets the version":   {Row: page(0), Set: []dbguard.Cell{{Column: "version", Value: 9}}},
		"sets the key":       {Row: page(0), KeyColumn: "last_key", Key: keyOf(1), Set: []dbguard.Cell{{Column: "last_key"}}},
		"dedup on a pool":    {Row: page(0), Dedup: d, Key: keyOf(1)},
		"key is not unique":  {Row: dbguard.RowAt("page", "tenant", 7), Set: body(1)},
		"column has no name": {Row: page(0), Set: []dbguard.Cell{{Value: 9}}},
	} {
		if name == "key is not unique" {
			db.Run(t, "INSERT INTO page (tenant, id, body, version) VALUES (7, 100, 0, 0)")
		}
		if _, err := dbguard.UpdateVersion(t.Context(), db.Database, change); err == nil {
			t.Errorf("%s: it was taken", name)
		}
	}
}
