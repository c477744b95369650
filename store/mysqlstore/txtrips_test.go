package mysqlstore_test

import (
	"context"
	"database/sql"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/mysqlstore"
)

// A transaction with claim and outcome takes as many round trips as a bare one
// over connections of the package, and two more over others.
func TestTxRoundTrips(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		door door
		want int64
	}{
		"open":      {door{params: "&interpolateParams=true"}, 3},
		"connector": {door{params: "&interpolateParams=true", pool: ourPool}, 3},
		"any pool":  {door{params: "&interpolateParams=true", pool: quietPool}, 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn, trips := countedDSN(t)
			s := test.door.open(t, dsn, &mysqlstore.Options{})
			g, err := semel.New(s, nil)
			noError(t, err)
			t.Cleanup(func() { g.Close(); s.Close() })
			execute(t, s.DB(), "CREATE TABLE business (name VARCHAR(300))")
			bare := func() {
				tx, err := s.DB().BeginTx(t.Context(), nil)
				noError(t, err)
				if err := insert(t.Context(), tx, "bare"); err != nil {
					t.Error(err)
				}
				if err := tx.Commit(); err != nil {
					t.Error(err)
				}
			}
			do := func(name string, fn func(context.Context, *sql.Tx) (string, error)) func() {
				return func() {
					if _, err := mysqlstore.Do(t.Context(), g, key(name), asked(), fn); err != nil {
						t.Error(err)
					}
				}
			}
			for _, step := range []struct {
				name string
				want int64
				step func()
			}{
				{"the first bare transaction", 0, bare},
				{"a bare transaction", 3, bare},
				{"the first intent", 0, do("first", add("k"))},
				{"an intent", test.want, do("second", add("k"))},
				{"its duplicate", 1, do("second", never(t))},
			} {
				before := trips.Load()
				step.step()
				if got := trips.Load() - before; step.want > 0 && got != step.want {
					t.Errorf("%s: %d round trips, want %d", step.name, got, step.want)
				}
			}
		})
	}
}

// countedDSN is a DSN, with parameters already, over which round trips are counted.
func countedDSN(t *testing.T) (string, *atomic.Int64) {
	t.Helper()
	trips := &atomic.Int64{}
	network := "tx_" + strings.NewReplacer("/", "_", " ", "_").Replace(t.Name())
	mysql.RegisterDialContext(network, func(ctx context.Context, addr string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
		return &tripConn{Conn: conn, trips: trips}, err
	})
	t.Cleanup(func() { mysql.DeregisterDialContext(network) })
	cfg := config(t, testserver.MySQLDatabase(t))
	cfg.Net = network
	cfg.CheckConnLiveness = false
	return cfg.FormatDSN(), trips
}
