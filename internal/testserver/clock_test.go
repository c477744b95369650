package testserver_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/semel-dev/semel/internal/testserver"
)

// A clock that is set moves the server's, and nothing else's, at once.
func TestClock(t *testing.T) {
	t.Parallel()
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		clock := testserver.NewClock(t)
		db := open(t, "pgx", testserver.StartPostgres(t, &testserver.PostgresOptions{Clock: clock}).DSN())
		checkClock(t, clock, func() string { return column(t, db, "SELECT extract(epoch FROM clock_timestamp())::bigint::text")[0] })
	})
	t.Run("mysql", func(t *testing.T) {
		t.Parallel()
		clock := testserver.NewClock(t)
		db := open(t, "mysql", testserver.StartMySQL(t, &testserver.MySQLOptions{Clock: clock}).DSN())
		checkClock(t, clock, func() string { return column(t, db, "SELECT UNIX_TIMESTAMP()")[0] })
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		clock := testserver.NewClock(t)
		client := redisClient(t, testserver.StartRedis(t, &testserver.RedisOptions{Clock: clock}).Addr())
		checkClock(t, clock, func() string {
			now, err := client.Do(t.Context(), client.B().Time().Build()).AsStrSlice()
			if err != nil {
				t.Fatal(err)
			}
			return now[0]
		})
	})
}

func checkClock(t *testing.T, clock *testserver.Clock, seconds func() string) {
	t.Helper()
	for _, ahead := range []time.Duration{0, 3 * time.Hour, -time.Hour, 0} {
		noError(t, clock.Set(ahead))
		before := time.Now()
		now, err := strconv.ParseInt(seconds(), 10, 64)
		noError(t, err)
		low, high := before.Add(ahead-time.Minute), time.Now().Add(ahead+time.Minute)
		if got := time.Unix(now, 0); got.Before(low) || got.After(high) {
			t.Errorf("set to %v ahead, it shows %v at %v", ahead, got, before)
		}
	}
}
