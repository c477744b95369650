package pgxguard_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/semel-dev/semel/dbguard"
	"github.com/semel-dev/semel/dbguard/pgxguard"
	"github.com/semel-dev/semel/internal/guardtest"
)

// trips counts round trips: how often something was sent after something else
// was received.
type trips struct {
	n        atomic.Int64
	received atomic.Bool
}

type countedConn struct {
	net.Conn
	trips *trips
}

// Write implements [net.Conn].
func (c countedConn) Write(p []byte) (int, error) {
	if c.trips.received.Swap(false) {
		c.trips.n.Add(1)
	}
	return c.Conn.Write(p)
}

// Read implements [net.Conn].
func (c countedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.trips.received.Store(true)
	}
	return n, err
}

// counted is a second pool of the same database, of one connection whose round
// trips count.
func counted(tb testing.TB, db *guardtest.Database) (*pgxpool.Pool, *trips) {
	tb.Helper()
	var made trips
	config := db.Pool.Config()
	config.MaxConns = 1
	dial := config.ConnConfig.DialFunc
	config.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		return countedConn{conn, &made}, err
	}
	pool, err := pgxpool.NewWithConfig(tb.Context(), config)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(pool.Close)
	return pool, &made
}

// CreateOrReuse takes one round trip, as it says, once the
// connection has prepared its statements.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	db := guardtest.Pgx(t)
	db.Run(t, "CREATE TABLE made (id int PRIMARY KEY, n int NOT NULL)")
	pool, trips := counted(t, db)
	read := func(rows dbguard.Rows) (id int, err error) { return id, rows.Scan(&id) }
	create := func(s dbguard.Session, id int) {
		t.Helper()
		_, _, err := dbguard.CreateOrReuse(t.Context(), s, &dbguard.Insert{
			Table: "made", Columns: []string{"id", "n"}, Values: []any{id, 0},
			Unique: dbguard.Target{Columns: []string{"id"}}, Returning: []string{"id"},
		}, read)
		if err != nil {
			t.Fatal(err)
		}
	}
	onPool := pgxguard.Database(pool)
	create(onPool, 0)
	for what, id := range map[string]int{"is new": 1, "is there": 0} {
		before := trips.n.Load()
		create(onPool, id)
		if got := trips.n.Load() - before; got != 1 {
			t.Errorf("on a pool, CreateOrReuse of a row that %s took %d round trips, want 1", what, got)
		}
	}
	err := onPool.InTx(t.Context(), func(_ context.Context, tx dbguard.Session) error {
		for what, id := range map[string]int{"is new": 2, "is there": 0} {
			before := trips.n.Load()
			create(tx, id)
			if got := trips.n.Load() - before; got != 1 {
				t.Errorf("in a transaction, CreateOrReuse of a row that %s took %d round trips, want 1", what, got)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
