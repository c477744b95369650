package sqlitetx_test

import (
	"context"
	"database/sql"
	"sync"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/sqlitestore/sqlitetx"
)

// Promise 8: who holds the only writer does not wait in memory for a twin that
// waits for the writer.
func TestNoCircle(t *testing.T) {
	t.Parallel()
	for name, outer := range map[string]func(*testing.T, *bundle, func(context.Context) (string, error)) (string, error){
		"nested": func(t *testing.T, b *bundle, work func(context.Context) (string, error)) (string, error) {
			t.Helper()
			return b.do(t.Context(), "outer", func(ctx context.Context, _ *sql.Tx) (string, error) { return work(ctx) })
		},
		"joined": func(t *testing.T, b *bundle, work func(context.Context) (string, error)) (string, error) {
			t.Helper()
			tx := begin(t, b.db)
			noError(t, insert(t.Context(), tx, "outer"))
			answer, err := sqlitetx.Join(t.Context(), b.guard, tx, key("outer"), sameRequest(), work)
			if err != nil {
				return "", err
			}
			return answer, tx.Commit()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setUp(t, "", &semel.Options{Policy: semel.Policy{Wait: time.Minute}})
			var twin sync.WaitGroup
			_, err := outer(t, b, func(ctx context.Context) (string, error) {
				twin.Go(func() { //nolint:contextcheck // the twin is another caller, with a context of its own.
					answer, err := b.do(t.Context(), "k", never(t))
					if err != nil || answer != "answer k" {
						t.Errorf("the twin got %q, error %v", answer, err)
					}
				})
				testserver.Eventually(t, "the twin to wait for the writer", func() bool {
					return b.store.Queued(b.guard.Digest(key("k"))) == 1
				})
				ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
				defer cancel()
				return addRow(ctx, b.guard, "k")
			})
			twin.Wait()
			if err != nil {
				t.Error(err)
			}
			if n, err := count(t.Context(), b.db, "k"); err != nil || n != 1 {
				t.Errorf("%d rows, error %v", n, err)
			}
		})
	}
}
