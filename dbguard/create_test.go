package dbguard_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/semel-dev/semel/dbguard"
	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/guardtest"
	"github.com/semel-dev/semel/internal/rules/expression"
	"github.com/semel-dev/semel/rules"
)

// customers makes a table with a rule on it, and one more unique index.
func customers(tb testing.TB, db *guardtest.Database) {
	tb.Helper()
	id, generated, email := "id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY", "", "(lower(trim(email)))"
	switch db.Dialect() {
	case dbguard.MySQL:
		id, generated, email = "id bigint AUTO_INCREMENT PRIMARY KEY", ", mail varchar(100) AS (IF(deleted_at IS NULL, lower(trim(email)), NULL))", "(tenant_id, mail)"
	case dbguard.SQLite:
		id = "id integer PRIMARY KEY"
	case dbguard.PostgreSQL:
	}
	if db.Dialect() != dbguard.MySQL {
		email = "(tenant_id, lower(trim(email))) WHERE deleted_at IS NULL"
	}
	db.Run(
		tb,
		"CREATE TABLE customers ("+id+", tenant_id int NOT NULL, email varchar(100), code int, note varchar(100), amount decimal(10, 2), "+
			"deleted_at varchar(30)"+generated+")",
		"CREATE UNIQUE INDEX customer_email ON customers "+email,
		"CREATE UNIQUE INDEX customer_code ON customers (code)",
	)
}

// customerRule is the rule of [customers].
func customerRule() *rules.Unique {
	lowered, err := expression.Parse("lower(trim(email))")
	if err != nil {
		panic(err)
	}
	return &rules.Unique{
		Name: "customer_email", Table: "customers",
		Scope:  []rules.Term{column("tenant_id")},
		Fields: []rules.Term{{Text: "lower(trim(email))", Columns: []string{"email"}, Expr: lowered}},
		Except: []rules.Exception{{Counts: expression.Condition{Column: "deleted_at", Test: expression.Null}}},
	}
}

func customer(email string, code any) *dbguard.Insert {
	return &dbguard.Insert{
		Table:     "customers",
		Columns:   []string{"tenant_id", "email", "code"},
		Values:    []any{1, email, code},
		Unique:    dbguard.Target{Rule: customerRule()},
		Returning: []string{"id"},
	}
}

func scanID(rows dbguard.Rows) (id int64, err error) { return id, rows.Scan(&id) }

func TestCreateOrReuse(t *testing.T) {
	t.Parallel()
	guardtest.Each(t, func(t *testing.T, db *guardtest.Database) {
		customers(t, db)
		create := func(in *dbguard.Insert) (int64, bool, error) {
			return dbguard.CreateOrReuse(t.Context(), db.Database, in, scanID)
		}
		first, created, err := create(customer("Ada@Example.test", 1))
		if err != nil || !created || first == 0 {
			t.Fatalf("first: %d, %v, %v", first, created, err)
		}
		again, created, err := create(customer(" ada@example.TEST ", 2))
		if err != nil || created || again != first {
			t.Errorf("again: %d, %v, %v; want %d, false", again, created, err, first)
		}
		_, _, err = create(customer("eva@example.test", 1))
		conflict, ok := errors.AsType[*dbguard.Conflict](err)
		if !ok || conflict.Rule != nil {
			t.Errorf("another index: %v", err)
		}
		db.Run(t, "UPDATE customers SET deleted_at = 'today'")
		next, created, err := create(customer("ada@example.test", 3))
		if err != nil || !created || next == first {
			t.Errorf("after it was deleted: %d, %v, %v", next, created, err)
		}
		other := customer("ada@example.test", 4)
		other.Values[0] = 2
		if id, created, err := create(other); err != nil || !created || id == next {
			t.Errorf("another scope: %d, %v, %v", id, created, err)
		}
		if n := db.Number(t, "SELECT count(*) FROM customers"); n != 3 {
			t.Errorf("there are %d rows, want 3", n)
		}
	})
}

