package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/dbguard"
	"github.com/semel-dev/semel/dbguard/pgxguard"
	"github.com/semel-dev/semel/internal/bench/contest"
	"github.com/semel-dev/semel/internal/dialect"
)

// guardRows is the number of rows that the guards work on: so many that callers
// seldom collide, except where an entry makes them.
const guardRows = 4096

// guardBench is one database and all that the guards need in it.
type guardBench struct {
	db      dbguard.Database
	dedup   *dbguard.Dedup
	machine *dbguard.Machine[string]
	one     *dbguard.Segments // the hot amount in one row
	many    *dbguard.Segments // and in sixteen
	locks   dbguard.LockStore
	locker  *dbguard.Locker
	fence   semel.Fence // of a lock that is held all the time
	serial  atomic.Int64

	turns    atomic.Int64
	versions [guardRows]atomic.Int64
}

// guardEntries returns the guards, each with the bare statement that it guards.
// A new guard adds its entry here.
func (b *guardBench) guardEntries() []contest.Entry {
	const bare, tx = "bare UPDATE", "bare transaction"
	return []contest.Entry{
		{Name: bare, One: func(ctx context.Context) error { return b.update(ctx, b.db, b.row()) }},
		{Name: tx, One: b.inTx(func(ctx context.Context, s dbguard.Session) error { return b.update(ctx, s, b.row()) })},
		{Name: "UpdateVersion, no key", One: b.version, Rival: bare},
		{Name: "UpdateVersion, key column", One: b.versionByColumn, Rival: bare},
		{Name: "Transition, half are there already", One: b.transition, Rival: bare},
		{Name: "Dedup.First", One: b.inTx(b.first), Rival: tx},
		{Name: "Once", One: b.inTx(b.once), Rival: tx},
		{Name: "LockRows, wait forever", One: b.inTx(b.lock), Rival: tx},
		{Name: "LockCheckUpdate", One: b.lockCheckUpdate, Rival: tx},
		{Name: "one hot row, all take", One: b.inTx(b.take(b.one))},
		{Name: "sixteen segments, all take", One: b.inTx(b.take(b.many)), Rival: "one hot row, all take"},
	}
}

// run compares all guards with their bare statements, and the segments also for
// one caller at a time, which they do not help.
func (b *guardBench) run(ctx context.Context, s *contest.Settings, title string) (*contest.Table, error) {
	if err := b.prepare(ctx); err != nil {
		return nil, err
	}
	if err := b.prepareCreates(ctx); err != nil {
		return nil, err
	}
	defer shut(b.locker)
	t := &contest.Table{Title: fmt.Sprintf("guards on %s: %d callers, durable commits", title, manyCallers)}
	if err := (&contest.Contest{Callers: manyCallers, Entries: slices.Concat(b.guardEntries(), b.createEntries())}).Run(ctx, s, t); err != nil {
		return nil, err
	}
	alone := func(g *dbguard.Segments) func(context.Context, int) error {
		one := b.inTx(b.take(g))
		return func(ctx context.Context, n int) error { return contest.Spread(ctx, 1, n, one) }
	}
	samples, err := contest.Measure(ctx, s, []contest.Subject{{Name: "one row", Do: alone(b.one)}, {Name: "segments", Do: alone(b.many)}})
	if err != nil {
		return nil, err
	}
	t.Rows = append(
		t.Rows,
		contest.Row{Subject: "one row, one caller takes", Time: contest.NanosText(samples[0].Nanos), Allocs: contest.AllocsText(samples[0].Allocs)},
		contest.Row{
			Subject: "sixteen segments, one caller takes", Time: contest.NanosText(samples[1].Nanos), Allocs: contest.AllocsText(samples[1].Allocs),
			Against: fmt.Sprintf("%v × one row, one caller takes", contest.Ratio(samples[0].Rounds, samples[1].Rounds)),
		},
	)
	return t, nil
}

func (b *guardBench) prepare(ctx context.Context) (err error) {
	b.dedup = &dbguard.Dedup{}
	b.machine, err = dbguard.NewMachine(dbguard.Declaration[string]{
		Name: "row", Column: "state", States: []string{"on", "off"},
		Moves: []dbguard.Move[string]{{From: "on", To: "off"}, {From: "off", To: "on"}},
	})
	if err != nil {
		return err
	}
	b.one, b.many = &dbguard.Segments{Table: "bench_one", Count: 1}, &dbguard.Segments{Table: "bench_many", Count: 16}
	binary := map[dialect.Dialect]string{dialect.PostgreSQL: "bytea", dialect.MySQL: "binary(32)", dialect.SQLite: "BLOB"}[b.db.Dialect()]
	if _, err := b.db.Exec(ctx, "CREATE TABLE bench_guard (id int PRIMARY KEY, n bigint NOT NULL, version bigint NOT NULL, state varchar(10) NOT NULL, last_key "+binary+")"); err != nil {
		return err
	}
	for _, made := range []interface {
		Create(ctx context.Context, s dbguard.Session) error
	}{b.dedup, b.one, b.many} {
		if err := made.Create(ctx, b.db); err != nil {
			return err
		}
	}
	return b.db.InTx(ctx, func(ctx context.Context, tx dbguard.Session) error {
		for id := range guardRows {
			if _, err := tx.Exec(ctx, "INSERT INTO bench_guard (id, n, version, state) VALUES ("+b.db.Dialect().Placeholder(1)+", 0, 0, 'on')", id); err != nil {
				return err
			}
		}
		return errors.Join(b.one.Add(ctx, tx, "hot", 1<<50), b.many.Add(ctx, tx, "hot", 1<<50))
	})
}

