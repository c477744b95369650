package dbguard_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/dbguard"
	"github.com/semel-dev/semel/internal/guardtest"
)

func upsertion(email, note string, amount any) *dbguard.Upsertion {
	rule := customerRule()
	rule.MayChange, rule.MustNotChange = []string{"note"}, []string{"amount"}
	return &dbguard.Upsertion{Insert: dbguard.Insert{
		Table:     "customers",
		Columns:   []string{"tenant_id", "email", "note", "amount"},
		Values:    []any{1, email, note, amount},
		Unique:    dbguard.Target{Rule: rule},
		Returning: []string{"id", "note"},
	}}
}

type noted struct {
	ID   int64
	Note string
}

func scanNoted(rows dbguard.Rows) (n noted, err error) { return n, rows.Scan(&n.ID, &n.Note) }

func TestUpsert(t *testing.T) {
	t.Parallel()
	guardtest.Each(t, func(t *testing.T, db *guardtest.Database) {
		customers(t, db)
		db.Run(t, "CREATE TABLE writes (n int)")
		if db.Dialect() != dbguard.PostgreSQL {
			db.Run(t, "CREATE TRIGGER seen AFTER UPDATE ON customers FOR EACH ROW "+map[dbguard.Dialect]string{
				dbguard.MySQL: "INSERT INTO writes VALUES (1)", dbguard.SQLite: "BEGIN INSERT INTO writes VALUES (1); END",
			}[db.Dialect()])
		} else {
			db.Run(t, "CREATE FUNCTION seen() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO writes VALUES (1); RETURN NULL; END'",
				"CREATE TRIGGER seen AFTER UPDATE ON customers FOR EACH ROW EXECUTE FUNCTION seen()")
		}
		steps := []struct {
			name   string
			send   *dbguard.Upsertion
			change dbguard.Upserted
			note   string
			fields []string // where it is refused
		}{
			{"new", upsertion("ada", "a", "1.005"), dbguard.Upserted{Created: true}, "a", nil},
			{"again", upsertion(" ADA", "a", "1.005"), dbguard.Upserted{}, "a", nil}, // stored as 1.01
			{"changed", upsertion("ada", "b", "1.005"), dbguard.Upserted{Updated: true}, "b", nil},
			{"changed, again", upsertion("ada", "b", "1.005"), dbguard.Upserted{}, "b", nil},
			{"must not change", upsertion("ada", "c", "2"), dbguard.Upserted{}, "", []string{"amount"}},
			{"must not become NULL", upsertion("ada", "b", nil), dbguard.Upserted{}, "", []string{"amount"}},
			{"unchanged by refusals", upsertion("ada", "b", "1.005"), dbguard.Upserted{}, "b", nil},
			{"another", upsertion("eva", "b", nil), dbguard.Upserted{Created: true}, "b", nil},
			{"NULL is NULL", upsertion("eva", "b", nil), dbguard.Upserted{}, "b", nil},
			{"NULL must not become a value", upsertion("eva", "b", 0), dbguard.Upserted{}, "", []string{"amount"}},
		}
		for _, step := range steps {
			got, change, err := dbguard.Upsert(t.Context(), db.Database, step.send, scanNoted)
			if refused, ok := errors.AsType[*dbguard.RefusedError](err); step.fields != nil {
				if !ok || !cmp.Equal(refused.Fields, step.fields) {
					t.Errorf("%s: %v, want it refused for %v", step.name, err, step.fields)
				}
				continue
			}
			if err != nil || change != step.change || got.Note != step.note || got.ID == 0 {
				t.Errorf("%s: %+v, %s, %v; want note %s, %s", step.name, got, change, err, step.note, step.change)
			}
		}
		if n := db.Number(t, "SELECT count(*) FROM writes"); n != 1 {
			t.Errorf("rows were written %d times, want once, when the note changed", n)
		}
		if n := db.Number(t, "SELECT count(*) FROM customers"); n != 2 {
			t.Errorf("there are %d rows, want 2", n)
		}
		upsertMeetsAnotherIndex(t, db)
	})
}

