package dbguard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

const (
	maxSegments      = 256
	segmentTableName = "semel_segment"
	// maxSegmentName is the longest name, in bytes.
	maxSegmentName = 255
)

// ErrShort means that there is less left, in all segments together, than was to
// be taken. Nothing was taken.
var ErrShort = errors.New("dbguard: there is less left than that")

// Segments keep amounts (stock, seats, quota) that many transactions take from
// at a time, each split into rows of which a transaction locks one: so many
// transactions run concurrently, where with one row each waits for the
// commit before it. It is safe for concurrent use.
//
//	Take:    a segment by chance ──enough──▶ taken
//	            │ short                 all of them short: ErrShort, without a lock
//	            ▼                      ▲
//	         look at all of them ──────┤
//	            │                      ▼
//	            │                      one that has enough ──▶ taken
//	            ▼ none has
//	            ▼
//	         all of them, locked in order ──enough together──▶ taken from several
//	            │ short
//	            ▼
//	         ErrShort
//
// It is right where transactions take from one row at such a rate that they queue
// for it, and each holds it for a while: longer than the statement takes, such
// as over several round trips and a commit to disk. It is not right where one caller at a
// time comes (it costs the same or a little more), in SQLite (one transaction at
// a time writes anyhow; it works there, and gains nothing), where what is left has to be read
// often (a sum over the segments), or where an order has to be kept: who takes
// first is chance. About as many segments as transactions run at a time are
// enough. It does not remember who took: a retry takes again, so take in the
// transaction of a [Dedup].
type Segments struct {
	// Table is the table's name, which may be qualified. Default: semel_segment.
	Table string
	// Count is the number of segments of each amount, 1 to 256. It may differ
	// between callers, and change: what is in a segment stays and is found.
	Count int
}

func (g *Segments) table() string { return cmp.Or(g.Table, segmentTableName) }

// Schema returns the statement that creates the table unless it exists. Put it among the
// application's own migrations.
func (g *Segments) Schema(d Dialect) (string, error) {
	return statementOf(d, g.table(), "segment_schema")
}

// Create makes the table where it is not there.
func (g *Segments) Create(ctx context.Context, s Session) error {
	return wrap("create the table of segments", create(ctx, s, g.table(), "segment_schema"))
}

// Add gives so much more to the name: in equal shares to all segments, or, if
// that is less than one for each, to one of them. It is one statement, and runs
// on a pool or in a transaction.
func (g *Segments) Add(ctx context.Context, s Session, name string, amount int64) error {
	if err := g.checkAmount(name, amount); err != nil {
		return err
	}
	add := build(s.Dialect(), "INSERT INTO ").name(g.table()).add(" (name, segment, amount) VALUES ")
	row := func(segment int, amount int64) {
		add.add("(").value(name).add(", ").value(segment).add(", ").value(amount).add(")")
	}
	count := int64(g.Count)
	if amount < count {
		row(g.any(), amount)
	} else {
		for segment := range g.Count { // in the order in which all transactions lock them
			if segment > 0 {
				add.add(", ")
			}
			share := amount / count
			if int64(segment) < amount%count {
				share++
			}
			row(segment, share)
		}
	}
	if s.Dialect() == MySQL {
		add.add(" ON DUPLICATE KEY UPDATE amount = amount + VALUES(amount)")
	} else {
		add.add(" ON CONFLICT (name, segment) DO UPDATE SET amount = ").name(g.table()).add(".amount + excluded.amount")
	}
	_, err := add.exec(ctx, s)
	return wrap("add to the segments", err)
}

// Take takes so much of the name, in the caller's transaction: from one segment
// if one has enough, otherwise from several. Errors: [ErrShort], [ErrNotFound]
// for a name that never had any. A transaction that takes from one name more
// than once can deadlock with another one, which [Retryable] knows.
func (g *Segments) Take(ctx context.Context, tx Session, name string, amount int64) error {
	if err := errors.Join(g.checkAmount(name, amount), inTransaction(tx)); err != nil {
		return err
	}
	taken, err := g.takeAny(ctx, tx, name, amount)
	if err != nil || taken {
		return wrap("take from a segment", err)
	}
	all, err := g.read(ctx, tx, name, "")
	if err != nil {
		return wrap("look for a segment with enough", err)
	}
	if err := enough(all, amount); err != nil { // nothing left: do not wait for other transactions
		return err
	}
	if taken, err = g.takeWaiting(ctx, tx, name, all, amount); err != nil || taken {
		return wrap("wait for a segment", err)
	}
	return g.gather(ctx, tx, name, amount)
}

// Left says how much there is of the name in all segments; 0 for a name that
// never had any. Without a lock it may be wrong when it is read.
func (g *Segments) Left(ctx context.Context, s Session, name string) (left int64, err error) {
	_, err = build(s.Dialect(), "SELECT CAST(COALESCE(SUM(amount), 0) AS ").add(bigint(s.Dialect())).add(") FROM ").name(g.table()).
		add(" WHERE name = ").value(name).first(ctx, s, &left)
	return left, wrap("sum up the segments", err)
}

// segment is one row.
type segment struct {
	number int
	amount int64
}