// Concurrent callers that send the same thing get the same row, and it is new for
// one of them.
func TestCreateOrReuseRace(t *testing.T) {
	t.Parallel()
	guardtest.EachRace(t, func(t *testing.T, db *guardtest.Database) {
		customers(t, db)
		var mu sync.Mutex
		ids, created := make(map[int]int64), make(map[int]int)
		guardtest.Race(t, guardtest.Callers, guardtest.Keys, func(ctx context.Context, caller, key int) error {
			var id int64
			var isNew bool
			work := func(ctx context.Context, s dbguard.Session) (err error) {
				id, isNew, err = dbguard.CreateOrReuse(ctx, s, customer(fmt.Sprint(key), nil), scanID)
				return err
			}
			if err := inTurn(ctx, db, caller, work); err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			if isNew {
				created[key]++
			}
			if known, ok := ids[key]; ok && known != id {
				return fmt.Errorf("caller %d got %d, another %d", caller, id, known)
			}
			ids[key] = id
			return nil
		})
		if n := db.Number(t, "SELECT count(*) FROM customers"); n != guardtest.Keys {
			t.Errorf("there are %d rows, want %d", n, guardtest.Keys)
		}
		for key := range guardtest.Keys {
			if created[key] != 1 {
				t.Fatalf("key %d: %d callers report that they created it", key, created[key])
			}
		}
	})
}

// inTurn does the work on the pool, in a transaction, or in one at REPEATABLE
// READ that has looked around before, by the number of the caller.
func inTurn(ctx context.Context, db *guardtest.Database, caller int, work func(context.Context, dbguard.Session) error) error {
	for range 100 {
		var err error
		switch caller % 3 {
		case 0:
			return work(ctx, db.Database)
		case 1:
			err = db.InTx(ctx, work)
		default:
			err = db.InSnapshot(ctx, "customers", work)
		}
		if !errors.Is(err, dbguard.ErrSerialization) {
			return err
		}
	}
	return errors.New("a hundred transactions in a row met another one")
}

// The usual code: select, and insert when there is nothing. Without an index it
// makes duplicates ([TestLookThenWriteLoses]); with one, all callers but the first get an error.
func TestSelectThenInsertFails(t *testing.T) {
	t.Parallel()
	guardtest.Each(t, func(t *testing.T, db *guardtest.Database) {
		customers(t, db)
		p := dialect.Dialect(db.Dialect()).Placeholder(1)
		var looked sync.WaitGroup
		looked.Add(guardtest.Callers)
		var conflicts atomic.Int64
		guardtest.Race(t, guardtest.Callers, 1, func(ctx context.Context, _, _ int) error {
			n, err := guardtest.Number(ctx, db, "SELECT count(*) FROM customers WHERE email = "+p, "ada")
			looked.Done()
			if err != nil || n > 0 {
				return err
			}
			looked.Wait()
			_, err = db.Exec(ctx, "INSERT INTO customers (email, tenant_id) VALUES ("+p+", 1)", "ada")
			if is[*dbguard.Conflict](dbguard.NewTranslator(nil).Translate(err)) {
				conflicts.Add(1)
				return nil
			}
			return err
		})
		if n := db.Number(t, "SELECT count(*) FROM customers"); n != 1 || conflicts.Load() != guardtest.Callers-1 {
			t.Errorf("%d rows and %d errors, want 1 and %d", n, conflicts.Load(), guardtest.Callers-1)
		}
	})
}

// The popular one-statement form finds nothing when another transaction is just
// inserting the row: its SELECT has the snapshot from before it waited.
func TestOneStatementFindsNothing(t *testing.T) {
	t.Parallel()
	db := guardtest.Pgx(t)
	customers(t, db)
	const popular = `WITH made AS (INSERT INTO customers (tenant_id, email, code) VALUES (1, 'ada', 7) ON CONFLICT (code) DO NOTHING RETURNING id)
		SELECT id FROM made UNION ALL SELECT id FROM customers WHERE code = 7`
	guards := map[string]func(ctx context.Context) (int64, error){
		"popular": func(ctx context.Context) (int64, error) {
			var id int64
			err := db.Pool.QueryRow(ctx, popular).Scan(&id)
			return id, err
		},
		"CreateOrReuse": func(ctx context.Context) (int64, error) {
			in := customer("ada", 7)
			in.Unique = dbguard.Target{Columns: []string{"code"}}
			id, _, err := dbguard.CreateOrReuse(ctx, db.Database, in, scanID)
			return id, err
		},
	}
	for name, guard := range guards {
		db.Run(t, "DELETE FROM customers")
		tx, err := db.Pool.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(t.Context(), "INSERT INTO customers (tenant_id, email, code) VALUES (1, 'ada', 7)"); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		var id int64
		go func() {
			var err error
			id, err = guard(t.Context())
			done <- err
		}()
		waiting := fmt.Sprintf("SELECT count(*) FROM pg_stat_activity WHERE %d = ANY (pg_blocking_pids(pid))", tx.Conn().PgConn().PID())
		for db.Number(t, waiting) == 0 {
			if t.Context().Err() != nil {
				t.Fatal("the other never waited")
			}
		}
		noError(t, tx.Commit(t.Context()))
		err = <-done
		if found := err == nil && id != 0; found != (name == "CreateOrReuse") {
			t.Errorf("%s: id %d, %v", name, id, err)
		}
	}
}

