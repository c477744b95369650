package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/mayhem"
	"github.com/semel-dev/semel/store/mysqlstore"
	"github.com/semel-dev/semel/store/pgstore"
	"github.com/semel-dev/semel/store/sqlitestore/sqlitetx"
)

const (
	childWriter = "writer"
	// keyEvery is how often a new key appears, for all writers alike; each
	// wants one of the last window keys, so that most keys are wanted often.
	keyEvery = 4 * time.Millisecond
	window   = 40
	hands    = 4 // goroutines of one writer
)

// doer makes the row of a key once and returns its id; ran says whether this
// call made it.
type doer func(ctx context.Context, key semel.Key) (id int64, ran bool, err error)

// runWriter is one writer: it wants keys until its input ends, and prints every
// answer as it gets it. Its arguments are the driver, the DSN of the store and
// that of the rows, and when the torture began.
func runWriter(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) != 4 {
		say(stderr, "usage: torture %s DRIVER DSN ROWS BEGAN\n", childWriter)
		return 2
	}
	began, err := strconv.ParseInt(args[3], 10, 64)
	if err != nil {
		say(stderr, "writer: %v\n", err)
		return 2
	}
	ctx, cancel := mayhem.UntilEnd(ctx, os.Stdin)
	defer cancel()
	var do doer
	for do == nil && ctx.Err() == nil { // the server may be down right now
		var end func() error
		if do, end, err = openDoer(context.WithoutCancel(ctx), args[0], args[1], args[2]); err != nil {
			mayhem.Sleep(ctx, 50*time.Millisecond)
			continue
		}
		defer func() { _ = end() }() // nothing runs any more
	}
	var wg sync.WaitGroup
	for range hands {
		wg.Go(func() {
			for ctx.Err() == nil && do != nil {
				head := time.Since(time.UnixMilli(began)) / keyEvery
				key := strconv.FormatInt(max(0, int64(head)-rand.Int64N(window)), 10) //nolint:gosec // keys, not secrets.
				say(stdout, "%s\n", want(ctx, do, key))
			}
		})
	}
	wg.Wait()
	return 0
}

// want wants the key once and returns the line that tells of the answer.
func want(ctx context.Context, do doer, key string) string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	id, ran, err := do(ctx, semel.Key{Scope: scope, Name: key})
	switch {
	case errors.Is(err, semel.ErrUnknown):
		return wordUnknown
	case err != nil:
		return wordError
	case ran:
		return fmt.Sprintf("%s %s %d", wordExecuted, key, id)
	}
	return fmt.Sprintf("%s %s %d", wordReplayed, key, id)
}

// openDoer opens the store in transaction mode.
func openDoer(ctx context.Context, driver, dsn, rows string) (doer, func() error, error) {
	switch driver {
	case "pgx":
		return openPostgresDoer(ctx, dsn)
	case "mysql":
		return openMySQLDoer(ctx, dsn)
	}
	return openSQLiteDoer(ctx, rows)
}

func openPostgresDoer(ctx context.Context, dsn string) (doer, func() error, error) {
	store, err := pgstore.Open(ctx, dsn, &pgstore.Options{MaxConns: 8})
	if err != nil {
		return nil, nil, err
	}
	guard, end, err := guardOf(store) //nolint:contextcheck // closing is not part of the work.
	if err != nil {
		return nil, nil, err
	}
	return func(ctx context.Context, key semel.Key) (id int64, ran bool, err error) {
		var runs atomic.Bool
		id, err = pgstore.Do(ctx, guard, key, semel.FingerprintOf(key.Name), func(ctx context.Context, tx pgx.Tx) (id int64, err error) {
			runs.Store(true)
			err = tx.QueryRow(ctx, "INSERT INTO business (name, body) VALUES ($1, repeat('x', 300)) RETURNING id", key.Name).Scan(&id)
			return id, err
		})
		return id, runs.Load(), err
	}, end, nil
}

func openMySQLDoer(ctx context.Context, dsn string) (doer, func() error, error) {
	store, err := mysqlstore.Open(ctx, dsn, &mysqlstore.Options{MaxConns: 8})
	if err != nil {
		return nil, nil, err
	}
	guard, end, err := guardOf(store) //nolint:contextcheck // closing is not part of the work.
	if err != nil {
		return nil, nil, err
	}
	return func(ctx context.Context, key semel.Key) (id int64, ran bool, err error) {
		var runs atomic.Bool
		id, err = mysqlstore.Do(ctx, guard, key, semel.FingerprintOf(key.Name), func(ctx context.Context, tx *sql.Tx) (int64, error) {
			runs.Store(true)
			return insertRow(ctx, tx, "mysql", key.Name)
		})
		return id, runs.Load(), err
	}, end, nil
}

func openSQLiteDoer(ctx context.Context, rows string) (doer, func() error, error) {
	db, err := sql.Open("sqlite", rows)
	if err != nil {
		return nil, nil, err
	}
	store, err := sqlitetx.Open(ctx, db, nil)
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	guard, end, err := guardOf(store) //nolint:contextcheck // closing is not part of the work.
	if err != nil {
		return nil, nil, err
	}
	return func(ctx context.Context, key semel.Key) (id int64, ran bool, err error) {
			var runs atomic.Bool
			id, err = sqlitetx.Do(ctx, guard, key, semel.FingerprintOf(key.Name), func(ctx context.Context, tx *sql.Tx) (int64, error) {
				runs.Store(true)
				return insertRow(ctx, tx, "sqlite", key.Name)
			})
			return id, runs.Load(), err
		}, func() error {
			return errors.Join(end(), db.Close())
		}, nil
}

// openWithin opens the records inside of the file of the rows.
func openWithin(ctx context.Context, rows string) (semel.Store, error) {
	db, err := sql.Open("sqlite", rows)
	if err != nil {
		return nil, err
	}
	store, err := sqlitetx.Open(ctx, db, nil)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return store, nil
}

func guardOf(store semel.Store) (*semel.Guard, func() error, error) {
	guard, err := semel.New(store, nil)
	if err != nil {
		return nil, nil, errors.Join(err, store.Close())
	}
	return guard, func() error { return errors.Join(guard.Close(), store.Close()) }, nil
}
