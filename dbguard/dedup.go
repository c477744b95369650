package dbguard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/envelope"
)

const (
	// maxResultBytes bounds a result.
	maxResultBytes = 1 << 20

	dedupTableName = "semel_dedup"
	// dedupRounds bounds the attempts for a key that a sweep removes each time
	// between the two statements of a duplicate.
	dedupRounds = 3
)

// ErrNoResult means that the key was done by [Dedup.First], which keeps no
// result. A key that was used for something else is [semel.ErrMismatch].
var ErrNoResult = errors.New("dbguard: the key was done without a result; do not run it again")

// Dedup is a dedup table (防重表): the keys that were done, stored with the rows that
// they wrote, in the same database. A key and its work commit together or not at
// all. It is safe for concurrent use.
//
//	          First, Once: insert               commit
//	absent ───────────────────▶ held by one ──────────────▶ done (and its result)
//	   ▲                         │   ▲ twins wait on the          │
//	   └───────── rollback ──────┘   │ database's own lock        │
//	   ▲                             └─ and then read ◀───────────┤
//	   └───────────────────── Sweep, after the retention ─────────┘
//
// The database decides: if a process dies, its transaction is rolled back and
// the next twin is the first.
//
// It is right where the work is rows of this database, and a request, message or
// job can arrive twice: it works with any schema, and says "done before" also
// when the rows themselves have changed or gone since. It is not right where the
// work reaches outside (send a mail, call a payment service): that is not
// rolled back, and needs a claim with a lease ([semel.Guard]). Where a unique key of
// the rows themselves says the same, that key is enough, and costs nothing.
//
// At READ COMMITTED, and in SQLite, a duplicate gets the first's result as soon
// as that has committed. At REPEATABLE READ and above, a duplicate that began
// before the first committed cannot: PostgreSQL, and MariaDB with
// innodb_snapshot_isolation, end it with [ErrSerialization], and in a new
// transaction it gets the result. MySQL and MariaDB without that option answer,
// because the guard reads with a lock.
//
// The zero Dedup is the table semel_dedup.
type Dedup struct {
	// Table is the table's name, which may be qualified. Default: semel_dedup.
	Table string
}

func (d *Dedup) table() string { return cmp.Or(d.Table, dedupTableName) }

// Schema returns the statements that create the table and its index unless they exist. Put it
// among the application's own migrations.
func (d *Dedup) Schema(of Dialect) (string, error) {
	return statementOf(of, d.table(), "dedup_schema")
}

// Create makes the table where it is not there.
func (d *Dedup) Create(ctx context.Context, s Session) error {
	return wrap("create the dedup table", create(ctx, s, d.table(), "dedup_schema"))
}

// First says whether this is the first time that the key is done, and that it
// is being done by this transaction (dedup mode): when it commits, no caller is
// first again until the retention has ended. Twins wait until then; if the
// transaction rolls back, one of them is first.
//
// A key with another fingerprint is [semel.ErrMismatch]. The zero fingerprint is
// like any other. When ctx ends, or an error is returned, roll back.
func (d *Dedup) First(ctx context.Context, tx Session, key semel.Key, fp semel.Fingerprint) (first bool, err error) {
	first, _, err = d.enter(ctx, tx, key, fp)
	return first, err
}

// Do is [Once] for results that are bytes already, at most 1 MiB. The caller
// owns the result.
func (d *Dedup) Do(ctx context.Context, tx Session, key semel.Key, fp semel.Fingerprint, work func(context.Context) ([]byte, error)) (result []byte, first bool, err error) {
	first, result, err = d.enter(ctx, tx, key, fp)
	switch {
	case err != nil:
		return nil, false, err
	case !first && result == nil:
		return nil, false, ErrNoResult
	case !first:
		return result, false, nil
	}
	if result, err = work(ctx); err != nil {
		return nil, true, err
	}
	if len(result) > maxResultBytes {
		return nil, true, fmt.Errorf("dbguard: the result is longer than %d bytes: keep a reference to it in its place", maxResultBytes)
	}
	if result == nil {
		result = []byte{} // NULL means no result; empty is a result
	}
	digest := key.Digest()
	n, err := build(tx.Dialect(), "UPDATE ").name(d.table()).add(" SET result = ").value(result).
		add(" WHERE digest = ").value(digest[:]).exec(ctx, tx)
	switch {
	case err != nil:
		return nil, true, fmt.Errorf("keep the result: %w", err)
	case n == 0:
		return nil, true, errors.New("dbguard: the key is gone before its result was kept: was the transaction rolled back within the work?")
	}
	return result, true, nil
}