// takeAny takes from one segment by chance; in PostgreSQL from the next free one
// that has enough.
func (g *Segments) takeAny(ctx context.Context, tx Session, name string, amount int64) (taken bool, err error) {
	if tx.Dialect() != PostgreSQL || g.Count == 1 { // without another segment to choose it waits at once
		return g.takeFrom(ctx, tx, name, g.any(), amount)
	}
	n, err := build(tx.Dialect(), "UPDATE ").name(g.table()).add(" SET amount = amount - ").value(amount).
		add(" WHERE name = ").value(name).add(" AND segment = (SELECT segment FROM ").name(g.table()).
		add(" WHERE name = ").value(name).add(" AND amount >= ").value(amount).
		add(" ORDER BY segment < ").value(g.any()).add(", segment LIMIT 1 FOR UPDATE SKIP LOCKED)").exec(ctx, tx)
	return n == 1, err
}

// takeWaiting takes from one of the segments that had enough when they were read,
// after its holder. PostgreSQL keeps the lock of a row that it waited for
// also if the row no longer has enough: a savepoint gives it back, so that no
// transaction locks other segments while holding one out of order.
func (g *Segments) takeWaiting(ctx context.Context, tx Session, name string, all []segment, amount int64) (taken bool, err error) {
	all = slices.DeleteFunc(slices.Clone(all), func(s segment) bool { return s.amount < amount })
	if len(all) == 0 {
		return false, nil
	}
	number := all[g.any()%len(all)].number
	if tx.Dialect() != PostgreSQL {
		return g.takeFrom(ctx, tx, name, number, amount)
	}
	if _, err := tx.Exec(ctx, "SAVEPOINT semel_segment"); err != nil {
		return false, err
	}
	taken, err = g.takeFrom(ctx, tx, name, number, amount)
	if err != nil {
		return false, err
	}
	after := "ROLLBACK TO SAVEPOINT semel_segment"
	if taken {
		after = "RELEASE SAVEPOINT semel_segment"
	}
	_, err = tx.Exec(ctx, after)
	return taken, err
}

// enough reports how the segments together fall short.
func enough(all []segment, amount int64) error {
	if len(all) == 0 {
		return ErrNotFound
	}
	var left int64
	for _, s := range all {
		left += min(s.amount, math.MaxInt64-left)
	}
	if left < amount {
		return fmt.Errorf("%w: %d, not %d", ErrShort, left, amount)
	}
	return nil
}

// gather locks all segments, in their order, and takes from as many as it needs.
func (g *Segments) gather(ctx context.Context, tx Session, name string, amount int64) error {
	all, err := g.read(ctx, tx, name, " FOR UPDATE")
	if err != nil {
		return wrap("lock all segments", err)
	}
	if err := enough(all, amount); err != nil {
		return err
	}
	for _, s := range all {
		part := min(s.amount, amount)
		if part == 0 {
			continue
		}
		taken, err := g.takeFrom(ctx, tx, name, s.number, part)
		switch {
		case err != nil:
			return wrap("take from several segments", err)
		case !taken:
			return errors.New("dbguard: a locked segment changed: roll back")
		}
		if amount -= part; amount == 0 {
			break
		}
	}
	return nil
}

// takeFrom takes from one segment, if it has enough.
func (g *Segments) takeFrom(ctx context.Context, tx Session, name string, number int, amount int64) (taken bool, err error) {
	n, err := build(tx.Dialect(), "UPDATE ").name(g.table()).add(" SET amount = amount - ").value(amount).
		add(" WHERE name = ").value(name).add(" AND segment = ").value(number).add(" AND amount >= ").value(amount).exec(ctx, tx)
	return n == 1, err
}

// read reads all segments in their order.
func (g *Segments) read(ctx context.Context, tx Session, name, locking string) ([]segment, error) {
	query := build(tx.Dialect(), "SELECT segment, amount FROM ").name(g.table()).
		add(" WHERE name = ").value(name).add(" ORDER BY segment")
	if tx.Dialect() != SQLite {
		query.add(locking)
	}
	var all []segment
	err := query.each(ctx, tx, func(rows Rows) error {
		var s segment
		err := rows.Scan(&s.number, &s.amount)
		all = append(all, s)
		return err
	})
	return all, err
}

// any returns a random segment.
func (g *Segments) any() int { return rand.IntN(g.Count) } //nolint:gosec // it spreads load and hides nothing.

func (g *Segments) checkAmount(name string, amount int64) error {
	if g.Count < 1 || g.Count > maxSegments {
		return fmt.Errorf("dbguard: an amount is split into 1 to %d segments, not %d (set Segments.Count)", maxSegments, g.Count)
	}
	if name == "" || len(name) > maxSegmentName || amount <= 0 {
		return fmt.Errorf("dbguard: an amount has a name of 1 to %d bytes and is 1 or more", maxSegmentName)
	}
	return nil
}

// bigint returns the type that a sum is cast to: drivers scan decimals into others.
func bigint(d Dialect) string {
	switch d {
	case MySQL:
		return "SIGNED"
	case SQLite:
		return "INTEGER"
	case PostgreSQL:
	}
	return "bigint"
}
