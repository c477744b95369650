package mysqlstore_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/mysqlstore"
)

// withholding is a connection that breaks for the client when a COMMIT passes, which it keeps.
type withholding struct {
	net.Conn

	kept *atomic.Pointer[func() error] // sends it late, and closes
	lost atomic.Bool
}

func (c *withholding) Write(p []byte) (int, error) {
	if !strings.Contains(string(p), "COMMIT") || c.kept.Load() != nil {
		return c.Conn.Write(p)
	}
	late := func() error {
		_, err := c.Conn.Write(p)
		_ = c.Conn.Close() // the server has it
		return err
	}
	if !c.kept.CompareAndSwap(nil, &late) {
		return c.Conn.Write(p)
	}
	c.lost.Store(true)
	return 0, net.ErrClosed
}

func (c *withholding) Close() error {
	if c.lost.Load() {
		return nil
	}
	return c.Conn.Close()
}

// dialed is the company's database over connections that wrap makes, with a guard of its own.
func (c *company) dialed(t *testing.T, wrap func(net.Conn) net.Conn) *company {
	t.Helper()
	network := "together_" + strings.NewReplacer("/", "_", " ", "_", ",", "").Replace(t.Name())
	mysql.RegisterDialContext(network, func(ctx context.Context, addr string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
		if err != nil {
			return nil, err
		}
		return wrap(conn), nil
	})
	t.Cleanup(func() { mysql.DeregisterDialContext(network) })
	cfg := config(t, c.dsn)
	cfg.Net = network
	b := *c.txBundle
	b.dsn = cfg.FormatDSN()
	b.store, b.guard = b.second(t, nil)
	return &company{txBundle: &b, other: b.guard}
}

// Promises 4 and 7: when the connection is lost at the commit of a shared transaction, each
// caller finds out whether it took place, and no work happens twice.
func TestTogetherCommitCutOff(t *testing.T) {
	t.Parallel()
	for name, d := range map[string]door{"open": {}, "as on MySQL": {with: mysqlstore.WithoutBounds}} {
		for _, how := range []string{"before", "after"} {
			t.Run(name+"/"+how, func(t *testing.T) {
				t.Parallel()
				c := setUpCompany(t, d)
				cut := &atomic.Pointer[string]{}
				far := c.dialed(t, func(conn net.Conn) net.Conn { return &cutting{conn, cut} })
				calls, names := far.some(8)
				cut.Store(&how)
				wantDone(t, far.when(t, len(calls), calls...)...)
				c.wantOrders(t, names...)
				if cut.Load() != nil {
					t.Error("no connection was cut")
				}
				for i := range names {
					if strings.HasSuffix(names[i], "'") {
						continue
					}
					c.wantState(t, names[i], semel.StateCompleted)
				}
			})
		}
	}
}

// Promise 7: a commit that arrives late at the server, when its callers have heard that
// it did not happen, does not happen.
func TestTogetherCommitLate(t *testing.T) {
	t.Parallel()
	c := setUpCompany(t, door{})
	kept := &atomic.Pointer[func() error]{}
	far := c.dialed(t, func(conn net.Conn) net.Conn { return &withholding{Conn: conn, kept: kept} })
	answers := far.when(t, 1, pair(far.guard, "late"))
	wantDone(t, answers...)
	late := kept.Load()
	if late == nil {
		t.Fatal("nothing was withheld")
	}
	c.db.SetMaxOpenConns(1)
	_ = (*late)()                                                    // the server may have closed it
	execute(t, c.db, "LOCK TABLES orders WRITE, semel_record WRITE") // it waits for every transaction on them
	execute(t, c.db, "UNLOCK TABLES")
	c.wantOrders(t, "late", "late'")
	if n := value(t, c.db, "SELECT n FROM orders WHERE name = 'late'"); n != fmt.Sprint(answers[0].n) {
		t.Errorf("got %d, the row is %s", answers[0].n, n)
	}
}

// Promise 1: where the server cannot be told to wait for no lock, records whose insert took long are not committed: their fences
// may have been drawn before others got greater ones for the same intents.
func TestTogetherLateInsert(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		slow  time.Duration
		order int64
	}{"in time": {time.Hour, 1}, "late": {time.Nanosecond, 2}} { // the first number is of the transaction that was rolled back
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := setUpCompany(t, door{with: func(o *mysqlstore.Options) *mysqlstore.Options {
				return mysqlstore.HeldUpAfter(mysqlstore.WithoutBounds(o), test.slow)
			}})
			n, err := by1(c.guard, "a", orderSQL, "a")(t.Context())
			if err != nil || n != test.order {
				t.Errorf("order %d, error %v, want order %d", n, err, test.order)
			}
			c.wantOrders(t, "a")
		})
	}
}
