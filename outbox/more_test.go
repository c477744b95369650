package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/testserver/databases"
	"github.com/semel-dev/semel/outbox"
	"github.com/semel-dev/semel/store/memstore"
)

// A message whose number is smaller and that is committed later is published, and an open transaction
// of another one holds nothing up.
func TestCommitsOutOfOrder(t *testing.T) {
	t.Parallel()
	for _, which := range []dialect.Dialect{dialect.PostgreSQL, dialect.MySQL} {
		t.Run(which.String(), func(t *testing.T) {
			t.Parallel()
			p := at(t, databases.Open(t, which), nil)
			to := &receiver{}
			p.runs(t, to, quick())
			early := claimtest.Begin(t, p.DB)
			claimtest.NoError(t, p.out.Add(t.Context(), early, message("k", "early")))
			p.adds(t, message("k", "late"))
			to.wants(t, "k", "late")
			claimtest.NoError(t, early.Commit())
			to.wants(t, "k", "late", "early")
		})
	}
}

// Work under an intent that is executed again adds the same ids, and each message once.
func TestRerunAddsOnce(t *testing.T) {
	t.Parallel()
	databases.Each(t, func(t *testing.T, d *databases.Database) {
		p := at(t, d, nil)
		guard := claimtest.Guard(t, memstore.New(nil), nil)
		key := semel.Key{Scope: "orders", Name: "1"}
		fails := true
		work := func(ctx context.Context) (int, error) {
			for _, topic := range []string{"a", "b"} {
				tx := claimtest.Begin(t, p.DB) //nolint:contextcheck // the test's
				claimtest.NoError(t, p.out.Add(ctx, tx, outbox.Message{Topic: topic}))
				claimtest.NoError(t, tx.Commit())
				if fails {
					return 0, semel.MarkReleased(errRefused)
				}
			}
			return 0, nil
		}
		for range 2 {
			_, err := semel.Do(t.Context(), guard, key, semel.Fingerprint{}, work)
			if (err != nil) != fails {
				t.Fatal(err)
			}
			claimtest.WantRows(t, p.DB, "SELECT topic FROM semel_outbox", []string{"a", "b"}[:map[bool]int{true: 1, false: 2}[fails]]...)
			fails = false
		}
	})
}

// An execution that opens a table twice gives each message an id of its own.
func TestOpenedTwiceInOneExecution(t *testing.T) {
	t.Parallel()
	d := databases.Open(t, dialect.SQLite)
	guard := claimtest.Guard(t, memstore.New(nil), nil)
	open(t, d.DB, nil)
	_, err := semel.Do(t.Context(), guard, semel.Key{Scope: "orders", Name: "1"}, semel.Fingerprint{}, func(ctx context.Context) (int, error) {
		for _, topic := range []string{"a", "b"} {
			claimtest.NoError(t, open(t, d.DB, nil).Add(ctx, d.DB, outbox.Message{Topic: topic})) //nolint:contextcheck // the test's
		}
		return 0, nil
	})
	claimtest.NoError(t, err)
	claimtest.WantRows(t, d.DB, "SELECT topic FROM semel_outbox ORDER BY topic", "a", "b")
}

// A transaction of pgx takes messages as one of database/sql does.
func TestPgx(t *testing.T) {
	t.Parallel()
	p := at(t, databases.Open(t, dialect.PostgreSQL), nil)
	err := pgx.BeginFunc(t.Context(), p.Pool, func(tx pgx.Tx) error {
		return p.out.Add(t.Context(), outbox.Pgx(tx), message("k", "a"), message("k", "b"))
	})
	claimtest.NoError(t, err)
	err = pgx.BeginFunc(t.Context(), p.Pool, func(tx pgx.Tx) error {
		return p.out.Add(t.Context(), outbox.Pgx(tx), outbox.Message{ID: "a", Topic: "other"})
	})
	claimtest.WantErr(t, "", err, outbox.ErrConflict)
	claimtest.WantRows(t, p.DB, "SELECT id FROM semel_outbox", "a", "b")
}

// Tables of a newer program are refused, and missing ones where they are not to be made.
func TestSchema(t *testing.T) {
	t.Parallel()
	databases.Each(t, func(t *testing.T, d *databases.Database) {
		_, err := outbox.Open(t.Context(), d.DB, &outbox.Options{SkipMigrations: true})
		claimtest.Words(t, err, "no tables of semel_outbox", "semel outbox schema")
		open(t, d.DB, nil)
		open(t, d.DB, &outbox.Options{Table: "other", SkipMigrations: false})
		d.Exec(t, "UPDATE semel_outbox_meta SET value = 2 WHERE name = 'schema'")
		_, err = outbox.Open(t.Context(), d.DB, nil)
		claimtest.Words(t, err, "schema 2", "knows up to 1", "newer program")
		_, err = outbox.Open(t.Context(), d.DB, &outbox.Options{Table: "a; DROP"})
		claimtest.Words(t, err, "does not name a table")
		claimtest.NoError(t, d.DB.Close())
		_, err = outbox.Open(t.Context(), d.DB, nil)
		claimtest.Words(t, err, "closed")
	})
}

