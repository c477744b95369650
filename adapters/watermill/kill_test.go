package semelwatermill_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/semel-dev/semel"
	semelwatermill "github.com/semel-dev/semel/adapters/watermill"
	"github.com/semel-dev/semel/inbox"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/operator"
	"github.com/semel-dev/semel/store/sqlitestore/sqlitetx"
	"github.com/semel-dev/semel/store/storetest"
)

// consumer is a process with an inbox and effects in one database.
type consumer struct {
	db    *sql.DB
	store *sqlitetx.Store
	guard *semel.Guard
	inbox *inbox.Inbox
}

func openConsumer(ctx context.Context, folder string) (*consumer, error) {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(folder, "shop.db")+"?_txlock=immediate&_pragma=busy_timeout(30000)&_pragma=journal_mode(wal)")
	if err != nil {
		return nil, err
	}
	c := &consumer{db: db}
	if _, err := db.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS effects (message TEXT)"); err != nil {
		return nil, err
	}
	if c.store, err = sqlitetx.Open(ctx, db, nil); err != nil {
		return nil, err
	}
	if c.guard, err = semel.New(c.store, &semel.Options{Policy: semel.Policy{Lease: 300 * time.Millisecond}}); err != nil {
		return nil, err
	}
	c.inbox, err = inbox.New(c.guard, &inbox.Options{Consumer: "billing", Pause: time.Millisecond})
	return c, err
}

func (c *consumer) Close() error { return errors.Join(c.guard.Close(), c.store.Close(), c.db.Close()) }

// handler writes one effect, within the transaction of the message or not, and calls at with each point that it reaches.
func (c *consumer) handler(rows bool, at func(point string)) message.HandlerFunc {
	handle := c.inbox.Handle
	if rows {
		handle = func(ctx context.Context, m inbox.Message, fn inbox.Handler) inbox.Verdict {
			return c.inbox.HandleTx(ctx, c.store.Transactor(), m, fn)
		}
	}
	return semelwatermill.Middleware(handle, nil)(func(msg *message.Message) ([]*message.Message, error) {
		at("before")
		exec := c.db.ExecContext
		if rows {
			exec = sqlitetx.TxFrom(msg.Context()).ExecContext
		}
		// A consumer that loses its short lease on a busy machine still has its effect.
		_, err := exec(context.WithoutCancel(msg.Context()), "INSERT INTO effects VALUES (?)", msg.UUID)
		at("after")
		return nil, err
	})
}

// workUntilKilled delivers a message until it would be acknowledged, or kills its process at a point: a folder, the point, and "rows" for
// an effect in the transaction of the message.
func workUntilKilled(ctx context.Context, args []string) error {
	c, err := openConsumer(ctx, args[0])
	if err != nil {
		return err
	}
	at := func(point string) {
		if point == args[1] {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // until it arrives
		}
	}
	h := c.handler(args[2] == "rows", at) //nolint:contextcheck // a handler of Watermill has the context of its message.
	for err = errors.New("not delivered"); err != nil && ctx.Err() == nil; {
		_, err = h(message.NewMessage("1", []byte("order 1")))
	}
	at("recorded")                     // Watermill would acknowledge it now
	return errors.Join(err, c.Close()) //nolint:contextcheck // it closes what has no context.
}

// TestKilledConsumer: wherever a consumer is killed by kill -9, a message whose effect is rows takes effect once, and another takes it
// once or is in quarantine as unknown (promise 3).
func TestKilledConsumer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		point, kind string
		effects     int
		quarantine  string
	}{
		{"before", "rows", 1, ""},
		{"after", "rows", 1, ""},
		{"recorded", "rows", 1, ""},
		{"before", "elsewhere", 0, "unknown"},
		{"after", "elsewhere", 1, "unknown"},
		{"recorded", "elsewhere", 1, ""},
	} {
		t.Run(c.point+", "+c.kind, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			if err := storetest.Command(t, "work", folder, c.point, c.kind).Run(); err == nil || !strings.Contains(err.Error(), "killed") {
				t.Fatalf("the first process ended with %v, want killed", err)
			}
			claimtest.NoError(t, storetest.Command(t, "work", folder, "", c.kind).Run())
			p, err := openConsumer(t.Context(), folder)
			claimtest.NoError(t, err)
			claimtest.Closes(t, p)
			claimtest.WantRows(t, p.db, "SELECT COUNT(*) FROM effects", fmt.Sprint(c.effects))
			quarantine := ""
			_, err = inbox.List(t.Context(), p.guard, "billing", operator.Search{}, func(h *inbox.Held) error {
				quarantine += string(h.Reason)
				return nil
			})
			claimtest.NoError(t, err)
			if quarantine != c.quarantine {
				t.Errorf("got %q in quarantine, want %q", quarantine, c.quarantine)
			}
		})
	}
}
