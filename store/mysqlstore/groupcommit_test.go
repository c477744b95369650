package mysqlstore_test

import (
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/grouptest"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/mysqlstore"
	"github.com/semel-dev/semel/store/storetest"
)

// Everything that holds without shared batches holds with them.
func TestGroupCommit(t *testing.T) {
	t.Parallel()
	storetest.Run(t, grouptest.Harness(t, harness(t, fast, nil)))
}

func TestGroupCommitUnderFaults(t *testing.T) {
	t.Parallel()
	storetest.RunFaults(t, grouptest.Harness(t, harness(t, fast, nil)))
}

// Promise 1: several processes race, each with batches of its own.
func TestGroupCommitRace(t *testing.T) {
	t.Parallel()
	dsn := testserver.MySQLDatabase(t)
	grouptest.Race(t, func() (semel.Store, error) {
		return mysqlstore.Open(t.Context(), dsn, &mysqlstore.Options{MaxConns: 2})
	})
}

func BenchmarkGroupCommit(b *testing.B) {
	storetest.Benchmark(b, grouptest.Harness(b, harness(b, fast, nil)))
}
