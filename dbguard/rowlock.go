package dbguard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
)

// resetTimeout bounds the statement that sets the server's time-out back.
const resetTimeout = 5 * time.Second

// maxRows bounds the rows that [LockRows] and [LockFree] lock at once.
const maxRows = 1000

// LockRows locks rows until the transaction ends: no other transaction changes
// or locks them before. Errors: [ErrNotFound]; [ErrNotLockable]; [ErrHeld] when another transaction
// holds a row for longer than wait, or at all where wait is negative. 0 waits as
// long as ctx lasts and the server allows: innodb_lock_wait_timeout, 50 s by
// default, or lock_timeout. PostgreSQL has then ended the transaction: roll it back.
//
// Rows are locked in an order that is the same for all callers: two transfers
// between the same accounts in opposite directions wait for each other, and do
// not deadlock. The order is that of the printed keys, so all callers give them
// in one Go type. A row that is named twice is locked once. At most 1000 rows.
//
// It is right where a decision depends on what the row holds and the change
// takes more than one statement: read it after the lock, decide, write. It is
// not right where one statement can say it all (UPDATE … SET balance = balance -
// 100 WHERE id = 1 AND balance >= 100), which holds the row for a shorter time;
// nor for work outside of the database, during which no
// transaction should be held open; nor for a row that does not exist yet: no row, no lock.
// A lock alone stops two at a time, not one after the other: a retry comes later,
// and needs a key ([Dedup], [LockCheckUpdate]).
//
// PostgreSQL counts the wait in milliseconds, MySQL and MariaDB in whole
// seconds, rounded up. A wait between the two ends takes two statements more, to
// set the server's time-out for this one lock. In SQLite a transaction holds the
// whole database from its beginning, so that the lock is there already, and
// a caller waits at BEGIN instead, for the pool's busy_timeout.
func LockRows(ctx context.Context, tx Session, wait time.Duration, rows ...Row) error {
	if len(rows) > maxRows {
		return fmt.Errorf("dbguard: %d rows are too many to lock at once, at most %d", len(rows), maxRows)
	}
	if err := inTransaction(tx); err != nil {
		return err
	}
	ordered := slices.Clone(rows)
	for _, row := range ordered {
		if err := row.check(); err != nil {
			return err
		}
	}
	slices.SortFunc(ordered, compareRows)
	ordered = slices.CompactFunc(ordered, func(a, b Row) bool { return compareRows(a, b) == 0 })
	if err := checkKeys(ctx, tx, ordered); err != nil {
		return err
	}
	return bounded(ctx, tx, wait, func(how string) error {
		for _, row := range ordered {
			if err := lockRow(ctx, tx, row, how); err != nil {
				return err
			}
		}
		return nil
	})
}

// Free says which rows [LockFree] takes.
type Free struct {
	Table string
	// Column identifies the rows, such as id, and is returned.
	Column string
	// Where lists the values that a row must have; empty takes all rows.
	Where []Cell
	// OrderBy is the column that says which come first. Default Column.
	OrderBy string
	// Limit bounds the rows to take, 1 to 1000. Default 1.
	Limit int
}

// LockFree locks rows that are free, until the transaction ends, skips those that
// are held (SKIP LOCKED), and returns the values of their
// Column, if there is one.
//
// It is right for a queue in a table: every worker takes the next free row, does
// the work and marks the row in the same transaction. It is not right for
// reading: which rows are left out is chance. Work that takes long holds a
// transaction open; a lease in the row is better there. MySQL has SKIP LOCKED
// since 8.0, MariaDB since 10.6. In SQLite no row is ever held by another transaction.
func LockFree[K any](ctx context.Context, tx Session, free Free) ([]K, error) {
	limit := cmp.Or(free.Limit, 1)
	if free.Table == "" || free.Column == "" || limit < 1 || limit > maxRows {
		return nil, fmt.Errorf("dbguard: taking free rows needs a table, a column and a limit of 1 to %d", maxRows)
	}
	if err := inTransaction(tx); err != nil {
		return nil, err
	}
	if err := checkEngine(ctx, tx, free.Table); err != nil {
		return nil, err
	}
	pick := build(tx.Dialect(), "SELECT ").column(free.Column).add(" FROM ").name(free.Table)
	if len(free.Where) > 0 {
		pick.add(" WHERE ").cells(free.Where, " AND ")
	}
	pick.add(" ORDER BY ").column(cmp.Or(free.OrderBy, free.Column)).add(" LIMIT " + strconv.Itoa(limit)).forUpdate(" SKIP LOCKED")
	var taken []K
	err := pick.each(ctx, tx, func(rows Rows) error {
		var key K
		err := rows.Scan(&key)
		taken = append(taken, key)
		return err
	})
	if err != nil {
		return nil, wrap("take free rows", err)
	}
	return taken, nil
}

