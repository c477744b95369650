package mysqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/mysqlstore"
	"github.com/semel-dev/semel/store/storetest"
)

// Promises 1, 2 and 4 hold while the server kills connections and statements at
// random: what was cut off says so, and is repeated.
func TestStormOfKills(t *testing.T) {
	t.Parallel()
	p := processes()
	admin := quietPool(t, testserver.MySQL(t))
	p.Disturb = func(_ testing.TB, dsn string) func() {
		var id int64
		err := admin.QueryRowContext(t.Context(), "SELECT id FROM information_schema.processlist WHERE db = ? ORDER BY command = 'Sleep', RAND() LIMIT 1",
			dsn[strings.LastIndex(dsn, "/")+1:]).Scan(&id)
		if err == nil { // otherwise no connection is left
			_, _ = admin.ExecContext(t.Context(), fmt.Sprintf("KILL %s %d", []string{"CONNECTION", "QUERY"}[rand.IntN(2)], id)) // it may have ended already
		}
		return func() {}
	}
	storetest.RunProcesses(t, p)
}

// The same with a network that breaks connections, even in the middle of an
// answer, so that what was done is not heard of.
func TestBreakingNetwork(t *testing.T) {
	t.Parallel()
	cfg := config(t, testserver.MySQL(t))
	p, proxy := processes(), testserver.NewProxy(t, cfg.Addr)
	direct := p.Place
	p.Place = func(tb testing.TB) string { tb.Helper(); return strings.Replace(direct(tb), cfg.Addr, proxy.Addr(), 1) }
	p.Disturb = func(testing.TB, string) func() { return proxy.Disturb() }
	storetest.RunProcesses(t, p)
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// A server that cannot be reached is an error that decides nothing, and the
// store goes on when it can be reached again.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	dsn, proxy := proxied(t, testserver.MySQLDatabase(t))
	s := open(t, dsn, nil)
	wins(t, s, params("before"))
	proxy.Down()
	_, _, err := s.Claim(t.Context(), params("k"))
	if err == nil || errors.Is(err, semel.ErrNotFound) || errors.Is(err, semel.ErrLost) {
		t.Errorf("claim: got %v, want an error that decides nothing", err)
	}
	_, err = mysqlstore.Open(t.Context(), dsn, nil)
	wantWords(t, err, "is the server running")
	proxy.Up()
	wins(t, s, params("k"))
}
