package testserver_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"

	"github.com/redis/rueidis"

	"github.com/semel-dev/semel/internal/testserver"
)

// A server that was killed comes back with what it had committed, at the same address.
func TestKillAndStart(t *testing.T) {
	t.Parallel()
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		s := testserver.StartPostgres(t, &testserver.PostgresOptions{Conf: map[string]string{"max_connections": "17"}, Fsync: true})
		db := open(t, "pgx", s.DSN())
		checkRestart(t, db, s)
		if got := column(t, db, "SHOW max_connections")[0]; got != "17" {
			t.Errorf("got max_connections %s, want 17", got)
		}
	})
	t.Run("mysql", func(t *testing.T) {
		t.Parallel()
		s := testserver.StartMySQL(t, &testserver.MySQLOptions{Conf: map[string]string{"max-connections": "17"}})
		must(t, open(t, "mysql", s.DSN()), "CREATE DATABASE d")
		db := open(t, "mysql", s.DSN()+"d")
		checkRestart(t, db, s)
		if got := column(t, db, "SELECT @@max_connections")[0]; got != "17" {
			t.Errorf("got max_connections %s, want 17", got)
		}
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		s := testserver.StartRedis(t, &testserver.RedisOptions{AppendOnly: true})
		set(t, []string{s.Addr()}, "k", "v")
		s.Kill()
		if listens(t, s.Addr()) {
			t.Error("the killed server listens")
		}
		s.Start()
		if got := get(t, []string{s.Addr()}, "k"); got != "v" {
			t.Errorf("got %q, want v", got)
		}
	})
}

type killable interface {
	Addr() string
	Kill()
	Stop()
	Start()
}

func checkRestart(t *testing.T, db *sql.DB, s killable) {
	t.Helper()
	must(t, db, "CREATE TABLE t (id int)")
	for i, end := range []func(){s.Kill, s.Stop, s.Kill} {
		must(t, db, fmt.Sprintf("INSERT INTO t VALUES (%d)", i))
		end()
		if listens(t, s.Addr()) {
			t.Error("the server that ended listens")
		}
		s.Start()
		testserver.Eventually(t, "the pool has found out", func() bool { return db.PingContext(context.WithoutCancel(t.Context())) == nil })
		if got := len(column(t, db, "SELECT id FROM t")); got != i+1 {
			t.Errorf("got %d rows, want %d", got, i+1)
		}
	}
}

// A standby that is synchronous has whatever its primary has committed, and goes on from there.
func TestStandby(t *testing.T) {
	t.Parallel()
	for _, sync := range []bool{true, false} {
		t.Run(fmt.Sprintf("sync=%v", sync), func(t *testing.T) {
			t.Parallel()
			primary := testserver.StartPostgres(t, nil)
			standby := primary.Standby(&testserver.StandbyOptions{Sync: sync})
			db, follower := open(t, "pgx", primary.DSN()), open(t, "pgx", standby.DSN())
			must(t, db, "CREATE TABLE t (id int)")
			must(t, db, "INSERT INTO t VALUES (1)")
			if !sync {
				testserver.Eventually(t, "the row arrives", func() bool {
					var n int
					return follower.QueryRowContext(t.Context(), "SELECT count(*) FROM t").Scan(&n) == nil && n == 1
				})
			}
			if _, err := follower.ExecContext(t.Context(), "INSERT INTO t VALUES (2)"); err == nil {
				t.Error("a standby takes writes")
			}
			primary.Kill()
			standby.Promote()
			must(t, follower, "INSERT INTO t VALUES (3)")
			if got := len(column(t, follower, "SELECT id FROM t")); got != 2 {
				t.Errorf("got %d rows, want 2", got)
			}
		})
	}
}

// A replica of Redis goes on with what it has heard.
func TestRedisReplica(t *testing.T) {
	t.Parallel()
	master := testserver.StartRedis(t, nil)
	set(t, []string{master.Addr()}, "k", "v")
	replica := testserver.StartRedis(t, &testserver.RedisOptions{ReplicaOf: master.Addr()})
	testserver.Eventually(t, "the key arrives", func() bool { return get(t, []string{replica.Addr()}, "k") == "v" })
	master.Kill()
	replica.Promote()
	set(t, []string{replica.Addr()}, "k", "w")
	if got := get(t, []string{replica.Addr()}, "k"); got != "w" {
		t.Errorf("got %q, want w", got)
	}
}

// A slot moves from one master to another, and its keys with it.
func TestMoveSlot(t *testing.T) {
	t.Parallel()
	c := testserver.StartRedisCluster(t, 3)
	set(t, c.Addrs(), "{tag}1", "one")
	slot := c.Slot("{tag}1")
	from := c.Owner(slot)
	to := (from + 1) % len(c.Nodes)

	m := c.BeginMove(slot, to)
	set(t, c.Addrs(), "{tag}2", "two")
	if got := c.Owner(slot); got != from {
		t.Errorf("node %d serves the slot while it moves, want %d", got, from)
	}
	m.Keys()
	m.Finish()
	if got := c.Owner(slot); got != to {
		t.Errorf("node %d serves the slot, want %d", got, to)
	}
	for key, want := range map[string]string{"{tag}1": "one", "{tag}2": "two"} {
		if got := get(t, c.Addrs(), key); got != want {
			t.Errorf("%s: got %q, want %q", key, got, want)
		}
	}
	c.MoveSlot(slot, from)
	if got := c.Owner(slot); got != from {
		t.Errorf("node %d serves the slot, want %d again", got, from)
	}
}

func set(t *testing.T, addrs []string, key, value string) {
	t.Helper()
	client := redisClient(t, addrs...)
	noError(t, client.Do(t.Context(), client.B().Set().Key(key).Value(value).Build()).Error())
}

// get returns "" for a key that does not exist.
func get(t *testing.T, addrs []string, key string) string {
	t.Helper()
	client := redisClient(t, addrs...)
	v, err := client.Do(t.Context(), client.B().Get().Key(key).Build()).ToString()
	if err != nil && !rueidis.IsRedisNil(err) {
		t.Fatal(err)
	}
	return v
}
