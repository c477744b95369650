package main

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/dbguard"
	"github.com/semel-dev/semel/internal/bench/contest"
)

// redeeming and heldLock are shared by the entries of tokens and fences.
const (
	redeeming = "tenant-7 pay"
	heldLock  = "held"
)

// createEntries returns the guards of creates, locks and tokens, each with the
// bare statement that it guards.
func (b *guardBench) createEntries() []contest.Entry {
	const (
		bare, clash  = "bare INSERT", "bare INSERT that fails"
		tx           = "bare transaction"
		fresh, again = true, false
	)
	return []contest.Entry{
		{Name: bare, One: func(ctx context.Context) error { return b.insert(ctx, b.serial.Add(1)) }},
		{Name: "CreateOrReuse, new", One: b.create(fresh), Rival: bare},
		{Name: "CreateOrReuse, there already", One: b.create(again), Rival: bare},
		{Name: "Upsert, new", One: b.upsert(fresh), Rival: bare},
		{Name: "Upsert, there and changes", One: b.upsert(again), Rival: bare},
		{Name: clash, One: b.clash(func(err error) error { return err })},
		{Name: "the same, translated", One: b.clash(dbguard.NewTranslator(nil).For("bench_made").Translate), Rival: clash},
		{Name: "Locker.Do, a lock each", One: b.locked, Rival: tx},
		{Name: "CheckFence", One: b.inTx(b.checkFence), Rival: tx},
		{Name: "AdvanceFence", One: b.inTx(b.advanceFence), Rival: tx},
		{Name: "Tokens.Mint", One: b.mint, Rival: bare},
		{Name: "Tokens.Mint, then Consume", One: b.mintAndConsume, Rival: tx},
	}
}

// prepareCreates makes the tables of createEntries. The caller closes the
// locker.
func (b *guardBench) prepareCreates(ctx context.Context) error {
	if _, err := b.db.Exec(ctx, "CREATE TABLE bench_made (id bigint PRIMARY KEY, n bigint NOT NULL)"); err != nil {
		return err
	}
	for _, made := range []interface {
		Create(ctx context.Context, s dbguard.Session) error
	}{dbguard.LockTable{}, dbguard.FenceTable{}, dbguard.Tokens{}} {
		if err := made.Create(ctx, b.db); err != nil {
			return err
		}
	}
	for id := range guardRows {
		if err := b.insert(ctx, -1-int64(id)); err != nil {
			return err
		}
	}
	var err error
	b.locks = dbguard.LockTable{}.On(b.db)
	if b.fence, _, err = b.locks.Acquire(ctx, heldLock, semel.Owner{1}, 24*time.Hour); err != nil {
		return err
	}
	b.locker = dbguard.NewLocker(b.locks)
	return nil
}

func (b *guardBench) insert(ctx context.Context, id int64) error {
	_, err := b.db.Exec(ctx, "INSERT INTO bench_made (id, n) VALUES ("+b.db.Dialect().Placeholders(1, 2)+")", id, 0)
	return err
}

// made is a row that is new, or one of those that were there before.
func (b *guardBench) made(fresh bool) dbguard.Insert {
	id := b.serial.Add(1)
	if !fresh {
		id = -1 - int64(b.row())
	}
	return dbguard.Insert{
		Table: "bench_made", Columns: []string{"id", "n"}, Values: []any{id, id % guardRows},
		Unique: dbguard.Target{Columns: []string{"id"}}, Returning: []string{"id"},
	}
}

func readMade(rows dbguard.Rows) (id int64, err error) { return id, rows.Scan(&id) }

func (b *guardBench) create(fresh bool) func(context.Context) error {
	return func(ctx context.Context) error {
		in := b.made(fresh)
		_, created, err := dbguard.CreateOrReuse(ctx, b.db, &in, readMade)
		if err == nil && created != fresh {
			err = errors.New("a row was created that should be there, or the reverse")
		}
		return err
	}
}

func (b *guardBench) upsert(fresh bool) func(context.Context) error {
	return func(ctx context.Context) error {
		in := dbguard.Upsertion{Insert: b.made(fresh), MayChange: []string{"n"}}
		in.Values[1] = b.serial.Add(1)
		_, change, err := dbguard.Upsert(ctx, b.db, &in, readMade)
		if err == nil && change == (dbguard.Upserted{}) {
			err = errors.New("an upsert of another value changed nothing")
		}
		return err
	}
}

// clash inserts a row that is there.
func (b *guardBench) clash(translate func(error) error) func(context.Context) error {
	return func(ctx context.Context) error {
		if translate(b.insert(ctx, -1-int64(b.row()))) == nil {
			return errors.New("the insert of a row that is there succeeded")
		}
		return nil
	}
}

// locked takes a lock without a rival, updates and releases it.
func (b *guardBench) locked(ctx context.Context) error {
	id := b.turns.Add(1) % guardRows
	return b.locker.Do(ctx, strconv.FormatInt(id, 10), nil, func(ctx context.Context, _ semel.Fence) error {
		return b.update(ctx, b.db, int(id))
	})
}

func (b *guardBench) checkFence(ctx context.Context, tx dbguard.Session) error {
	if err := (dbguard.LockTable{}).CheckFence(ctx, tx, heldLock, b.fence); err != nil {
		return err
	}
	return b.update(ctx, tx, b.row())
}

func (b *guardBench) advanceFence(ctx context.Context, tx dbguard.Session) error {
	id := b.row()
	if err := (dbguard.FenceTable{}).Advance(ctx, tx, strconv.Itoa(id), b.fence); err != nil {
		return err
	}
	return b.update(ctx, tx, id)
}

func (b *guardBench) mint(ctx context.Context) error {
	_, err := dbguard.Tokens{}.Mint(ctx, b.db, redeeming, time.Hour)
	return err
}

// mintAndConsume is the whole life of a token, the second half with an update in
// a transaction.
func (b *guardBench) mintAndConsume(ctx context.Context) error {
	token, err := dbguard.Tokens{}.Mint(ctx, b.db, redeeming, time.Hour)
	if err != nil {
		return err
	}
	return b.inTx(func(ctx context.Context, tx dbguard.Session) error {
		if err := (dbguard.Tokens{}).Consume(ctx, tx, redeeming, token); err != nil {
			return err
		}
		return b.update(ctx, tx, b.row())
	})(ctx)
}
