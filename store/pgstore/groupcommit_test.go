package pgstore_test

import (
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/grouptest"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/pgstore"
	"github.com/semel-dev/semel/store/storetest"
)

// Everything that holds without shared batches holds with them.
func TestGroupCommit(t *testing.T) {
	t.Parallel()
	storetest.Run(t, grouptest.Harness(t, harness(t, testserver.Postgres(t), nil)))
}

func TestGroupCommitUnderFaults(t *testing.T) {
	t.Parallel()
	storetest.RunFaults(t, grouptest.Harness(t, harness(t, testserver.Postgres(t), nil)))
}

// Promise 1: several processes race, each with batches of its own.
func TestGroupCommitRace(t *testing.T) {
	t.Parallel()
	dsn, schema := testserver.Postgres(t), testserver.PostgresSchema(t)
	grouptest.Race(t, func() (semel.Store, error) {
		return pgstore.Open(t.Context(), dsn, &pgstore.Options{Schema: schema, MaxConns: 2})
	})
}

func BenchmarkGroupCommit(b *testing.B) {
	storetest.Benchmark(b, grouptest.Harness(b, harness(b, testserver.Postgres(b), nil)))
}