// row is one of the rows by chance.
func (b *guardBench) row() int { return rand.IntN(guardRows) } //nolint:gosec // it spreads load and hides nothing.

func (b *guardBench) place(id int) dbguard.Row { return dbguard.RowAt("bench_guard", "id", id) }

// key returns a fresh key.
func (b *guardBench) key() semel.Key {
	return semel.Key{Scope: "tenant-7 pay", Name: "k" + strconv.FormatInt(b.serial.Add(1), 10)}
}

// inTx is a transaction of the work, again if the database ends it because of
// another one.
func (b *guardBench) inTx(work func(context.Context, dbguard.Session) error) func(context.Context) error {
	return func(ctx context.Context) error {
		err := b.db.InTx(ctx, work)
		for dbguard.Retryable(err) && ctx.Err() == nil {
			err = b.db.InTx(ctx, work)
		}
		return err
	}
}

func (b *guardBench) update(ctx context.Context, s dbguard.Session, id int) error {
	_, err := s.Exec(ctx, "UPDATE bench_guard SET n = n + 1 WHERE id = "+b.db.Dialect().Placeholder(1), id)
	return err
}

// change changes a row from the version that it has: callers take rows in turn,
// so that two seldom have the same one.
func (b *guardBench) change(ctx context.Context, c dbguard.Change) error {
	turn := b.turns.Add(1)
	id := turn % guardRows
	c.Row, c.Version = b.place(int(id)), b.versions[id].Load()
	made, err := dbguard.UpdateVersion(ctx, b.db, c)
	if stale, ok := errors.AsType[*dbguard.StaleError](err); ok { // it was taken in the turn before, and still is
		b.versions[id].Store(stale.Have)
		return nil
	}
	b.versions[id].Store(made.Version)
	return err
}

func (b *guardBench) version(ctx context.Context) error { return b.change(ctx, dbguard.Change{}) }

func (b *guardBench) versionByColumn(ctx context.Context) error {
	return b.change(ctx, dbguard.Change{Key: b.key(), KeyColumn: "last_key"})
}

func (b *guardBench) transition(ctx context.Context) error {
	to := "on"
	if b.serial.Add(1)%2 == 0 {
		to = "off"
	}
	_, err := b.machine.Transition(ctx, b.db, b.place(b.row()), to)
	return err
}

func (b *guardBench) first(ctx context.Context, tx dbguard.Session) error {
	if first, err := b.dedup.First(ctx, tx, b.key(), semel.Fingerprint{}); err != nil || !first {
		return errors.Join(errors.New("a fresh key is not first"), err)
	}
	return b.update(ctx, tx, b.row())
}

func (b *guardBench) once(ctx context.Context, tx dbguard.Session) error {
	_, _, err := dbguard.Once(ctx, b.dedup, tx, b.key(), semel.Fingerprint{}, func(ctx context.Context) (invoice, error) {
		return invoice{ID: 1}, b.update(ctx, tx, b.row())
	})
	return err
}

func (b *guardBench) lock(ctx context.Context, tx dbguard.Session) error {
	id := b.row()
	if err := dbguard.LockRows(ctx, tx, 0, b.place(id)); err != nil {
		return err
	}
	return b.update(ctx, tx, id)
}

func (b *guardBench) lockCheckUpdate(ctx context.Context) error {
	id := b.row()
	_, _, err := dbguard.LockCheckUpdate(ctx, b.db, dbguard.Steps[invoice]{
		Lock: []dbguard.Row{b.place(id)}, Dedup: b.dedup, Key: b.key(),
		Update: func(ctx context.Context, tx dbguard.Session) (invoice, error) {
			return invoice{ID: 1}, b.update(ctx, tx, id)
		},
	})
	return err
}

// take takes from the hot amount, and then does something else before it
// commits, as orders do.
func (b *guardBench) take(g *dbguard.Segments) func(context.Context, dbguard.Session) error {
	return func(ctx context.Context, tx dbguard.Session) error {
		if err := g.Take(ctx, tx, "hot", 1); err != nil {
			return err
		}
		return b.update(ctx, tx, b.row())
	}
}

func benchGuardsPostgres(ctx context.Context, s *contest.Settings) (*contest.Table, error) {
	p, err := openPostgresBench(ctx)
	if err != nil {
		return nil, err
	}
	defer p.close()
	return (&guardBench{db: pgxguard.Database(p.pool)}).run(ctx, s, "PostgreSQL through pgx")
}

func benchGuardsMySQL(ctx context.Context, s *contest.Settings) (*contest.Table, error) {
	m, err := openMySQLBench(ctx)
	if err != nil {
		return nil, err
	}
	defer m.close()
	return (&guardBench{db: dbguard.SQLDatabase(dialect.MySQL, m.db)}).run(ctx, s, "MySQL/MariaDB")
}

func benchGuardsSQLite(ctx context.Context, s *contest.Settings) (*contest.Table, error) {
	file := filepath.Join(s.Dir, "guards.db")
	db, err := sql.Open("sqlite", "file:"+file+"?_txlock=immediate&_pragma=busy_timeout(30000)&_pragma=journal_mode(wal)&_pragma=synchronous(full)")
	if err != nil {
		return nil, err
	}
	defer shut(db)
	db.SetMaxOpenConns(1) // it has one writer: queueing in the pool is fair, in the file it is not
	return (&guardBench{db: dbguard.SQLDatabase(dialect.SQLite, db)}).run(ctx, s, "SQLite, one connection")
}
