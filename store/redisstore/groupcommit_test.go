package redisstore_test

import (
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/grouptest"
	"github.com/semel-dev/semel/store/redisstore"
	"github.com/semel-dev/semel/store/storetest"
)

// Everything that holds without shared batches holds with them.
func TestGroupCommit(t *testing.T) {
	t.Parallel()
	storetest.Run(t, grouptest.Harness(t, single.harness(t)))
}

func TestGroupCommitUnderFaults(t *testing.T) {
	t.Parallel()
	storetest.RunFaults(t, grouptest.Harness(t, single.harness(t)))
}

// Promise 1: several processes race, each with batches of its own.
func TestGroupCommitRace(t *testing.T) {
	t.Parallel()
	dsn := single.dsn(t)
	grouptest.Race(t, func() (semel.Store, error) {
		return redisstore.Open(t.Context(), dsn, &redisstore.Options{AllowEviction: true})
	})
}

func BenchmarkGroupCommit(b *testing.B) {
	storetest.Benchmark(b, grouptest.Harness(b, single.harness(b)))
}
