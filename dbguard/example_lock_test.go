package dbguard_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	_ "modernc.org/sqlite"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/dbguard"
)

// openLocks opens a database in memory, with the tables of locks, fences and
// tokens.
func openLocks(ctx context.Context, name string) (db dbguard.Database, end func()) {
	pool, err := sql.Open("sqlite", "file:"+name+"?mode=memory&cache=shared&_txlock=immediate&_pragma=busy_timeout(5000)")
	if err != nil {
		panic(err)
	}
	pool.SetMaxOpenConns(1) // a database in memory ends with its connections
	db = dbguard.SQLDatabase(dbguard.SQLite, pool)
	err = errors.Join(dbguard.LockTable{}.Create(ctx, db), dbguard.FenceTable{}.Create(ctx, db), dbguard.Tokens{}.Create(ctx, db))
	if err != nil {
		panic(err)
	}
	return db, func() { pool.Close() }
}

func ExampleLocker_Lock() {
	ctx := context.Background()
	db, end := openLocks(ctx, "lock")
	defer end()
	locker := dbguard.NewLocker(dbguard.LockTable{}.On(db))
	defer locker.Close()

	lock, err := locker.Lock(ctx, "nightly report", &dbguard.LockOptions{Wait: 10 * time.Second})
	fmt.Println(lock.Name(), err)
	_, err = locker.TryLock(ctx, "nightly report", nil)
	fmt.Println(err)
	fmt.Println(lock.Unlock(ctx), context.Cause(lock.Context()))
	// Output:
	// nightly report <nil>
	// lock: dbguard: another holder has the lock
	// <nil> dbguard: the lock was released
}

func ExampleLocker_TryLock() {
	ctx := context.Background()
	db, end := openLocks(ctx, "trylock")
	defer end()
	locker := dbguard.NewLocker(dbguard.LockTable{}.On(db))
	defer locker.Close()

	lock, err := locker.TryLock(ctx, "leader", nil)
	if errors.Is(err, dbguard.ErrHeld) {
		fmt.Println("another process leads")
		return
	}
	fmt.Println("leading:", lock.Context().Err() == nil)
	fmt.Println(lock.Unlock(ctx))
	// Output:
	// leading: true
	// <nil>
}

func ExampleLocker_Do() {
	ctx := context.Background()
	db, end := openLocks(ctx, "do")
	defer end()
	locker := dbguard.NewLocker(dbguard.LockTable{}.On(db))
	defer locker.Close()

	err := locker.Do(ctx, "nightly report", nil, func(ctx context.Context, fence semel.Fence) error {
		fmt.Println("working with a fence:", fence > 0)
		return ctx.Err() // ended, had the lock been lost
	})
	fmt.Println(err)
	// Output:
	// working with a fence: true
	// <nil>
}

// The rows are in the database of the lock: a write counts only while no caller
// has taken the lock since.
func ExampleLockTable_CheckFence() {
	ctx := context.Background()
	db, end := openLocks(ctx, "check")
	defer end()
	store := dbguard.LockTable{}.On(db)
	write := func(fence semel.Fence) error {
		return db.InTx(ctx, func(ctx context.Context, tx dbguard.Session) error {
			if err := (dbguard.LockTable{}).CheckFence(ctx, tx, "stock", fence); err != nil {
				return err
			}
			return nil // write
		})
	}
	first, _, _ := store.Acquire(ctx, "stock", semel.Owner{1}, time.Millisecond) // and it is suspended
	locker := dbguard.NewLocker(store)
	defer locker.Close()
	lock, _ := locker.Lock(ctx, "stock", nil)

	fmt.Println(write(lock.Fence()))
	fmt.Println(write(first))
	fmt.Println(lock.Unlock(ctx))
	// Output:
	// <nil>
	// dbguard: a later holder has taken over
	// <nil>
}

// The rows are in another database than the lock: they remember the greatest
// fence that they have seen.
func ExampleFenceTable_Fenced() {
	ctx := context.Background()
	db, end := openLocks(ctx, "fenced")
	defer end()
	write := func(context.Context, dbguard.Session) error { return nil }
	fmt.Println((dbguard.FenceTable{}).Fenced(ctx, db, "stock", 41, write)) // a fence of Redis, say
	fmt.Println((dbguard.FenceTable{}).Fenced(ctx, db, "stock", 42, write))
	fmt.Println((dbguard.FenceTable{}).Fenced(ctx, db, "stock", 41, write))
	// Output:
	// <nil>
	// <nil>
	// dbguard: a later holder has taken over
}

func ExampleLockTable_Schema() {
	text, err := dbguard.LockTable{Name: "app.locks"}.Schema(dbguard.SQLite)
	fmt.Println(text, err)
	// Output:
	// -- One row for each name that was ever locked.
	// CREATE TABLE IF NOT EXISTS "app"."locks" (
	//   name TEXT NOT NULL PRIMARY KEY,
	//   fence INTEGER NOT NULL,
	//   owner BLOB NOT NULL,
	//   lease_until_us INTEGER NOT NULL
	// ) WITHOUT ROWID;
	//  <nil>
}

func ExampleLockTable_Sweep() {
	ctx := context.Background()
	db, end := openLocks(ctx, "sweep")
	defer end()
	fmt.Println(dbguard.LockTable{}.Sweep(ctx, db, 24*time.Hour, 1000))
	// Output: 0 <nil>
}

// The lock is elsewhere, such as in Redis: the table of fences is in the database
// of the rows, and refuses a former holder once a later one has written.
func ExampleFenceTable_Advance() {
	ctx := context.Background()
	db, end := openLocks(ctx, "fencetable")
	defer end()
	fences := dbguard.FenceTable{Name: "stock_fence"}
	if err := fences.Create(ctx, db); err != nil {
		fmt.Println(err)
		return
	}
	for _, fence := range []semel.Fence{41, 42, 41} {
		err := db.InTx(ctx, func(ctx context.Context, tx dbguard.Session) error {
			return fences.Advance(ctx, tx, "bolts", fence) // and then write
		})
		fmt.Println(err)
	}
	// Output:
	// <nil>
	// <nil>
	// dbguard: a later holder has taken over
}
