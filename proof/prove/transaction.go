package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	_ "github.com/go-sql-driver/mysql" // the driver of business rows
	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver of business rows
	_ "modernc.org/sqlite"             // the driver of business rows

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/cli/openstore"
	"github.com/semel-dev/semel/store/mysqlstore"
	"github.com/semel-dev/semel/store/pgstore"
	"github.com/semel-dev/semel/store/sqlitestore/sqlitetx"
)

// createEffects has no unique rule on purpose: what happens twice must show.
const createEffects = "CREATE TABLE effects (name VARCHAR(64) NOT NULL, value VARCHAR(64) NOT NULL)"

// transactionLimit bounds one transaction, which may wait for another that is
// stopped.
const transactionLimit = 10 * time.Second

// makeEffects makes the table of business rows.
func makeEffects(ctx context.Context, p *target) error {
	db, err := sql.Open(p.driver, p.rows)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, createEffects)
	return errors.Join(err, db.Close())
}

// readRows reads the business rows.
func readRows(ctx context.Context, p *target) (found effects, err error) {
	db, err := sql.Open(p.driver, p.rows)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	rows, err := db.QueryContext(ctx, "SELECT name, value FROM effects")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	found = effects{}
	for rows.Next() {
		var name, value string
		if err := rows.Scan(&name, &value); err != nil {
			return nil, err
		}
		found[name] = append(found[name], value)
	}
	return found, rows.Err()
}

// doer makes a row in one transaction with its record.
type doer struct {
	store semel.Store
	do    func(ctx context.Context, g *semel.Guard, k semel.Key, value string) (string, error)
	end   func() error
}

// askTransactions wants rows in transactions of the store.
func (e *errand) askTransactions(ctx context.Context) (err error) {
	d, err := patiently(ctx, e.openDoer)
	if err != nil || d == nil {
		return err
	}
	defer func() { err = errors.Join(err, d.end()) }()
	guard, err := semel.New(d.store, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, guard.Close()) }() //nolint:contextcheck // closing is not part of the work.
	return e.ask(ctx, e.Hands, func(ctx context.Context, a *asker, w wish) word {
		ctx, cancel := context.WithTimeout(ctx, transactionLimit)
		defer cancel()
		return wordFor(d.do(ctx, guard, semel.Key{Scope: e.Run, Name: w.Key}, a.value()))
	})
}

func (e *errand) openDoer(ctx context.Context) (*doer, error) {
	switch e.Store {
	case postgres:
		store, err := pgstore.Open(ctx, e.DSN, &pgstore.Options{MaxConns: 8})
		return &doer{store, doPostgres, store.Close}, err
	case mysql:
		store, err := mysqlstore.Open(ctx, e.DSN, &mysqlstore.Options{MaxConns: 8})
		return &doer{store, doMySQL, store.Close}, err
	}
	db, err := sql.Open("sqlite", e.DSN)
	if err != nil {
		return nil, err
	}
	store, err := sqlitetx.Open(ctx, db, nil)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &doer{store, doSQLite, func() error { return errors.Join(store.Close(), db.Close()) }}, nil
}

func doPostgres(ctx context.Context, g *semel.Guard, k semel.Key, value string) (string, error) {
	return pgstore.Do(ctx, g, k, semel.FingerprintOf(k.Name), func(ctx context.Context, tx pgx.Tx) (string, error) {
		//semel:safe its rows count the runs, which the guard keeps to one
		_, err := tx.Exec(ctx, "INSERT INTO effects (name, value) VALUES ($1, $2)", k.Name, value)
		return value, err
	})
}

func doMySQL(ctx context.Context, g *semel.Guard, k semel.Key, value string) (string, error) {
	return mysqlstore.Do(ctx, g, k, semel.FingerprintOf(k.Name), insertInto(k.Name, value))
}

func doSQLite(ctx context.Context, g *semel.Guard, k semel.Key, value string) (string, error) {
	return sqlitetx.Do(ctx, g, k, semel.FingerprintOf(k.Name), insertInto(k.Name, value))
}

func insertInto(name, value string) func(context.Context, *sql.Tx) (string, error) {
	return func(ctx context.Context, tx *sql.Tx) (string, error) {
		//semel:safe its rows count the runs, which the guard keeps to one
		_, err := tx.ExecContext(ctx, "INSERT INTO effects (name, value) VALUES (?, ?)", name, value)
		return value, err
	}
}

// checkRecords returns every key that has a row without a recorded outcome, or
// an outcome without a row (promise 4).
func checkRecords(ctx context.Context, e *errand, p *target, rows effects) (wrong []string, err error) {
	store, end, err := openRecords(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("open the records: %w", err)
	}
	defer func() { err = errors.Join(err, end()) }()
	lister, ok := semel.StoreAs[semel.Lister](store)
	if !ok {
		return nil, errors.New("the store is not a semel.Lister")
	}
	recorded := map[string]bool{}
	for q := (semel.ListParams{Scope: e.Run, States: []semel.State{semel.StateCompleted}}); ; {
		page, err := lister.List(ctx, q)
		if err != nil {
			return nil, err
		}
		for i := range page.Records {
			name := page.Records[i].Name
			recorded[name] = true
			if len(rows[name]) == 0 {
				wrong = append(wrong, fmt.Sprintf("key %s has a recorded outcome, but no row (promise 4)", name))
			}
		}
		if q.After = page.Next; q.After == "" {
			break
		}
	}
	for name := range rows {
		if !recorded[name] {
			wrong = append(wrong, fmt.Sprintf("key %s has a row, but no recorded outcome (promise 4)", name))
		}
	}
	return wrong, nil
}

func openRecords(ctx context.Context, p *target) (semel.Store, func() error, error) {
	if p.driver == "sqlite" {
		d, err := (&errand{Store: sqlite, DSN: p.rows}).openDoer(ctx)
		if err != nil {
			return nil, nil, err
		}
		return d.store, d.end, nil
	}
	store, err := openstore.Open(ctx, p.dsn, &openstore.Options{Use: openstore.Inspect})
	if err != nil {
		return nil, nil, err
	}
	return store, store.Close, nil
}
