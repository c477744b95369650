package mysqlstore_test

import (
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/mysqlstore"
)

// tripConn counts how often something was sent after something was read.
type tripConn struct {
	net.Conn

	trips *atomic.Int64
	read  bool
}

func (c *tripConn) Write(b []byte) (int, error) {
	if c.read {
		c.trips.Add(1)
		c.read = false
	}
	return c.Conn.Write(b)
}

func (c *tripConn) Read(b []byte) (int, error) {
	c.read = true
	return c.Conn.Read(b)
}

// counted is a store opened on one connection, and its round trips so far.
func counted(t *testing.T, with func(*mysqlstore.Options) *mysqlstore.Options) (*mysqlstore.Store, *atomic.Int64) {
	t.Helper()
	dsn, trips := countedDSN(t)
	o := &mysqlstore.Options{MaxConns: 1}
	if with != nil {
		o = with(o)
	}
	return open(t, dsn, o), trips
}

// One verb, one round trip: what each costs on a connection that has run it
// before.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		ways  string
		with  func(*mysqlstore.Options) *mysqlstore.Options
		claim int64
		batch int64
	}{
		{"returning", nil, 1, 1},
		{"together", mysqlstore.WithoutReturning, 1, 2},
		{"one by one", mysqlstore.WithoutTogether, 2, 2},
	} {
		t.Run(test.ways, func(t *testing.T) {
			t.Parallel()
			s, trips := counted(t, test.with)
			if s.Ways() != test.ways {
				t.Fatalf("the store inserts %s, want %s", s.Ways(), test.ways)
			}
			for round := range 2 { // the first prepares
				costs(t, s, round, func(act string, want int64, do func() error) {
					t.Helper()
					before := trips.Load()
					if err := do(); err != nil {
						t.Fatalf("%s: %v", act, err)
					}
					if got := trips.Load() - before; round > 0 && got != want {
						t.Errorf("%s: %d round trips, want %d", act, got, want)
					}
				}, test.claim, test.batch)
			}
		})
	}
}

func costs(t *testing.T, s *mysqlstore.Store, round int, cost func(act string, want int64, do func() error), claim, batch int64) {
	t.Helper()
	var rec semel.Record
	p := params(fmt.Sprint("k", round))
	again := func() (err error) {
		_, _, err = s.Claim(t.Context(), by(2, p))
		return err
	}
	cost("a claim of a new intent", claim, func() (err error) {
		rec, _, err = s.Claim(t.Context(), p)
		return err
	})
	cost("a renewal", 1, func() error { return s.Renew(t.Context(), rec.Digest, rec.Fence, 2*lease) })
	cost("a duplicate seen before", 1, again)
	cost("a settlement", 1, func() error { return s.Settle(t.Context(), rec.Digest, rec.Fence, completed("x")) })
	cost("a settlement repeated", 2, func() error { return s.Settle(t.Context(), rec.Digest, rec.Fence, completed("x")) })
	s.Forget()
	cost("a duplicate not seen before", 2, again)
	cost("a lookup", 1, func() (err error) {
		_, err = s.Lookup(t.Context(), p.Digest)
		return err
	})
	cost("a list", 2, func() (err error) {
		_, err = s.List(t.Context(), semel.ListParams{})
		return err
	})
	cost("a sweep that finds nothing", 1, func() (err error) {
		_, err = s.Sweep(t.Context(), 100)
		return err
	})

	ps := batchOf(fmt.Sprint("batch", round, "-"), 64)
	var answers []semel.ClaimAnswer
	claims := func() (err error) {
		answers, _, err = s.Batch(t.Context(), ps, nil)
		return err
	}
	cost("64 claims of new intents", batch, claims)
	ss := settlementsOf(answers, retention)
	settlements := func() (err error) {
		_, _, err = s.Batch(t.Context(), nil, ss)
		return err
	}
	cost("64 settlements", 1, settlements)
	cost("64 settlements repeated", 2, settlements)
	cost("64 duplicates", 1, claims)
}

// batchOf are n claims of new intents.
func batchOf(prefix string, n int) []semel.ClaimParams {
	ps := make([]semel.ClaimParams, n)
	for i := range ps {
		ps[i] = params(fmt.Sprint(prefix, i))
	}
	return ps
}

// settlementsOf complete what was won.
func settlementsOf(answers []semel.ClaimAnswer, retention time.Duration) []semel.SettleParams {
	ss := make([]semel.SettleParams, len(answers))
	for i := range answers {
		rec := &answers[i].Record
		ss[i] = semel.SettleParams{Digest: rec.Digest, Fence: rec.Fence, Settlement: semel.Settlement{
			State: semel.StateCompleted, Outcome: []byte("answer of " + rec.Name), Kept: true, Retention: retention,
		}}
	}
	return ss
}
