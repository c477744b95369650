package dbguard_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/google/go-cmp/cmp"
	"github.com/redis/rueidis"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/dbguard"
	"github.com/semel-dev/semel/dbguard/redisguard"
	"github.com/semel-dev/semel/internal/guardtest"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/internal/testserver/databases"
)

// openSQL makes a pool with the tables.
func openSQL(tb testing.TB, d dbguard.Dialect, driver, dsn string) dbguard.Database {
	tb.Helper()
	db := dbguard.SQLDatabase(d, databases.Connect(tb, driver, dsn))
	makeLocks(tb, db)
	return db
}

func openRedis(tb testing.TB, addr, prefix string) dbguard.LockStore {
	tb.Helper()
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}, DisableCache: true})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(client.Close)
	return redisguard.NewLocks(client, prefix)
}

// A lease ends by the store's clock, whatever this host's shows, and fences go
// on growing where that clock is set back (promise 9).
func TestLockClock(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*testing.T, *testserver.Clock) dbguard.LockStore{
		"postgresql": func(t *testing.T, clock *testserver.Clock) dbguard.LockStore {
			t.Helper()
			server := testserver.StartPostgres(t, &testserver.PostgresOptions{Clock: clock})
			return dbguard.LockTable{}.On(openSQL(t, dbguard.PostgreSQL, "pgx", server.DSN()))
		},
		"mysql": func(t *testing.T, clock *testserver.Clock) dbguard.LockStore {
			t.Helper()
			server := testserver.StartMySQL(t, &testserver.MySQLOptions{Clock: clock})
			config, err := mysql.ParseDSN(server.DSN())
			if err != nil {
				t.Fatal(err)
			}
			config.DBName = "mysql"
			return dbguard.LockTable{}.On(openSQL(t, dbguard.MySQL, "mysql", config.FormatDSN()))
		},
		"redis": func(t *testing.T, clock *testserver.Clock) dbguard.LockStore {
			t.Helper()
			return openRedis(t, testserver.StartRedis(t, &testserver.RedisOptions{Clock: clock}).Addr(), "clock")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := testserver.NewClock(t)
			store := open(t, clock)
			set := func(ahead time.Duration) {
				t.Helper()
				noError(t, clock.Set(ahead))
			}
			free := func(what string, owner byte, want bool) {
				t.Helper()
				if _, won, err := store.Acquire(t.Context(), "n", semel.Owner{owner}, time.Hour); won != want || err != nil {
					t.Errorf("%s: Acquire = %v, %v, want %v", what, won, err, want)
				}
			}
			set(-3 * time.Hour)
			first := acquireLock(t, store, 1, time.Hour)
			free("three hours ago", 2, false)
			set(-2*time.Hour - time.Minute)
			free("59 minutes later", 2, false)
			set(-2*time.Hour + time.Minute)
			second := acquireLock(t, store, 2, time.Hour)
			if held, err := store.Renew(t.Context(), "n", semel.Owner{1}, time.Hour); held || err != nil {
				t.Errorf("Renew by the first = %v, %v, want false", held, err)
			}
			set(-3 * time.Hour)
			free("set back", 3, false)
			if held, err := store.Release(t.Context(), "n", semel.Owner{2}); !held || err != nil {
				t.Errorf("Release = %v, %v, want true", held, err)
			}
			third := acquireLock(t, store, 3, time.Hour)
			if first >= second || second >= third {
				t.Errorf("fences are %d, %d and %d, want growing ones", first, second, third)
			}
		})
	}
}

// A holder that cannot reach its store loses the lock before the lease ends
// there, and Close waits for what it began.
func TestLockLosesItsStore(t *testing.T) {
	t.Parallel()
	const lease = time.Second
	stores := map[string]func(*testing.T) (*testserver.Proxy, dbguard.LockStore){
		"redis": func(t *testing.T) (*testserver.Proxy, dbguard.LockStore) {
			t.Helper()
			proxy := testserver.NewProxy(t, testserver.Redis(t))
			return proxy, openRedis(t, proxy.Addr(), testserver.RedisPrefix(t))
		},
	}
	for name, open := range proxied() {
		stores[name] = func(t *testing.T) (*testserver.Proxy, dbguard.LockStore) {
			t.Helper()
			proxy, db := open(t)
			makeLocks(t, db)
			return proxy, dbguard.LockTable{}.On(db)
		}
	}
	for name, open := range stores {
		for how, fail := range map[string]func(*testserver.Proxy){"stall": (*testserver.Proxy).Stall, "down": (*testserver.Proxy).Down} {
			t.Run(name+"/"+how, func(t *testing.T) {
				t.Parallel()
				proxy, store := open(t)
				locker := dbguard.NewLocker(store)
				lock, err := locker.Lock(t.Context(), "n", &dbguard.LockOptions{Lease: lease})
				if err != nil {
					t.Fatal(err)
				}
				fail(proxy)
				select {
				case <-lock.Context().Done():
				case <-time.After(time.Minute):
					t.Fatal("the lock is not lost")
				}
				if cause := context.Cause(lock.Context()); !errors.Is(cause, dbguard.ErrLost) {
					t.Errorf("the cause is %v, want ErrLost", cause)
				}
				if _, err := locker.Lock(t.Context(), "n", &dbguard.LockOptions{Wait: shortLease}); err == nil {
					t.Error("Lock without a store has no error")
				}
				if err := locker.Close(); err != nil {
					t.Error(err)
				}
				if _, err := locker.TryLock(t.Context(), "n", nil); !errors.Is(err, semel.ErrClosed) {
					t.Errorf("TryLock after Close = %v, want ErrClosed", err)
				}
				proxy.Up()
				proxy.Clear()
			})
		}
	}
}

