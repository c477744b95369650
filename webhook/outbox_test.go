package webhook_test

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "modernc.org/sqlite" // opens SQLite

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/drivertest"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/outbox"
	"github.com/semel-dev/semel/store/memstore"
	"github.com/semel-dev/semel/webhook"
)

// TestFromOutboxToHandler (promise 3): events that are committed arrive at each endpoint and take effect once there,
// although the first answer of one is lost; what was rolled back does not.
func TestFromOutboxToHandler(t *testing.T) {
	t.Parallel()
	e := &endpoints{}
	var ran, tries atomic.Int32
	guard := must.Get(semel.New(memstore.New(nil), &semel.Options{SweepEvery: -1}))
	t.Cleanup(func() { _ = guard.Close() })
	v := must.Get(webhook.NewVerifier(&webhook.VerifierOptions{Secrets: []string{whsec}}))
	for _, name := range []string{"acme", "globex"} {
		next := must.Get(v.Handler(guard, name, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { ran.Add(1) }), nil))
		e.serve(t, name, func(w http.ResponseWriter, r *http.Request) {
			answer := httptest.NewRecorder()
			next.ServeHTTP(answer, r)
			if name == "acme" && tries.Add(1) == 1 {
				panic(http.ErrAbortHandler) // it took effect, and the answer is lost
			}
			w.WriteHeader(answer.Code)
		})
	}
	db, out := openOutbox(t)
	for i := range 3 {
		tx := must.Get(db.BeginTx(t.Context(), nil))
		must.Succeed(out.Add(t.Context(), tx, webhook.Fan(outbox.Message{Key: "order-1", Body: fmt.Append(nil, i)}, "acme", "globex")...), "add")
		if i == 1 {
			must.Succeed(tx.Rollback(), "roll back")
		} else {
			must.Succeed(tx.Commit(), "commit")
		}
	}
	o := webhook.RelayOptions()
	o.MinPause = 10 * time.Millisecond
	stop := runRelay(t, out, guard, sender(t, e, nil), o)
	testserver.Eventually(t, "all messages are published", func() bool {
		var left int
		return db.QueryRowContext(t.Context(), "SELECT count(*) FROM semel_outbox").Scan(&left) == nil && left == 0
	})
	stop()
	if ran.Load() != 4 || tries.Load() < 3 {
		t.Errorf("the handlers ran %d times, want 4; acme was asked %d times", ran.Load(), tries.Load())
	}
}

// The largest message that an outbox takes arrives at a verifier, and is handled.
func TestLargestMessageArrives(t *testing.T) {
	t.Parallel()
	e := &endpoints{}
	got := make(chan int, 1)
	guard := must.Get(semel.New(memstore.New(nil), &semel.Options{SweepEvery: -1}))
	t.Cleanup(func() { _ = guard.Close() })
	v := must.Get(webhook.NewVerifier(&webhook.VerifierOptions{Secrets: []string{whsec}}))
	name := strings.Repeat("e", outbox.MaxTopicBytes)
	next := must.Get(v.Handler(guard, "acme", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got <- len(body)
	}), nil))
	e.serve(t, name, next.ServeHTTP)
	db, out := openOutbox(t)
	m := drivertest.Largest(name)
	tx := must.Get(db.BeginTx(t.Context(), nil))
	must.Succeed(out.Add(t.Context(), tx, m), "add")
	must.Succeed(tx.Commit(), "commit")
	runRelay(t, out, guard, sender(t, e, nil), webhook.RelayOptions())
	if n := <-got; n != len(m.Body) {
		t.Errorf("a body of %d bytes arrived, want %d", n, len(m.Body))
	}
	testserver.Eventually(t, "it was published", func() bool {
		stats, err := out.Stats(t.Context())
		return err == nil && stats.Waiting == 0
	})
	if held := must.Get(out.List(t.Context(), 0)); len(held) > 0 {
		t.Errorf("%+v is held", held)
	}
}

func openOutbox(t *testing.T) (*sql.DB, *outbox.Outbox) {
	t.Helper()
	db := must.Get(sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "shop.db")+"?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_txlock=immediate"))
	t.Cleanup(func() { _ = db.Close() })
	return db, must.Get(outbox.Open(t.Context(), db, nil))
}

// runRelay starts a relay, and returns what stops it.
func runRelay(t *testing.T, out *outbox.Outbox, guard *semel.Guard, s *webhook.Sender, o *outbox.RelayOptions) (stop func()) {
	t.Helper()
	relay := must.Get(outbox.NewRelay(out, guard, s, o))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- relay.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// TestRestIsNoAttempt: while an endpoint rests after a failure, messages to it are neither sent nor counted as attempts.
func TestRestIsNoAttempt(t *testing.T) {
	t.Parallel()
	e := &endpoints{}
	e.serve(t, "acme", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Webhook-Id") == "refused" {
			w.Header().Set("Retry-After", "3")
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	e.serve(t, "globex", status(200))
	guard := must.Get(semel.New(memstore.New(nil), &semel.Options{SweepEvery: -1}))
	t.Cleanup(func() { _ = guard.Close() })
	db, out := openOutbox(t)
	add := func(messages ...outbox.Message) { must.Succeed(out.Add(t.Context(), db, messages...), "add") }
	add(message("acme", "refused", ""))
	o := webhook.RelayOptions()
	o.MinPause, o.MaxAttempts, o.OnPoison, o.Logger = 10*time.Millisecond, 1, outbox.StopKey, slog.New(slog.DiscardHandler)
	runRelay(t, out, guard, sender(t, e, nil), o)
	stopped := func() bool {
		add(outbox.Message{Topic: "globex"}) // what the publisher takes, so that a failure is not an outage
		held := must.Get(out.List(t.Context(), 0))
		return len(held) == 1 && held[0].ID == "refused" && held[0].State == "stopped" && held[0].Attempts == 1
	}
	testserver.Eventually(t, "the message is given up", stopped)
	add(message("acme", "later", ""))
	testserver.Eventually(t, "another one is delivered after the rest", func() bool {
		return stopped() && slices.Contains(e.arrived(), "acme later")
	})
}
