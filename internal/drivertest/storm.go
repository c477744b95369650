package drivertest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/inbox"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/outbox"
	"github.com/semel-dev/semel/store/sqlitestore/sqlitetx"
)

const (
	// rowsPrefix begins the IDs of messages that HandleTx handles: their effect is a row next to their record.
	rowsPrefix = "rows"
	// mostWork bounds what the handler of a storm takes, so that a kill finds some at work.
	mostWork = 8 * time.Millisecond
)

// storm kills the consumer at random instants, while messages are published once more, and counts the effects of each wish in a
// database without a unique key.
func storm(b *bench) {
	deaths, wishes := claimtest.Times(2, 12, 12), claimtest.Times(80, 400, 400)
	a := assignment{Addr: b.direct, Topic: b.topic, Store: b.path, Wishes: filepath.Join(b.TempDir(), "wishes.db")}
	db, err := openWishes(b.Context(), a.Wishes)
	b.must(err)
	defer func() { b.must(db.Close()) }()
	var batch []outbox.Message
	want := map[string]int{}
	for i := range wishes {
		id := fmt.Sprint([]string{"m", rowsPrefix}[i%2], i)
		batch = append(batch, b.message(id, fmt.Sprint("key ", i%37)))
		want[wishOf(&batch[i])] = 1
	}
	b.publish(batch)
	for death := range deaths {
		child, before := b.startChild(a), len(b.wishesIn(db))
		enough := before + rand.IntN(wishes/(deaths+1)) //nolint:gosec // any instant will do.
		testserver.Eventually(b, "the consumer is at work", func() bool { return len(b.wishesIn(db)) > enough })
		claimtest.Stumble(b.Context(), 2*mostWork)
		b.must(child.cmd.Process.Kill())
		<-child.ended //nolint:errcheck // it was killed
		done := b.wishesIn(db)
		var again []outbox.Message // only what has its effect: a repetition would hide that a message was lost
		for i := range batch {
			if done[wishOf(&batch[i])] > 0 && i%deaths == death {
				again = append(again, batch[i])
			}
		}
		b.publish(again)
	}
	const rounds = 5 // a consumer that ends gives back what it holds
	for round := 0; round == 0 || b.left() > 0; round++ {
		if round == rounds {
			b.Fatal("messages come back that were acknowledged")
		}
		b.runChild(a, func() bool { return b.left() == 0 && len(b.wishesIn(db)) >= wishes })
	}
	if diff := cmp.Diff(want, b.wishesIn(db)); diff != "" {
		b.Errorf("after %d kills, effects by wish (-want +got):\n%s", deaths, diff)
	}
	b.wantCopies(0)
}

// wishesIn counts the effects of each wish.
func (b *bench) wishesIn(db *sql.DB) map[string]int {
	b.Helper()
	all := map[string]int{}
	for line := range strings.Lines(claimtest.Query(b, db, "SELECT wish FROM effects")) {
		all[strings.TrimSuffix(line, "\n")]++
	}
	return all
}

func openWishes(ctx context.Context, path string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", "file:"+path+"?_txlock=immediate&_pragma=busy_timeout(30000)&_pragma=journal_mode(wal)")
	if err == nil {
		_, err = db.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS effects (wish TEXT NOT NULL)")
	}
	return db, err
}

// wish is a message as the database counts it: with its key, which has to arrive as well.
func wish(m *inbox.Message) string { return m.ID + " of " + string(m.Key) }

// wishOf is the same of a message that is published.
func wishOf(m *outbox.Message) string { return m.ID + " of " + m.Key }

const insertWish = "INSERT INTO effects (wish) VALUES (?)"

// weather consumes until it is killed, or its input ends.
func (a *assignment) weather(ctx context.Context, d Driver) error {
	lasting := context.WithoutCancel(ctx)
	db, err := openWishes(lasting, a.Wishes)
	if err != nil {
		return err
	}
	ask := func(ctx context.Context, _ semel.Record, m inbox.Message) (semel.Reconciliation, error) {
		var n int
		err := db.QueryRowContext(ctx, "SELECT COUNT(*) FROM effects WHERE wish = ?", wish(&m)).Scan(&n)
		if n > 0 {
			return semel.Reconciliation{Verdict: semel.Happened}, err
		}
		return semel.Reconciliation{Verdict: semel.NotHappened}, err
	}
	const never = 1000 // attempts of processes that were killed count
	store, guard, apart, err := openInbox(lasting, a.Store, &inbox.Options{MaxAttempts: never, Pause: time.Millisecond, Ask: ask})
	if err != nil {
		return err
	}
	rows, err := sqlitetx.Open(lasting, db, nil)
	if err != nil {
		return err
	}
	near, err := semel.New(rows, &semel.Options{Policy: semel.Policy{Lease: lease}})
	if err != nil {
		return err
	}
	together, err := inbox.New(near, &inbox.Options{Consumer: consumerName, MaxAttempts: never, Pause: time.Millisecond})
	if err != nil {
		return err
	}
	err = d.Consume(ctx, a.Addr, a.Topic, 4, func(ctx context.Context, m inbox.Message) inbox.Verdict {
		if strings.HasPrefix(m.ID, rowsPrefix) {
			return together.HandleTx(ctx, rows.Transactor(), m, func(ctx context.Context, m inbox.Message) error {
				claimtest.Stumble(ctx, mostWork)
				_, err := sqlitetx.TxFrom(ctx).ExecContext(ctx, insertWish, wish(&m))
				claimtest.Stumble(ctx, mostWork)
				return err
			})
		}
		return apart.Handle(ctx, m, func(ctx context.Context, m inbox.Message) error {
			claimtest.Stumble(ctx, mostWork)
			_, err := db.ExecContext(ctx, insertWish, wish(&m))
			claimtest.Stumble(ctx, mostWork)
			return err
		})
	})
	return errors.Join(err, guard.Close(), store.Close(), near.Close(), rows.Close(), db.Close()) //nolint:contextcheck // ctx has ended
}