// lockRow locks one row, by the words that follow FOR UPDATE.
func lockRow(ctx context.Context, tx Session, row Row, how string) error {
	var one int
	found, err := build(tx.Dialect(), "SELECT 1 FROM ").name(row.Table).add(" WHERE ").cells(row.Key, " AND ").
		forUpdate(how).first(ctx, tx, &one)
	switch {
	case err != nil:
		return err
	case !found:
		return ErrNotFound
	}
	return nil
}

// bounded runs locking statements that wait for so long, and translates their
// errors.
func bounded(ctx context.Context, tx Session, wait time.Duration, lock func(how string) error) error {
	if tx.Dialect() == SQLite || wait == 0 {
		return lockError(lock(""))
	}
	if wait < 0 {
		return lockError(lock(" NOWAIT"))
	}
	set, reset := timeouts(tx.Dialect(), wait)
	//semel:safe a setting that is put back, or ends with the transaction
	if _, err := tx.Exec(ctx, set); err != nil {
		return wrap("set how long to wait for a lock", err)
	}
	err := lock("")
	if tx.Dialect() == PostgreSQL && err != nil && !errors.Is(err, ErrNotFound) {
		return lockError(err) // the transaction has ended, and the setting with it
	}
	// Also when the caller has gone: MySQL's setting outlives the transaction, and
	// the connection's next user in a pool would have it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), resetTimeout)
	defer cancel()
	if _, resetErr := tx.Exec(ctx, reset); err == nil {
		err = wrap("set back how long to wait for a lock", resetErr)
	}
	return lockError(err)
}

// timeouts are the statements that set the server's time-out, and set it back to
// what it was.
func timeouts(d Dialect, wait time.Duration) (set, reset string) {
	if d == PostgreSQL {
		milliseconds := min(max(wait.Milliseconds(), 1), math.MaxInt32)
		return "SELECT set_config('semel.lock_timeout', current_setting('lock_timeout'), true), set_config('lock_timeout', '" +
				strconv.FormatInt(milliseconds, 10) + "', true)",
			"SELECT set_config('lock_timeout', current_setting('semel.lock_timeout'), true)"
	}
	const most = 1 << 30 // as many seconds as the server allows
	seconds := min(int64(math.Ceil(wait.Seconds())), most)
	return "SET @semel_lock_wait = @@SESSION.innodb_lock_wait_timeout, SESSION innodb_lock_wait_timeout = " + strconv.FormatInt(seconds, 10),
		"SET SESSION innodb_lock_wait_timeout = @semel_lock_wait"
}

// lockError names a lock that was not got; other errors stay.
func lockError(err error) error {
	if err != nil && isLockFailure(err) {
		return fmt.Errorf("%w (%w)", ErrHeld, err)
	}
	return err
}

// compareRows orders rows by table and printed key.
func compareRows(a, b Row) int {
	if c := cmp.Compare(a.Table, b.Table); c != 0 {
		return c
	}
	return slices.CompareFunc(a.Key, b.Key, func(a, b Cell) int {
		return cmp.Or(cmp.Compare(a.Column, b.Column), cmp.Compare(fmt.Sprint(a.Value), fmt.Sprint(b.Value)))
	})
}