// A row that runs into another index is refused, and the other row is left alone.
func upsertMeetsAnotherIndex(t *testing.T, db *guardtest.Database) {
	t.Helper()
	db.Run(t, "UPDATE customers SET code = 7 WHERE email = 'eva'")
	u := upsertion("kim", "x", nil)
	u.Columns, u.Values = append(u.Columns, "code"), append(u.Values, 7)
	_, _, err := dbguard.Upsert(t.Context(), db.Database, u, scanNoted)
	conflict, ok := errors.AsType[*dbguard.Conflict](err)
	if !ok || conflict.Rule != nil {
		t.Errorf("another index: %v", err)
	}
	if n := db.Number(t, "SELECT count(*) FROM customers WHERE note = 'x'"); n != 0 {
		t.Error("the upsert changed the row that it met by another index")
	}
}

// Of many who send the same row at the same moment, one creates it, none reports
// a change, and all get the same.
func TestUpsertRace(t *testing.T) {
	t.Parallel()
	guardtest.EachRace(t, func(t *testing.T, db *guardtest.Database) {
		customers(t, db)
		var created, updated atomic.Int64
		guardtest.Race(t, guardtest.Callers, guardtest.Keys, func(ctx context.Context, caller, key int) error {
			var change dbguard.Upserted
			work := func(ctx context.Context, s dbguard.Session) (err error) {
				_, change, err = dbguard.Upsert(ctx, s, upsertion(fmt.Sprint(key), "a", "7"), scanNoted)
				return err
			}
			if err := inTurn(ctx, db, caller, work); err != nil {
				return err
			}
			if change.Created {
				created.Add(1)
			}
			if change.Updated {
				updated.Add(1)
			}
			return nil
		})
		if n := db.Number(t, "SELECT count(*) FROM customers"); n != guardtest.Keys || created.Load() != guardtest.Keys || updated.Load() != 0 {
			t.Errorf("%d rows, created %d, updated %d; want %d, %[4]d, 0", n, created.Load(), updated.Load(), guardtest.Keys)
		}
	})
}

// Of many who send other values that must not change, the first one's stay.
func TestUpsertRaceRefuses(t *testing.T) {
	t.Parallel()
	const keys = 50
	guardtest.EachRace(t, func(t *testing.T, db *guardtest.Database) {
		customers(t, db)
		var refused atomic.Int64
		guardtest.Race(t, guardtest.Callers, keys, func(ctx context.Context, caller, key int) error {
			_, _, err := dbguard.Upsert(ctx, db.Database, upsertion(fmt.Sprint(key), fmt.Sprint(caller), caller), scanNoted)
			if is[*dbguard.RefusedError](err) {
				refused.Add(1)
				return nil
			}
			return err
		})
		if want := int64(keys * (guardtest.Callers - 1)); refused.Load() != want {
			t.Errorf("%d were refused, want %d", refused.Load(), want)
		}
		sameAmount := "CAST(note AS decimal(10, 2)) = amount"
		if n := db.Number(t, "SELECT count(*) FROM customers WHERE "+sameAmount); n != keys {
			t.Errorf("%d of %d rows are from one caller", n, keys)
		}
	})
}

func TestUpsertRefusesNonsense(t *testing.T) {
	t.Parallel()
	db := guardtest.Open(t, dbguard.SQLite)
	tests := map[string]func(u *dbguard.Upsertion){
		"nothing to compare": func(u *dbguard.Upsertion) { u.Unique.Rule.MayChange, u.Unique.Rule.MustNotChange = nil, nil },
		"not sent":           func(u *dbguard.Upsertion) { u.MayChange = []string{"code"} },
		"both":               func(u *dbguard.Upsertion) { u.MayChange, u.MustNotChange = []string{"note"}, []string{"note"} },
		"no target":          func(u *dbguard.Upsertion) { u.Unique.Rule = nil },
	}
	for name, change := range tests {
		u := upsertion("ada", "a", 1)
		change(u)
		if _, _, err := dbguard.Upsert(t.Context(), db.Database, u, scanNoted); err == nil || is[*dbguard.Conflict](err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
