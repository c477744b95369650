package webhook_test

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	_ "modernc.org/sqlite" // opens SQLite

	"github.com/semel-dev/semel"
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
	db := must.Get(sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "shop.db")+"?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_txlock=immediate"))
	t.Cleanup(func() { _ = db.Close() })
	out := must.Get(outbox.Open(t.Context(), db, nil))
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
	o.First = 10 * time.Millisecond
	relay := must.Get(outbox.NewRelay(out, guard, sender(t, e, nil), o))
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- relay.Run(ctx) }()
	testserver.Eventually(t, "all messages are published", func() bool {
		var left int
		return db.QueryRowContext(t.Context(), "SELECT count(*) FROM semel_outbox").Scan(&left) == nil && left == 0
	})
	stop()
	if err := <-done; err != nil || ran.Load() != 4 || tries.Load() < 3 {
		t.Errorf("the handlers ran %d times, want 4; acme was asked %d times; relay: %v", ran.Load(), tries.Load(), err)
	}
}