// Once does the work if the key was not done before, and keeps its result, as
// JSON, for all callers with the same key (idempotent mode). The work
// uses tx; key, work and result commit together. If the work, or Once, returns
// an error, roll the transaction back: nothing happened, and the key is free.
// A duplicate of a key that was done without a result is [ErrNoResult].
func Once[T any](ctx context.Context, d *Dedup, tx Session, key semel.Key, fp semel.Fingerprint, work func(context.Context) (T, error)) (result T, first bool, err error) {
	var made T
	kept, first, err := d.Do(ctx, tx, key, fp, func(ctx context.Context) ([]byte, error) {
		var err error
		if made, err = work(ctx); err != nil {
			return nil, err
		}
		text, read, err := envelope.Encode(made)
		made = read
		return text, err
	})
	switch {
	case err != nil:
		var none T
		return none, first, err
	case first:
		return made, true, nil
	}
	if err := envelope.Decode(kept, &result); err != nil {
		return result, false, fmt.Errorf("read the kept result: %w", err)
	}
	return result, false, nil
}

// Sweep forgets keys that were done longer ago than the retention, by the
// database's clock, the oldest first and at most so many; it returns how many.
// Call it on a pool until it returns fewer than limit. A key that no sweep has
// reached is remembered for longer. Sweeps run concurrently with each other and
// with the work.
func (d *Dedup) Sweep(ctx context.Context, s Session, retention time.Duration, limit int) (removed int64, err error) {
	if retention < 0 || limit <= 0 {
		return 0, fmt.Errorf("dbguard: sweep keeps for 0 or more and removes 1 or more, not %v and %d", retention, limit)
	}
	sweep := build(s.Dialect(), "DELETE FROM ").name(d.table())
	switch s.Dialect() {
	case PostgreSQL:
		// An array is worked out once; what is IN a list may be looked for again
		// for each row, and then the limit bounds nothing.
		sweep.add(" WHERE digest = ANY (ARRAY(SELECT digest FROM ").name(d.table()).
			add(" WHERE seen_at <= clock_timestamp() - make_interval(secs => ").value(retention.Seconds()).
			add(") ORDER BY seen_at LIMIT ").value(limit).add(" FOR UPDATE SKIP LOCKED))")
	case MySQL:
		sweep.add(" WHERE seen_at <= CURRENT_TIMESTAMP(6) - INTERVAL ").value(retention.Microseconds()).
			add(" MICROSECOND ORDER BY seen_at LIMIT ").value(limit)
	case SQLite:
		sweep.add(" WHERE digest IN (SELECT digest FROM ").name(d.table()).
			add(" WHERE seen_at <= unixepoch('subsec') - ").value(retention.Seconds()).
			add(" ORDER BY seen_at LIMIT ").value(limit).add(")")
	}
	if removed, err = sweep.exec(ctx, s); err != nil {
		return 0, fmt.Errorf("sweep %s: %w", d.table(), err)
	}
	return removed, nil
}

// enter takes the key, or returns what is there. The result is nil if there is
// none.
func (d *Dedup) enter(ctx context.Context, tx Session, key semel.Key, fp semel.Fingerprint) (first bool, result []byte, err error) {
	if err := key.Validate(); err != nil {
		return false, nil, err
	}
	if err := inTransaction(tx); err != nil {
		return false, nil, err
	}
	digest := key.Digest()
	for range dedupRounds {
		first, err := d.insert(ctx, tx, digest, fp)
		if err != nil || first {
			return first, nil, wrap("take the key", err)
		}
		var asked []byte
		var kept bool
		found, err := build(tx.Dialect(), "SELECT fingerprint, result IS NOT NULL, result FROM ").name(d.table()).
			add(" WHERE digest = ").value(digest[:]).current().first(ctx, tx, &asked, &kept, &result)
		switch {
		case err != nil:
			return false, nil, fmt.Errorf("read what the key was used for: %w", err)
		case found && string(asked) != string(fp[:]):
			return false, nil, semel.ErrMismatch
		case found && kept:
			return false, append([]byte{}, result...), nil // some drivers have nil for what is empty
		case found:
			return false, nil, nil
		}
	}
	return false, nil, errors.New("dbguard: the key is swept away as often as it is taken: is the retention of the sweep too short?")
}

// insert takes the key in one statement, after the transactions that have it.
func (d *Dedup) insert(ctx context.Context, tx Session, digest semel.Digest, fp semel.Fingerprint) (first bool, err error) {
	insert := build(tx.Dialect(), "INSERT INTO ").name(d.table()).add(" (digest, fingerprint) VALUES (").
		value(digest[:]).add(", ").value(fp[:]).add(")")
	if tx.Dialect() == MySQL {
		insert.add(" ON DUPLICATE KEY UPDATE duplicates = duplicates + 1") // affects 2, with clientFoundRows too
	} else {
		insert.add(" ON CONFLICT (digest) DO NOTHING")
	}
	n, err := insert.exec(ctx, tx)
	return n == 1, err
}

// wrap says which act met an error, if there is one.
func wrap(act string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", act, err)
}
