package pgstore_test

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/storerace"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/pgstore"
	"github.com/semel-dev/semel/store/storetest"
)

// Through a pooler that gives each transaction another connection, the
// contract holds with statements that are not prepared.
func TestPooler(t *testing.T) {
	t.Parallel()
	dsn := pooler(t, "exec")
	storetest.Run(t, harness(t, dsn, nil), "race/", "list/", "sweep/")
	t.Run("storerace", func(t *testing.T) {
		t.Parallel()
		o := &pgstore.Options{Schema: testserver.PostgresSchema(t), MaxConns: 4}
		report, err := storerace.Run(t.Context(), func() (semel.Store, error) { return pgstore.Open(t.Context(), dsn, o) }, &storerace.Options{Keys: 16})
		if err != nil || len(report.Violations) > 0 {
			t.Errorf("violations %q, error %v", report.Violations, err)
		}
	})
	t.Run("await", func(t *testing.T) {
		t.Parallel()
		s := openAt(t, dsn, &pgstore.Options{Schema: testserver.PostgresSchema(t)})
		err := s.Await(t.Context(), wins(t, s, params("k")).Digest)
		wantWords(t, err, "await", "pooler", "callers poll")
		if errors.Is(err, semel.ErrClosed) {
			t.Errorf("got %v", err)
		}
	})
}

// With prepared statements the pooler's answers make no sense to any client but
// the hint.
func TestPoolerWithPreparedStatements(t *testing.T) {
	t.Parallel()
	o := &pgstore.Options{Schema: testserver.PostgresSchema(t)}
	open(t, o)
	dsn := pooler(t, "cache_statement")
	var mu sync.Mutex
	var failed error
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			s, err := pgstore.Open(t.Context(), dsn, o)
			if err == nil {
				for k := 0; k < 50 && err == nil; k++ {
					_, _, err = s.Claim(t.Context(), params(fmt.Sprint(i, " ", k)))
				}
				err = errors.Join(err, s.Close())
			}
			mu.Lock()
			defer mu.Unlock()
			failed = errors.Join(failed, err)
		})
	}
	wg.Wait()
	if failed == nil {
		return // PgBouncer 1.21 and newer can keep prepared statements apart
	}
	for line := range strings.Lines(failed.Error()) {
		if !strings.Contains(line, "default_query_exec_mode=exec") {
			t.Errorf("no hint in %q", line)
		}
	}
}

// A pooler that gives each statement another connection is refused: nothing can be done in one transaction there (promise 4).
func TestStatementPooler(t *testing.T) {
	t.Parallel()
	o := &pgstore.Options{Schema: testserver.PostgresSchema(t)}
	open(t, o)
	dsn := poolerIn(t, "statement", "exec")
	refuses(t, dsn, o, "statement", "pool_mode = transaction")
	refuses(t, dsn, &pgstore.Options{Schema: testserver.PostgresSchema(t)}, "pool_mode = transaction")
}

// pooler is the URL of a pooler in transaction mode before the shared server.
func pooler(t *testing.T, mode string) string {
	t.Helper()
	return poolerIn(t, "transaction", mode)
}

func poolerIn(t *testing.T, pooling, mode string) string {
	t.Helper()
	b := testserver.StartPgBouncer(t, testserver.Postgres(t), pooling)
	return with(t, b.DSN(), func(_ *url.URL, q url.Values) { q.Set("default_query_exec_mode", mode) })
}
