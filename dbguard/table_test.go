package dbguard_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/dbguard"
	"github.com/semel-dev/semel/internal/guardtest"
)

// lockIn locks the row in a transaction of its own.
func lockIn(t *testing.T, db *guardtest.Database, rows ...dbguard.Row) error {
	t.Helper()
	return db.InTx(t.Context(), func(ctx context.Context, tx dbguard.Session) error {
		return dbguard.LockRows(ctx, tx, 0, rows...)
	})
}

// An engine without transactions takes no lock and keeps what is rolled back: every
// guard that rests on either refuses its tables, and changes nothing.
func TestEngineWithoutTransactions(t *testing.T) {
	t.Parallel()
	for engine, columns := range map[string]string{
		"MyISAM": "id int PRIMARY KEY", "Aria": "id int PRIMARY KEY", "MEMORY": "id int PRIMARY KEY", "CSV": "id int NOT NULL",
	} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			db := guardtest.Open(t, dbguard.MySQL)
			db.Run(t, "CREATE TABLE account ("+columns+", balance int NOT NULL, version int NOT NULL, status varchar(10) NOT NULL) ENGINE="+engine,
				"INSERT INTO account VALUES (1, 150, 1, 'new')")
			d := newDedup(t, db)
			machine, err := dbguard.NewMachine(dbguard.Declaration[string]{
				Name: "account", States: []string{"new", "open"}, Moves: []dbguard.Move[string]{{"new", "open"}}, Final: []string{"open"},
			})
			noError(t, err)
			spend := func(ctx context.Context, tx dbguard.Session) (string, error) {
				if _, err := tx.Exec(ctx, "UPDATE account SET balance = balance - 100"); err != nil {
					return "", err
				}
				return "", errors.New("fails after the update")
			}
			for guard, work := range map[string]func(context.Context, dbguard.Session) error{
				"LockRows": func(ctx context.Context, tx dbguard.Session) error { return dbguard.LockRows(ctx, tx, 0, account(1)) },
				"LockFree": func(ctx context.Context, tx dbguard.Session) error {
					_, err := dbguard.LockFree[int](ctx, tx, dbguard.Free{Table: "account", Column: "id"})
					return err
				},
				"LockCheckUpdate": func(ctx context.Context, _ dbguard.Session) error {
					_, _, err := dbguard.LockCheckUpdate(ctx, db, dbguard.Steps[string]{
						Lock: []dbguard.Row{account(1)}, Dedup: d, Key: semel.Key{Scope: "transfer", Name: "1"}, Update: spend,
					})
					return err
				},
				"UpdateVersion": func(ctx context.Context, tx dbguard.Session) error {
					_, err := dbguard.UpdateVersion(ctx, tx, dbguard.Change{Row: account(1), Version: 1})
					return err
				},
				"Transition": func(ctx context.Context, tx dbguard.Session) error {
					_, err := machine.Transition(ctx, tx, account(1), "open")
					return err
				},
			} {
				err := db.InTx(t.Context(), work)
				if !errors.Is(err, dbguard.ErrNotLockable) || !strings.Contains(err.Error(), "run: ALTER TABLE `account` ENGINE=InnoDB") {
					t.Errorf("%s: got %v, want ErrNotLockable and what to run", guard, err)
				}
			}
			if n := db.Number(t, "SELECT count(*) FROM account WHERE balance = 150 AND version = 1 AND status = 'new'"); n != 1 {
				t.Error("a guard that refused has changed the row")
			}
			db.Run(t, "ALTER TABLE account ENGINE=InnoDB")
			if engine == "CSV" { // it has no keys
				db.Run(t, "ALTER TABLE account ADD PRIMARY KEY (id)")
			}
			noError(t, lockIn(t, db, account(1)))
		})
	}
}

// A guard's own table that is there with such an engine is refused where it is made.
func TestCreateChecksEngine(t *testing.T) {
	t.Parallel()
	db := guardtest.Open(t, dbguard.MySQL)
	own := map[string]func(context.Context, dbguard.Session) error{
		"semel_dedup": new(dbguard.Dedup).Create, "semel_lock": dbguard.LockTable{}.Create, "semel_fence": dbguard.FenceTable{}.Create,
		"semel_token": dbguard.Tokens{}.Create, "semel_segment": (&dbguard.Segments{Count: 1}).Create,
	}
	for table, create := range own {
		noError(t, create(t.Context(), db))
		db.Run(t, "ALTER TABLE "+table+" ENGINE=MyISAM")
		if err := create(t.Context(), db); !errors.Is(err, dbguard.ErrNotLockable) {
			t.Errorf("%s: got %v, want ErrNotLockable", table, err)
		}
	}
}

// A lock names one row: its columns hold those of a unique key of the whole table.
func TestLockRowsByUniqueKey(t *testing.T) {
	t.Parallel()
	guardtest.Each(t, func(t *testing.T, db *guardtest.Database) {
		db.Run(t, "CREATE TABLE invoice (id int PRIMARY KEY, tenant int NOT NULL, number int NOT NULL, code varchar(20), mail varchar(20), UNIQUE (tenant, number))",
			"INSERT INTO invoice VALUES (1, 1, 1, 'A', 'a')", "CREATE INDEX invoice_code ON invoice (code)", "CREATE VIEW invoices AS SELECT * FROM invoice")
		if db.Dialect() != dbguard.MySQL {
			db.Run(t, "CREATE UNIQUE INDEX invoice_mail ON invoice (mail) WHERE id > 0", "CREATE UNIQUE INDEX invoice_code_lower ON invoice (lower(code))")
		}
		row := func(cells ...dbguard.Cell) dbguard.Row { return dbguard.Row{Table: "invoice", Key: cells} }
		id, tenant, number := dbguard.Cell{Column: "id", Value: 1}, dbguard.Cell{Column: "tenant", Value: 1}, dbguard.Cell{Column: "number", Value: 1}
		code, mail := dbguard.Cell{Column: "code", Value: "A"}, dbguard.Cell{Column: "mail", Value: "a"}
		for name, test := range map[string]struct {
			row  dbguard.Row
			fine bool
		}{
			"the primary key": {row(id), true}, "a unique key": {row(number, tenant), true}, "more than a key": {row(tenant, code, number), true},
			"an index that is not unique": {row(code), false}, "half of a key": {row(tenant), false}, "a partial index, or none": {row(mail), false},
			"a view": {dbguard.RowAt("invoices", "code", "A"), true},
		} {
			err := lockIn(t, db, test.row)
			if test.fine && err != nil || !test.fine && !errors.Is(err, dbguard.ErrNotLockable) {
				t.Errorf("%s: got %v, want to be locked: %v", name, err, test.fine)
			}
		}
		if err := lockIn(t, db, row(id), row(code)); err == nil || !strings.Contains(err.Error(), "invoice has no unique index on (code)") {
			t.Errorf("the second row: got %v, want what is missing", err)
		}
		db.Run(t, "CREATE UNIQUE INDEX invoice_code_once ON invoice (code)")
		noError(t, lockIn(t, db, row(code))) // a refusal is not remembered
		db.Run(t, "DROP INDEX invoice_code_once"+map[bool]string{true: " ON invoice"}[db.Dialect() == dbguard.MySQL])
		noError(t, lockIn(t, db, row(code))) // what was right is: the catalogue is read once
	})
}