// Close loses what is held and tells who waits; the holder still unlocks.
func TestLockerClose(t *testing.T) {
	t.Parallel()
	db := guardtest.Open(t, dbguard.SQLite)
	makeLocks(t, db)
	store := dbguard.LockTable{}.On(db)
	locker := dbguard.NewLocker(store)
	lock, err := locker.Lock(t.Context(), "n", nil)
	if err != nil {
		t.Fatal(err)
	}
	waited := make(chan error)
	go func() {
		_, err := locker.Lock(t.Context(), "n", nil)
		waited <- err
	}()
	for range 2 {
		if err := locker.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := <-waited; !errors.Is(err, semel.ErrClosed) {
		t.Errorf("the waiting caller got %v, want ErrClosed", err)
	}
	if cause := context.Cause(lock.Context()); !errors.Is(cause, dbguard.ErrLost) || !errors.Is(cause, semel.ErrClosed) {
		t.Errorf("the holder got %v, want ErrLost and ErrClosed", cause)
	}
	if err := lock.Unlock(t.Context()); err != nil {
		t.Errorf("Unlock after Close = %v, want nil", err)
	}
	acquireLock(t, store, 9, longLease)
}

// A holder whose context ends is not renewed, and can still unlock.
func TestLockEndsWithItsContext(t *testing.T) {
	t.Parallel()
	db := guardtest.Open(t, dbguard.SQLite)
	makeLocks(t, db)
	store := dbguard.LockTable{}.On(db)
	locker := dbguard.NewLocker(store)
	defer locker.Close()
	ctx, cancel := context.WithCancel(t.Context())
	lock, err := locker.Lock(ctx, "n", &dbguard.LockOptions{Lease: shortLease})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := context.Cause(lock.Context()); !errors.Is(err, context.Canceled) {
		t.Errorf("the cause is %v, want the caller's", err)
	}
	other, err := locker.Lock(t.Context(), "n", &dbguard.LockOptions{Wait: longLease})
	if err != nil {
		t.Fatalf("a lock whose holder forgot it: %v", err)
	}
	for range 2 {
		if err := lock.Unlock(ctx); !errors.Is(err, dbguard.ErrLost) {
			t.Errorf("Unlock of a former holder = %v, want ErrLost", err)
		}
	}
	if err := other.Unlock(ctx); err != nil {
		t.Errorf("Unlock with a context that ended = %v, want nil", err)
	}
	if _, err := locker.Lock(ctx, "n", nil); !errors.Is(err, dbguard.ErrHeld) || !errors.Is(err, context.Canceled) {
		t.Errorf("Lock with a context that ended = %v, want ErrHeld and its cause", err)
	}
}

// A locker's own callers are served in the order in which they asked.
func TestLockOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		locker := dbguard.NewLocker(new(memoryLocks))
		defer locker.Close()
		first, err := locker.Lock(t.Context(), "n", nil)
		if err != nil {
			t.Fatal(err)
		}
		var got, want []int
		var done sync.WaitGroup
		for i := range 20 {
			want = append(want, i)
			done.Go(func() {
				err := locker.Do(t.Context(), "n", nil, func(context.Context, semel.Fence) error {
					got = append(got, i)
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		time.Sleep(time.Hour) // held for longer than the lease
		began := time.Now()
		if err := first.Unlock(t.Context()); err != nil {
			t.Error(err)
		}
		done.Wait()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("served (-want +got):\n%s", diff)
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("they waited for %v in all, want none", took)
		}
	})
}

// A holder renews every third of the lease, and trusts it for nine tenths.
func TestLockRenewal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := new(memoryLocks)
		locker := dbguard.NewLocker(store)
		defer locker.Close()
		lock, err := locker.Lock(t.Context(), "n", &dbguard.LockOptions{Lease: 30 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(65 * time.Second)
		store.mu.Lock()
		store.silent = true
		renewed := store.renewed
		store.mu.Unlock()
		if renewed != 6 {
			t.Errorf("renewed %d times in 65 seconds, want 6", renewed)
		}
		began := time.Now()
		<-lock.Context().Done()
		if took := time.Since(began); took != 22*time.Second { // the last renewal was 5 seconds before
			t.Errorf("lost after %v, want 22 seconds", took)
		}
		store.mu.Lock()
		store.silent = false
		store.mu.Unlock()
		if err := lock.Unlock(t.Context()); err != nil {
			t.Errorf("Unlock of a lock that was not taken = %v, want nil", err)
		}
	})
}

// Work that panics releases the lock; an error of work is the caller's.
func TestLockerDo(t *testing.T) {
	t.Parallel()
	db := guardtest.Open(t, dbguard.SQLite)
	makeLocks(t, db)
	store := dbguard.LockTable{}.On(db)
	locker := dbguard.NewLocker(store)
	defer locker.Close()
	func() {
		defer func() {
			if recover() != "work" {
				t.Error("the panic of work is lost")
			}
		}()
		_ = locker.Do(t.Context(), "n", nil, func(context.Context, semel.Fence) error { panic("work") })
	}()
	if err := locker.Do(t.Context(), "n", nil, func(context.Context, semel.Fence) error { return errTokenGivenUp }); !errors.Is(err, errTokenGivenUp) {
		t.Errorf("Do = %v, want the error of its work", err)
	}
	err := locker.Do(t.Context(), "n", &dbguard.LockOptions{Lease: shortLease}, func(ctx context.Context, _ semel.Fence) error {
		db.Run(t, "UPDATE semel_lock SET owner = x'00'") //nolint:contextcheck // another owner took it; the context is the test's.
		<-ctx.Done()
		return nil
	})
	if !errors.Is(err, dbguard.ErrLost) {
		t.Errorf("Do of work that was not alone = %v, want ErrLost", err)
	}
}

// Sweep forgets unused names, and fences still grow.
func TestLockTableSweep(t *testing.T) {
	t.Parallel()
	guardtest.Each(t, func(t *testing.T, db *guardtest.Database) {
		makeLocks(t, db)
		table := dbguard.LockTable{}
		store := table.On(db)
		fence := acquireLock(t, store, 1, time.Hour)
		for _, owner := range []string{"a", "b", "c"} {
			if _, won, err := store.Acquire(t.Context(), owner, semel.Owner{2}, time.Hour); !won || err != nil {
				t.Fatalf("Acquire = %v, %v, want true", won, err)
			}
		}
		sweep := func(want int64) {
			t.Helper()
			if n, err := table.Sweep(t.Context(), db, time.Hour, 2); n != want || err != nil {
				t.Errorf("Sweep = %d, %v, want %d", n, err, want)
			}
		}
		sweep(0)
		db.Run(t, "UPDATE semel_lock SET lease_until_us = 0 WHERE name <> 'n'")
		sweep(0) // used lately
		db.Run(t, "UPDATE semel_lock SET fence = fence - 7200000000")
		fence -= 7_200_000_000
		sweep(2)
		sweep(1)
		sweep(0) // the one that is held stays
		if held, err := store.Release(t.Context(), "n", semel.Owner{1}); !held || err != nil {
			t.Errorf("Release = %v, %v, want true", held, err)
		}
		sweep(1)
		if again := acquireLock(t, store, 3, time.Hour); again <= fence {
			t.Errorf("fence after a sweep is %d, want more than %d", again, fence)
		}
		for _, wrong := range []time.Duration{0, time.Minute} {
			if _, err := table.Sweep(t.Context(), db, wrong, 1); err == nil {
				t.Errorf("Sweep of what rests for %v has no error", wrong)
			}
		}
	})
}

// memoryLocks is a store for tests of time, which is frozen in a bubble.
type memoryLocks struct {
	mu      sync.Mutex // guards the fields below
	owner   semel.Owner
	until   time.Time
	fence   semel.Fence
	renewed int
	silent  bool
}

func (m *memoryLocks) Acquire(_ context.Context, _ string, owner semel.Owner, lease time.Duration) (semel.Fence, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if time.Now().Before(m.until) && m.owner != owner {
		return 0, false, nil
	}
	m.owner, m.until, m.fence = owner, time.Now().Add(lease), m.fence+1
	return m.fence, true, nil
}

func (m *memoryLocks) Renew(_ context.Context, _ string, owner semel.Owner, lease time.Duration) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.silent {
		return false, net.ErrClosed
	}
	m.renewed++
	m.until = time.Now().Add(lease)
	return m.owner == owner, nil
}

func (m *memoryLocks) Release(_ context.Context, _ string, owner semel.Owner) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.owner == owner {
		m.until = time.Time{}
	}
	return m.owner == owner, nil
}
