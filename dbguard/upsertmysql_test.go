package dbguard_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/semel-dev/semel/dbguard"
	"github.com/semel-dev/semel/internal/guardtest"
)

// counted counts the statements of a pool. Without returning it takes for comments
// what MySQL does.
type counted struct {
	dbguard.Session

	returning  bool
	statements int
}

// Autocommits implements the method of [dbguard.Session].
func (*counted) Autocommits() bool { return true }

// Exec implements [dbguard.Session].
func (c *counted) Exec(ctx context.Context, statement string, args ...any) (int64, error) {
	c.statements++
	return c.Session.Exec(ctx, statement, args...)
}

// Query implements [dbguard.Session].
func (c *counted) Query(ctx context.Context, statement string, args ...any) (dbguard.Rows, error) {
	c.statements++
	if !c.returning {
		statement, _, _ = strings.Cut(statement, "/*M!")
	}
	return c.Session.Query(ctx, statement, args...)
}

// An upsert takes as many statements as its comment says, and updates nothing where only
// a type tells that the row is as it should be.
func TestUpsertStatements(t *testing.T) {
	t.Parallel()
	for name, returning := range map[string]bool{"mariadb": true, "mysql": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := guardtest.Open(t, dbguard.MySQL)
			customers(t, db)
			db.Run(t, "CREATE TABLE writes (n int)", "CREATE TRIGGER seen AFTER UPDATE ON customers FOR EACH ROW INSERT INTO writes VALUES (1)")
			for _, step := range []struct {
				name   string
				send   *dbguard.Upsertion
				change dbguard.Upserted
				want   map[bool]int
			}{
				{"new", upsertion("ada", "a", nil), dbguard.Upserted{Created: true}, map[bool]int{true: 2, false: 3}},
				{"again", upsertion(" ADA", "a", nil), dbguard.Upserted{}, map[bool]int{true: 1, false: 1}},
				{"changed", upsertion("Ada", "b", nil), dbguard.Upserted{Updated: true}, map[bool]int{true: 2, false: 3}},
				{"changed, again", upsertion("ada", "b", nil), dbguard.Upserted{}, map[bool]int{true: 1, false: 1}},
				{"new, of two decimals", upsertion("eva", "a", "1.005"), dbguard.Upserted{Created: true}, map[bool]int{true: 2, false: 3}},
				{"again, of three", upsertion("eva", "a", "1.005"), dbguard.Upserted{}, map[bool]int{true: 4, false: 4}},
			} {
				step.send.MayChange = []string{"note", "amount"}
				s := &counted{Session: db.Database, returning: returning}
				got, change, err := dbguard.Upsert(t.Context(), s, step.send, scanNoted)
				if err != nil || change != step.change || got.Note == "" || got.ID == 0 {
					t.Errorf("%s: %+v, %s, %v; want it %s", step.name, got, change, err, step.change)
				}
				if want := step.want[returning]; s.statements != want {
					t.Errorf("%s: %d statements, want %d", step.name, s.statements, want)
				}
			}
			if n := db.Number(t, "SELECT count(*) FROM writes"); n != 1 {
				t.Errorf("rows were updated %d times, want once, when the note changed", n)
			}
		})
	}
}

// Where an insert would not find the row that is to be changed, an update changes it, and
// no other.
func TestUpsertWhereNoInsertFindsTheRow(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]func(t *testing.T, db *guardtest.Database, u *dbguard.Upsertion){
		"another index comes first": func(t *testing.T, db *guardtest.Database, u *dbguard.Upsertion) {
			t.Helper()
			db.Run(t, "INSERT INTO customers (id, tenant_id, email, note) VALUES (7, 1, 'eva', 'hers')")
			u.Columns, u.Values = append(u.Columns, "id"), append(u.Values, 7)
		},
		"a new row would need more": func(t *testing.T, db *guardtest.Database, _ *dbguard.Upsertion) {
			t.Helper()
			db.Run(t, "ALTER TABLE customers ADD needed int NOT NULL")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := guardtest.Open(t, dbguard.MySQL)
			customers(t, db)
			db.Run(t, "INSERT INTO customers (tenant_id, email, note) VALUES (1, 'ada', 'old')")
			id := db.Number(t, "SELECT id FROM customers")
			u := upsertion("ada", "new", nil)
			test(t, db, u)
			others := db.Number(t, "SELECT count(*) FROM customers") - 1
			got, change, err := dbguard.Upsert(t.Context(), db.Database, u, scanNoted)
			if want := (dbguard.Upserted{Updated: true}); err != nil || change != want || got.ID != id || got.Note != "new" {
				t.Errorf("%+v, %s, %v; want row %d updated", got, change, err, id)
			}
			if n := db.Number(t, "SELECT count(*) FROM customers WHERE email = 'ada' OR note = 'hers'"); n != others+1 {
				t.Errorf("%d rows are there, or unchanged, want %d", n, others+1)
			}
		})
	}
}

// Where a server cuts values, an upsert that is sent again fails, and not as if another try might end better.
func TestUpsertOfWhatIsCut(t *testing.T) {
	t.Parallel()
	db := guardtest.Open(t, dbguard.MySQL)
	customers(t, db)
	db.SQL.SetMaxOpenConns(1)
	db.Run(t, "SET SESSION sql_mode = ''", "ALTER TABLE customers MODIFY note varchar(3)")
	if got, change, err := dbguard.Upsert(t.Context(), db.Database, upsertion("ada", "abcdef", nil), scanNoted); !change.Created || got.Note != "abc" || err != nil {
		t.Errorf("%+v, %s, %v", got, change, err)
	}
	_, _, err := dbguard.Upsert(t.Context(), db.Database, upsertion("ada", "abcdef", nil), scanNoted)
	if err == nil || errors.Is(err, dbguard.ErrSerialization) || !strings.Contains(err.Error(), "sql_mode is not strict") {
		t.Errorf("sent again: %v", err)
	}
}

// A row that does not count in the index is a new one, on every database, and what
// is there stays as it is.
func TestUpsertOfWhatDoesNotCount(t *testing.T) {
	t.Parallel()
	guardtest.Each(t, func(t *testing.T, db *guardtest.Database) {
		customers(t, db)
		for _, step := range []struct {
			deleted any
			want    dbguard.Upserted
		}{{nil, dbguard.Upserted{Created: true}}, {nil, dbguard.Upserted{}}, {"today", dbguard.Upserted{Created: true}}} {
			u := upsertion("ada", "a", nil)
			u.Columns, u.Values = append(u.Columns, "deleted_at"), append(u.Values, step.deleted)
			u.MayChange = []string{"note", "deleted_at"}
			if _, change, err := dbguard.Upsert(t.Context(), db.Database, u, scanNoted); change != step.want || err != nil {
				t.Errorf("deleted %v: %s, %v; want %s", step.deleted, change, err, step.want)
			}
		}
		if n := db.Number(t, "SELECT count(*) FROM customers WHERE deleted_at IS NULL"); n != 1 {
			t.Errorf("%d rows count, want the first one", n)
		}
	})
}
