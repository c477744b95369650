// Package order is the operation by which engines are compared: four rows of 300
// bytes in PostgreSQL, written without protection, in one transaction, and in a flow.
package order

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/flow"
	"github.com/semel-dev/semel/internal/bench/contest"
	"github.com/semel-dev/semel/store/groupcommit"
	"github.com/semel-dev/semel/store/pgstore"
)

const (
	// Steps is the number of rows.
	Steps = 4
	// Unprotected names the entry that others are compared with.
	Unprotected = "4 inserts, each its own commit, unprotected"
	// Flow names the entry of package flow.
	Flow = "a flow of 4 steps"

	transactions = "4 transactions, unprotected"
	aimFlow      = 2.0
	rowBytes     = 300
	conns        = 32
	serverVar    = "SEMEL_TEST_POSTGRES"
	schemaVar    = "SEMEL_BENCH_SCHEMA"
)

// Database is one schema of the server, with a table of rows, and Semel's records.
type Database struct {
	Schema string
	Pool   *pgxpool.Pool
	// At, when set, is called at every step.
	At func(step int)

	store *pgstore.Store
	guard *semel.Guard
	keys  atomic.Int64
	body  string
	order *flow.Definition[string, int]
}

// Open opens the schema that the environment names, or a new one, on the server dsn,
// or the one that the environment names when it is empty. set, when not nil,
// changes how connections are made.
func Open(ctx context.Context, dsn string, set func(*pgxpool.Config)) (*Database, error) {
	if dsn = cmp.Or(dsn, os.Getenv(serverVar)); dsn == "" {
		return nil, fmt.Errorf("%s names no server: run it as the Makefile does", serverVar)
	}
	d := &Database{Schema: os.Getenv(schemaVar), body: strings.Repeat("x", rowBytes)}
	if d.Schema == "" {
		d.Schema = "order_" + strings.ToLower(rand.Text()[:8])
	}
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	config.MaxConns = conns
	config.ConnConfig.RuntimeParams["search_path"] = d.Schema
	if set != nil {
		set(config)
	}
	if d.Pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, err
	}
	if d.store, err = pgstore.New(ctx, d.Pool, &pgstore.Options{Schema: d.Schema}); err != nil {
		return nil, err
	}
	if _, err = d.Pool.Exec(ctx, "CREATE TABLE IF NOT EXISTS order_row (id bigserial PRIMARY KEY, step int NOT NULL, body text NOT NULL)"); err != nil {
		return nil, err
	}
	grouped, err := groupcommit.New(d.store, nil)
	if err != nil {
		return nil, err
	}
	d.order = d.define()
	d.guard, err = semel.New(grouped, &semel.Options{SweepEvery: -1})
	return d, err
}

// Env is the environment of a process that opens the same schema.
func (d *Database) Env() []string { return []string{schemaVar + "=" + d.Schema} }

// Drop removes the schema and closes the database.
func (d *Database) Drop() {
	_ = d.guard.Close() // only measured
	if _, err := d.Pool.Exec(context.Background(), "DROP SCHEMA "+d.Schema+" CASCADE"); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
	}
	d.Pool.Close()
}

// Next returns a new number of an order.
func (d *Database) Next() int64 { return d.keys.Add(1) }

func (d *Database) nextKey() semel.Key {
	return semel.Key{Scope: "tenant-7 orders", Name: strconv.FormatInt(d.Next(), 10)}
}

// Row is the result of a step: its JSON is about as long as a row.
type Row struct {
	ID   int64  `json:"id"`
	Body string `json:"body"`
}

// Querier is a pool or a transaction.
type Querier interface {
	QueryRow(ctx context.Context, query string, args ...any) pgx.Row
}

// Insert is the effect of a step.
func (d *Database) Insert(ctx context.Context, db Querier, step int) (Row, error) {
	if d.At != nil {
		d.At(step)
	}
	r := Row{Body: d.body}
	return r, db.QueryRow(ctx, "INSERT INTO order_row (step, body) VALUES ($1, $2) RETURNING id", step, d.body).Scan(&r.ID)
}

// Done reports whether all rows of one order are there.
func (d *Database) Done(ctx context.Context) (done bool, err error) {
	err = d.Pool.QueryRow(ctx, "SELECT count(*) >= $1 FROM order_row", Steps).Scan(&done)
	return done, err
}

// inTurn does the steps one after the other.
func inTurn(one func(ctx context.Context, step int) error) func(context.Context) error {
	return func(ctx context.Context) error {
		var err error
		for i := 0; err == nil && i < Steps; i++ {
			err = one(ctx, i)
		}
		return err
	}
}

func (d *Database) insertBy(db Querier) func(context.Context, int) error {
	return func(ctx context.Context, step int) error {
		_, err := d.Insert(ctx, db, step)
		return err
	}
}

// Entries returns the order without protection, in one Do, and in a flow.
func (d *Database) Entries() ([]contest.Entry, error) {
	flows, err := d.flows(nil)
	if err != nil {
		return nil, err
	}
	return []contest.Entry{
		{Name: Unprotected, One: inTurn(d.insertBy(d.Pool))},
		{Name: transactions, Rival: Unprotected, One: inTurn(func(ctx context.Context, i int) error {
			return pgx.BeginFunc(ctx, d.Pool, func(tx pgx.Tx) error { return d.insertBy(tx)(ctx, i) })
		})},
		{Name: "one Do with the 4 inserts", Rival: transactions, One: func(ctx context.Context) error {
			_, err := pgstore.Do(ctx, d.guard, d.nextKey(), semel.Fingerprint{1}, func(ctx context.Context, tx pgx.Tx) (int, error) {
				return Steps, inTurn(d.insertBy(tx))(ctx)
			})
			return err
		}},
		{Name: Flow, Rival: transactions, Most: aimFlow, One: func(ctx context.Context) error {
			_, err := flow.Start(ctx, flows, d.order, d.nextKey(), "")
			return err
		}},
	}, nil
}
