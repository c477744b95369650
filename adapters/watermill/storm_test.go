package semelwatermill_test

import (
	"context"
	"database/sql"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/semel-dev/semel"
	semelwatermill "github.com/semel-dev/semel/adapters/watermill"
	"github.com/semel-dev/semel/inbox"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/store/sqlitestore/sqlitetx"
	"github.com/semel-dev/semel/store/storetest"
)

// lanes are the messages that a process handles at a time.
const lanes = 8

// queue is a broker in the database: a message is in it until its acknowledgement, and a process that reads may get any of them.
type queue struct {
	db  *sql.DB
	all sync.WaitGroup
}

var _ message.Subscriber = (*queue)(nil)

// Subscribe delivers messages one after the other, again when they are not acknowledged.
func (q *queue) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	out := make(chan *message.Message)
	q.all.Go(func() {
		defer close(out)
		for ctx.Err() == nil {
			id, body := "", ""
			err := q.db.QueryRowContext(ctx, "SELECT id, body FROM queue WHERE topic = ? ORDER BY random() LIMIT 1", topic).Scan(&id, &body)
			if err != nil {
				claimtest.Stumble(ctx, 10*time.Millisecond) // it is empty, or busy
				continue
			}
			m := message.NewMessage(id, []byte(body))
			m.SetContext(ctx)
			select {
			case out <- m:
			case <-ctx.Done():
				return
			}
			select {
			case <-m.Acked():
				_, _ = q.db.ExecContext(ctx, "DELETE FROM queue WHERE id = ?", id) // after an error it is delivered again
			case <-m.Nacked():
			case <-ctx.Done():
			}
		}
	})
	return out, nil
}

func (q *queue) Close() error {
	q.all.Wait()
	return nil
}

// stormWorker consumes until it is killed: a folder.
func stormWorker(ctx context.Context, args []string) error {
	c, err := openConsumer(ctx, args[0])
	if err != nil {
		return err
	}
	c.inbox, err = inbox.New(c.guard, &inbox.Options{
		Consumer: "billing", Pause: time.Millisecond, MaxAttempts: 20,
		Ask: func(ctx context.Context, _ semel.Record, m inbox.Message) (r semel.Reconciliation, err error) {
			n := 0
			err = c.db.QueryRowContext(ctx, "SELECT count(*) FROM effects WHERE message = ?", m.ID).Scan(&n)
			if r.Verdict = semel.NotHappened; n > 0 {
				r.Verdict = semel.Happened
			}
			return r, err
		},
	})
	if err != nil {
		return err
	}
	router, err := message.NewRouter(message.RouterConfig{}, watermill.NopLogger{})
	if err != nil {
		return err
	}
	elsewhere := semelwatermill.Middleware(c.inbox.Handle, nil)                                                    //nolint:contextcheck // a message brings its context.
	rows := semelwatermill.Middleware(func(ctx context.Context, m inbox.Message, fn inbox.Handler) inbox.Verdict { //nolint:contextcheck // a message brings its context.
		return c.inbox.HandleTx(ctx, c.store.Transactor(), m, fn)
	}, nil)
	for range lanes / 2 {
		add(router, "rows", &queue{db: c.db}, rows, func(ctx context.Context, id string) error { //nolint:contextcheck // a message brings its context.
			_, err := sqlitetx.TxFrom(ctx).ExecContext(ctx, "INSERT INTO effects VALUES (?)", id)
			return err
		})
		add(router, "elsewhere", &queue{db: c.db}, elsewhere, func(ctx context.Context, id string) error { //nolint:contextcheck // a message brings its context.
			claimtest.Stumble(ctx, 10*time.Millisecond)
			_, err := c.db.ExecContext(ctx, "INSERT INTO effects VALUES (?)", id)
			claimtest.Stumble(ctx, 10*time.Millisecond)
			return err
		})
	}
	return router.Run(ctx)
}

func add(r *message.Router, topic string, q *queue, m message.HandlerMiddleware, effect func(ctx context.Context, id string) error) {
	r.AddConsumerHandler(topic+watermill.NewShortUUID(), topic, q, func(msg *message.Message) error {
		return effect(msg.Context(), msg.UUID)
	}).AddMiddleware(m)
}

// TestKillStorm: however often consumers are killed, each message takes effect once: half of the effects commit with their message, and the
// others are looked up.
func TestKillStorm(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	c, err := openConsumer(t.Context(), folder)
	claimtest.NoError(t, err)
	claimtest.Closes(t, c)
	_, err = c.db.ExecContext(t.Context(), "CREATE TABLE queue (id TEXT PRIMARY KEY, topic TEXT, body TEXT)")
	claimtest.NoError(t, err)
	for i, wish := range claimtest.Wishes() {
		topic := []string{"rows", "elsewhere"}[i%2]
		_, err := c.db.ExecContext(t.Context(), "INSERT INTO queue VALUES (?, ?, 'an order')", wish, topic)
		claimtest.NoError(t, err)
	}
	storm := claimtest.Storm{
		Worker:  func() *exec.Cmd { return storetest.Command(t, "storm", folder) },
		Effects: func() []string { return strings.Fields(claimtest.Query(t, c.db, "SELECT message FROM effects")) },
		Ended: func() (open int, done []string) {
			left := strings.Fields(claimtest.Query(t, c.db, "SELECT id FROM queue"))
			if len(left) > 0 {
				return len(left), nil
			}
			return 0, claimtest.Wishes() // all are acknowledged
		},
	}
	storm.Run(t)
}
