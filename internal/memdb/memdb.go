package memdb

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/semel-dev/semel"
)

// DefaultConnections is the size of the pool where Options names none.
const DefaultConnections = 16

// ErrConflict is the error of work that the database undid because of another
// transaction; [semel.Tx]'s Conflict knows it.
var ErrConflict = errors.New("memdb: undone because of another transaction")

// Point is a place in the life of a transaction where it can be made to fail.
type Point string

// The points, in the order of a transaction's life.
const (
	Begin     Point = "begin"     // before a connection is taken
	Claim     Point = "claim"     // before the key is asked for
	Commit    Point = "commit"    // before the commit: what fails here is rolled back
	Committed Point = "committed" // after the commit: the reply is lost
)

// Options are the settings of a [DB]. A nil *Options is complete.
type Options struct {
	// Connections bounds the transactions that are open at once, in each pool.
	// Default DefaultConnections.
	Connections int
	// Fault is asked at every point; an error fails the transaction there with
	// it. It may block to delay, and is called from many goroutines.
	Fault func(Point) error
	// Optimistic lets claims without a transaction take a key from one that is
	// open, whose Commit then returns semel.ErrLost. Otherwise they wait.
	Optimistic bool
}

// DB is a database: a [semel.Store] that knows of transactions, and a
// [semel.Transactor]. It is safe for concurrent use; [New] is the only way to
// make one.
type DB struct {
	pool

	inner semel.Store
	opts  Options

	mu    sync.Mutex // guards the fields below, and makes a commit one step
	locks map[semel.Digest]*lock
	open  map[semel.Digest]*Tx // claimed, and not committed yet
	rows  []string
}

var (
	_ semel.Store      = (*DB)(nil)
	_ semel.Transactor = (*DB)(nil)
	_ semel.Transactor = (*pool)(nil)
)

// pool is a number of connections to one database.
type pool struct {
	db    *DB
	seats chan struct{}
}

// lock is the lock of one key.
type lock struct {
	seat chan struct{} // of length 1: full while the lock is held
	n    int           // its holder and waiters
}

// New returns a database without rows whose records are in the store, which
// belongs to it from now on.
func New(store semel.Store, o *Options) *DB {
	db := &DB{inner: store, locks: map[semel.Digest]*lock{}, open: map[semel.Digest]*Tx{}}
	if o != nil {
		db.opts = *o
	}
	if db.opts.Connections <= 0 {
		db.opts.Connections = DefaultConnections
	}
	db.pool = pool{db: db, seats: make(chan struct{}, db.opts.Connections)}
	return db
}

// Pool returns another pool of connections to the same database, like that of
// another process.
func (db *DB) Pool() semel.Transactor {
	return &pool{db: db, seats: make(chan struct{}, db.opts.Connections)}
}

// Insert adds a row: in the transaction of ctx, if there is one.
func (db *DB) Insert(ctx context.Context, row string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if tx := TxFrom(ctx); tx != nil {
		tx.rows = append(tx.rows, row)
		return nil
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	db.rows = append(db.rows, row)
	return nil
}

// Count returns how many committed rows are equal to row.
func (db *DB) Count(row string) int {
	db.mu.Lock()
	defer db.mu.Unlock()
	n := 0
	for _, r := range db.rows {
		if r == row {
			n++
		}
	}
	return n
}

// Idle reports whether no transaction is open, and no transaction waits for a
// key.
func (db *DB) Idle() bool {
	db.mu.Lock()
	defer db.mu.Unlock()
	return len(db.open) == 0 && len(db.locks) == 0
}

func (db *DB) fault(p Point) error {
	if db.opts.Fault == nil {
		return nil
	}
	return db.opts.Fault(p)
}

// lockKey takes the key's lock within the time given, or returns
// [semel.ErrInFlight] or ctx's error. A negative wait is without bound.
func (db *DB) lockKey(ctx context.Context, d semel.Digest, wait time.Duration) error {
	db.mu.Lock()
	l := db.locks[d]
	if l == nil {
		l = &lock{seat: make(chan struct{}, 1)}
		db.locks[d] = l
	}
	l.n++
	db.mu.Unlock()
	err := l.acquire(ctx, wait)
	if err != nil {
		db.mu.Lock()
		db.leave(d, l)
		db.mu.Unlock()
	}
	return err
}

func (l *lock) acquire(ctx context.Context, wait time.Duration) error {
	select {
	case l.seat <- struct{}{}:
		return nil
	default:
	}
	var patience <-chan time.Time
	if wait >= 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		patience = timer.C
	}
	select {
	case l.seat <- struct{}{}:
		return nil
	case <-patience:
		return semel.ErrInFlight
	case <-ctx.Done():
		return ctx.Err()
	}
}

// unlockKey gives the lock back. db.mu is held.
func (db *DB) unlockKey(d semel.Digest) {
	l := db.locks[d]
	<-l.seat
	db.leave(d, l)
}

// leave forgets a lock without holder or waiter. db.mu is held.
func (db *DB) leave(d semel.Digest, l *lock) {
	if l.n--; l.n == 0 {
		delete(db.locks, d)
	}
}
