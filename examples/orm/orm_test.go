package orm_test

import (
	"database/sql"
	"errors"
	"sync"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"
	"go.uber.org/goleak"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/examples/orm"
	"github.com/semel-dev/semel/examples/orm/bun"
	"github.com/semel-dev/semel/examples/orm/ent"
	"github.com/semel-dev/semel/examples/orm/gorm"
	"github.com/semel-dev/semel/examples/orm/sqlc"
	"github.com/semel-dev/semel/examples/orm/sqlx"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/pgstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// application is one of the examples on a fresh database.
type application struct {
	orm.Invoices

	db    *sql.DB
	store *pgstore.Store
}

// each runs a test for every library.
func each(t *testing.T, test func(*testing.T, application)) {
	t.Helper()
	for name, build := range map[string]func(*sql.DB, *semel.Guard) (orm.Invoices, error){
		"sqlc": func(db *sql.DB, g *semel.Guard) (orm.Invoices, error) { return sqlc.New(db, g), nil },
		"sqlx": func(db *sql.DB, g *semel.Guard) (orm.Invoices, error) { return sqlx.New(db, g), nil },
		"gorm": func(db *sql.DB, g *semel.Guard) (orm.Invoices, error) { return gorm.New(db, g) },
		"ent":  func(db *sql.DB, g *semel.Guard) (orm.Invoices, error) { return ent.New(db, g), nil },
		"bun":  func(db *sql.DB, g *semel.Guard) (orm.Invoices, error) { return bun.New(db, g), nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t, build))
		})
	}
}

func open(t *testing.T, build func(*sql.DB, *semel.Guard) (orm.Invoices, error)) application {
	t.Helper()
	dsn := testserver.PostgresDatabase(t)
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(5) // fewer than callers
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := db.ExecContext(t.Context(), orm.Schema); err != nil {
		t.Fatal(err)
	}
	store, err := pgstore.Open(t.Context(), dsn, &pgstore.Options{MaxConns: 3})
	if err != nil {
		t.Fatal(err)
	}
	guard, err := semel.New(store, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(guard.Close(), store.Close()); err != nil {
			t.Error(err)
		}
	})
	invoices, err := build(db, guard)
	if err != nil {
		t.Fatal(err)
	}
	return application{Invoices: invoices, db: db, store: store}
}

// rows fails unless so many invoices are there.
func (a application) rows(t *testing.T, want int) {
	t.Helper()
	var n int
	if err := a.db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM invoices").Scan(&n); err != nil || n != want {
		t.Errorf("%d invoices, error %v, want %d", n, err, want)
	}
}

func intent(name string) semel.Key { return semel.Key{Scope: "user-4711 invoices", Name: name} }

// Promises 2 and 4: eight clicks make one invoice, and all get it.
func TestEightClicks(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, a application) {
		t.Helper()
		order := orm.Order{Customer: "Ada", Cents: 4200}
		var answers [8]orm.Invoice
		var wg sync.WaitGroup
		for i := range answers {
			wg.Go(func() {
				var err error
				if answers[i], err = a.Create(t.Context(), intent("k"), order); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		for _, got := range answers {
			if want := (orm.Invoice{ID: answers[0].ID, Customer: "Ada", Cents: 4200}); got != want || got.ID == 0 {
				t.Errorf("got %+v, want %+v", got, want)
			}
		}
		a.rows(t, 1)
		if again, err := a.Create(t.Context(), intent("another"), order); err != nil || again.ID == answers[0].ID {
			t.Errorf("another intent: got %+v, error %v", again, err)
		}
		a.rows(t, 2)
	})
}

// Promise 4: an invoice that the database refuses leaves nothing, so the same
// intent succeeds when the reason is gone. Promise 6: another order under the
// same key is refused.
func TestRefused(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, a application) {
		t.Helper()
		if _, err := a.db.ExecContext(t.Context(), "ALTER TABLE invoices ADD CONSTRAINT books_are_closed CHECK (false)"); err != nil {
			t.Fatal(err)
		}
		order := orm.Order{Customer: "Ada", Cents: 4200}
		if got, err := a.Create(t.Context(), intent("k"), order); err == nil {
			t.Errorf("got %+v, want an error", got)
		}
		a.rows(t, 0)
		if page, err := a.store.List(t.Context(), semel.ListParams{}); err != nil || len(page.Records) != 0 {
			t.Errorf("got records %v, error %v, want none", page.Records, err)
		}
		if _, err := a.db.ExecContext(t.Context(), "ALTER TABLE invoices DROP CONSTRAINT books_are_closed"); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Create(t.Context(), intent("k"), order); err != nil {
			t.Error(err)
		}
		if _, err := a.Create(t.Context(), intent("k"), orm.Order{Customer: "Ada", Cents: 1}); !errors.Is(err, semel.ErrMismatch) {
			t.Errorf("another order: got %v, want %v", err, semel.ErrMismatch)
		}
		a.rows(t, 1)
	})
}