// Two relays keep the order of a key, even while one of them stops.
func TestTwoRelays(t *testing.T) {
	t.Parallel()
	p := at(t, databases.Open(t, dialect.SQLite), nil)
	to := &receiver{}
	var want []string
	stops := make([]func(), 2)
	for round := range 6 {
		if stop := stops[round%2]; stop != nil {
			stop()
		}
		_, stops[round%2] = p.runs(t, to, quick())
		messages, ids := numbered(fmt.Sprint("k", round), 50)
		for i := range messages {
			messages[i].Key = "k"
		}
		p.adds(t, messages...)
		want = append(want, ids...)
	}
	to.wants(t, "k", want...)
	p.empties(t)
}

// A relay that lost its partition writes nothing about holds any more: its epoch is over.
func TestOvertaken(t *testing.T) {
	t.Parallel()
	databases.Each(t, func(t *testing.T, d *databases.Database) {
		p := at(t, d, nil)
		to := &receiver{}
		o := quick()
		o.MaxAttempts = 1
		overtake := func() { p.Exec(t, "UPDATE semel_outbox_meta SET value = value + 1 WHERE name LIKE 'epoch-%'") }
		once := false
		to.refuse = func(m outbox.Message) error {
			if m.ID == "k-0000" && !once {
				once = true
				overtake()
				return outbox.Permanent(errRefused)
			}
			return nil
		}
		messages, ids := numbered("k", 3)
		p.adds(t, messages...)
		p.runs(t, to, o)
		eventually(t, func() error { // taken anew, and published: the verdict of the former epoch was refused
			if held := p.list(t); len(held) != 0 {
				t.Fatalf("got %+v, want none", held)
			}
			if got := to.ids("k"); !slices.Equal(got, ids) {
				return fmt.Errorf("got %v", got)
			}
			return nil
		})
	})
}

// Relays of two databases share a guard's store, and both publish, although the tables have one name. Relays of one
// table share its partitions, whatever name it was opened under.
func TestLeasesBelongToTables(t *testing.T) {
	t.Parallel()
	databases.Each(t, func(t *testing.T, d *databases.Database) {
		p, q := at(t, d, nil), at(t, databases.Open(t, d.Dialect), nil)
		q.guard = p.guard
		if p.lease(t, 3) == q.lease(t, 3) {
			t.Fatal("tables of two databases have one lease")
		}
		for i, its := range []*place{p, q} {
			to, id := &receiver{}, strconv.Itoa(i)
			its.runs(t, to, quick())
			its.adds(t, message("k", id))
			to.wants(t, "k", id)
		}
		schema := strings.TrimSpace(claimtest.Query(t, d.DB, map[dialect.Dialect]string{
			dialect.PostgreSQL: "SELECT current_schema()", dialect.MySQL: "SELECT DATABASE()", dialect.SQLite: "SELECT 'main'",
		}[d.Dialect]))
		alias := &place{d, open(t, d.DB, &outbox.Options{Table: schema + ".semel_outbox"}), p.guard}
		if got, want := alias.lease(t, 3), p.lease(t, 3); got != want {
			t.Errorf("got the lease %v, want %v", got, want)
		}
	})
}

// Relays that begin at the same time agree on the identity of tables that have none.
func TestIdentityIsDrawnOnce(t *testing.T) {
	t.Parallel()
	databases.Each(t, func(t *testing.T, d *databases.Database) {
		text, err := outbox.Schema(d.Dialect.String(), "")
		claimtest.NoError(t, err)
		for statement := range strings.SplitSeq(strings.TrimSpace(text), ";\n") {
			d.Exec(t, statement)
		}
		p := at(t, d, &outbox.Options{SkipMigrations: true})
		keys := make([]semel.Key, 8)
		var all sync.WaitGroup
		for i := range keys {
			all.Go(func() { keys[i], _ = outbox.LeaseKey(t.Context(), p.out, 0) })
		}
		all.Wait()
		if keys = slices.Compact(keys); len(keys) != 1 || keys[0] == (semel.Key{}) {
			t.Errorf("got %v", keys)
		}
	})
}

// A transaction that adds a waiting message again and stays open holds no other message up, nor the deletion of this one.
func TestAddedAgainAndOpen(t *testing.T) {
	t.Parallel()
	add := func(ctx context.Context, out *outbox.Outbox, tx outbox.Execer, messages ...outbox.Message) error {
		return out.Add(ctx, tx, messages...)
	}
	for _, test := range []struct {
		name  string
		which dialect.Dialect
		add   func(context.Context, *outbox.Outbox, outbox.Execer, ...outbox.Message) error
	}{
		{"postgresql", dialect.PostgreSQL, add}, {"postgresql, Statement", dialect.PostgreSQL, addByStatement}, {"mysql", dialect.MySQL, add},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := at(t, databases.Open(t, test.which), nil)
			to := &receiver{}
			p.adds(t, message("k", "a"))
			again := claimtest.Begin(t, p.DB)
			claimtest.NoError(t, test.add(t.Context(), p.out, again, message("k", "a"), message("k", "new")))
			locks := claimtest.Begin(t, p.DB)
			_, err := locks.ExecContext(t.Context(), "SELECT 1 FROM semel_outbox WHERE id = 'a' FOR UPDATE NOWAIT")
			claimtest.NoError(t, errors.Join(err, locks.Rollback()))
			p.runs(t, to, quick())
			to.wants(t, "k", "a")
			p.empties(t)
			p.adds(t, message("l", "other"))
			to.wants(t, "l", "other")
			claimtest.NoError(t, again.Commit())
			to.wants(t, "k", "a", "new")
			p.empties(t)
		})
	}
}