// At REPEATABLE READ a row that is newer than the snapshot is found on MySQL, and
// an error that says what to do where the database ends such a transaction.
func TestCreateOrReuseRepeatableRead(t *testing.T) {
	t.Parallel()
	guardtest.Each(t, func(t *testing.T, db *guardtest.Database) {
		if db.Dialect() == dbguard.SQLite {
			return // its transactions exclude each other
		}
		customers(t, db)
		err := db.InSnapshot(t.Context(), "customers", func(ctx context.Context, tx dbguard.Session) error {
			want, _, err := dbguard.CreateOrReuse(ctx, db.Database, customer("ada", nil), scanID)
			if err != nil {
				return err
			}
			got, created, err := dbguard.CreateOrReuse(ctx, tx, customer("ada", nil), scanID)
			if err == nil && (created || got != want) {
				t.Errorf("got %d, %v; want %d, false", got, created, want)
			}
			return err
		})
		if errors.Is(err, dbguard.ErrSerialization) != db.Strict || err != nil && !errors.Is(err, dbguard.ErrSerialization) {
			t.Errorf("error %v", err)
		}
	})
}

// With NULLs that are the same, a row without a value is found too.
func TestCreateOrReuseNulls(t *testing.T) {
	t.Parallel()
	db := guardtest.Open(t, dbguard.PostgreSQL)
	customers(t, db)
	db.Run(t, "CREATE UNIQUE INDEX noted ON customers (note) NULLS NOT DISTINCT")
	in := &dbguard.Insert{
		Table: "customers", Columns: []string{"tenant_id", "note"}, Values: []any{1, (*string)(nil)}, Returning: []string{"id"},
		Unique: dbguard.Target{Rule: &rules.Unique{Name: "noted", Table: "customers", Fields: []rules.Term{column("note")}, Nulls: rules.NullsSame}},
	}
	first, created, err := dbguard.CreateOrReuse(t.Context(), db.Database, in, scanID)
	if err != nil || !created {
		t.Fatalf("first: %v, %v", created, err)
	}
	if again, created, err := dbguard.CreateOrReuse(t.Context(), db.Database, in, scanID); err != nil || created || again != first {
		t.Errorf("again: %d, %v, %v; want %d, false", again, created, err, first)
	}
}

func TestCreateOrReuseRefuses(t *testing.T) {
	t.Parallel()
	db := guardtest.Open(t, dbguard.PostgreSQL)
	customers(t, db)
	tests := map[string]func(in *dbguard.Insert){
		"no values":             func(in *dbguard.Insert) { in.Values = in.Values[:1] },
		"no target":             func(in *dbguard.Insert) { in.Unique.Rule = nil },
		"nothing to return":     func(in *dbguard.Insert) { in.Returning = nil },
		"rule of another":       func(in *dbguard.Insert) { in.Unique.Rule.Table = "others" },
		"target without value":  func(in *dbguard.Insert) { in.Unique = dbguard.Target{Columns: []string{"note"}} },
		"expression without":    func(in *dbguard.Insert) { in.Columns[1] = "note" },
		"NULL in the target":    func(in *dbguard.Insert) { in.Unique = dbguard.Target{Columns: []string{"code"}} },
		"NULL in an expression": func(in *dbguard.Insert) { in.Unique.Rule.Nulls, in.Values[1] = rules.NullsDistinct, nil },
		"rule and predicate":    func(in *dbguard.Insert) { in.Unique.Where = "true" },
		"no such index":         func(in *dbguard.Insert) { in.Unique = dbguard.Target{Columns: []string{"email"}} },
		"no such table":         func(in *dbguard.Insert) { in.Table = "nowhere.customers" },
	}
	for name, change := range tests {
		in := customer("ada", sql.NullInt64{})
		change(in)
		_, created, err := dbguard.CreateOrReuse(t.Context(), db.Database, in, scanID)
		if err == nil || created || is[*dbguard.Conflict](err) {
			t.Errorf("%s: %v, %v", name, created, err)
		}
	}
	broken := errors.New("broken")
	_, _, err := dbguard.CreateOrReuse(t.Context(), db.Database, customer("ada", 1), func(dbguard.Rows) (int, error) { return 1, broken })
	if !errors.Is(err, broken) {
		t.Errorf("scan's error: %v", err)
	}
}
