package mysqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/mysqlstore"
	"github.com/semel-dev/semel/store/storetest"
)

// progress counts the verbs of a race that were answered.
type progress struct{ answered atomic.Int64 }

// every calls f each time that n more verbs were answered, until the context
// ends: however slow the machine is, the race goes on between two calls.
func (p *progress) every(ctx context.Context, n int64, f func()) (calls int) {
	for last := int64(0); ctx.Err() == nil; pause(ctx, time.Millisecond) {
		if p.answered.Load()-last < n {
			continue
		}
		f()
		calls++
		last = p.answered.Load()
	}
	return calls
}

// counting is a store whose answers count as progress.
type counting struct {
	semel.Store
	*progress
}

func (c counting) count(err error) {
	if err == nil {
		c.answered.Add(1)
	}
}

func (c counting) Claim(ctx context.Context, p semel.ClaimParams) (semel.Record, bool, error) {
	rec, won, err := c.Store.Claim(ctx, p)
	c.count(err)
	return rec, won, err
}

func (c counting) Settle(ctx context.Context, d semel.Digest, f semel.Fence, v semel.Settlement) error {
	err := c.Store.Settle(ctx, d, f, v)
	c.count(err)
	return err
}

// Promise 1 holds while the server kills connections at random: a verb that
// was cut off says so, and is repeated.
func TestRaceInAStormOfKills(t *testing.T) {
	t.Parallel()
	dsn := testserver.MySQLDatabase(t)
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	admin := quietPool(t, dsn)
	disturb(t, dsn, func(ctx context.Context) {
		var id int64
		err := admin.QueryRowContext(ctx,
			"SELECT id FROM information_schema.processlist WHERE db = ? AND id <> CONNECTION_ID() ORDER BY RAND() LIMIT 1", cfg.DBName).Scan(&id)
		if err == nil { // otherwise no connection is left
			_, _ = admin.ExecContext(ctx, "KILL CONNECTION ?", id) // it may have ended already
		}
	})
}

// The same with a network that breaks connections, even in the middle of an
// answer, so that what was done is not heard of.
func TestRaceOverABreakingNetwork(t *testing.T) {
	t.Parallel()
	dsn := testserver.MySQLDatabase(t)
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	proxy := testserver.NewProxy(t, cfg.Addr)
	cfg.Addr = proxy.Addr()
	disturb(t, cfg.FormatDSN(), func(ctx context.Context) {
		switch rand.IntN(3) {
		case 0:
			proxy.Cut()
		case 1:
			proxy.LoseReplies()
		case 2:
			proxy.CutAfter(1 + rand.IntN(400))
		}
		pause(ctx, 5*time.Millisecond)
		proxy.Clear()
	})
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// disturb lets several stores race, and disturbs them all the while.
func disturb(t *testing.T, dsn string, how func(context.Context)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	made := &progress{}
	var wg sync.WaitGroup
	racing, stop := context.WithCancel(ctx)
	disturbances := 0
	wg.Go(func() { disturbances = made.every(racing, 15, func() { how(racing) }) })
	report, err := storetest.Race(ctx, func() (semel.Store, error) {
		s, err := mysqlstore.Open(ctx, dsn, &mysqlstore.Options{MaxConns: 4})
		if err != nil {
			return nil, err
		}
		return counting{s, made}, nil
	}, &storetest.RaceOptions{Stores: 3, Keys: 24})
	stop()
	wg.Wait()
	if err != nil || len(report.Violations) != 0 {
		t.Errorf("error %v, violations %q", err, report.Violations)
	}
	if disturbances == 0 || report.Repeats == 0 {
		t.Error("nothing was disturbed: the test showed nothing")
	}
	t.Logf("%d disturbances, %d wins, %d repeats, %v", disturbances, report.Wins, report.Repeats, report.Elapsed)
}

// It is unknown whether a verb was taken whose reply was lost, so its error
// is none of the contract's, and the verb can be repeated (promise 10).
func TestLostReply(t *testing.T) {
	t.Parallel()
	dsn := testserver.MySQLDatabase(t)
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	direct := open(t, dsn, nil)
	proxy := testserver.NewProxy(t, cfg.Addr)
	cfg.Addr = proxy.Addr()
	s := open(t, cfg.FormatDSN(), &mysqlstore.Options{MaxConns: 1})
	lose := func(act string, verb func() error) {
		t.Helper()
		if err := verb(); err != nil { // prepares the statement
			t.Fatalf("%s: %v", act, err)
		}
		proxy.LoseReplies()
		err := verb()
		proxy.Clear()
		if err == nil {
			t.Errorf("%s: got no error although the reply was lost", act)
		}
		for _, sentinel := range []error{semel.ErrLost, semel.ErrSettled, semel.ErrNotFound, semel.ErrFull, semel.ErrClosed} {
			if errors.Is(err, sentinel) {
				t.Errorf("%s: got %v, want an error that decides nothing", act, err)
			}
		}
	}

	i := 0
	lose("claim", func() error {
		i++
		_, _, err := s.Claim(t.Context(), params(fmt.Sprint("k", i)))
		return err
	})
	rec, won, err := s.Claim(t.Context(), params("k2"))
	if err != nil || !won || rec.Attempt != 1 {
		t.Fatalf("the claim repeated: won %v, attempt %d, error %v, want it won unchanged", won, rec.Attempt, err)
	}
	lose("renew", func() error { return s.Renew(t.Context(), rec.Digest, rec.Fence, 2*lease) })
	settled := wins(t, s, params("k1"))
	lose("settle", func() error {
		defer func() { settled = rec }()
		return s.Settle(t.Context(), settled.Digest, settled.Fence, completed("x"))
	})
	lose("look up", func() error {
		_, err := s.Lookup(t.Context(), rec.Digest)
		return err
	})
	if got, err := direct.Lookup(t.Context(), rec.Digest); err != nil || got.State != semel.StateCompleted {
		t.Errorf("got %v, error %v, want the settlement whose reply was lost", got.State, err)
	}
}

// A server that cannot be reached is an error that decides nothing, and the
// store goes on when it can be reached again.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	dsn := testserver.MySQLDatabase(t)
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	proxy := testserver.NewProxy(t, cfg.Addr)
	cfg.Addr = proxy.Addr()
	s := open(t, cfg.FormatDSN(), nil)
	wins(t, s, params("before"))
	proxy.Down()
	_, _, err = s.Claim(t.Context(), params("k"))
	if err == nil || errors.Is(err, semel.ErrNotFound) || errors.Is(err, semel.ErrLost) {
		t.Errorf("claim: got %v, want an error that decides nothing", err)
	}
	if _, err := mysqlstore.Open(t.Context(), cfg.FormatDSN(), nil); err == nil || !strings.Contains(err.Error(), "is the server running") {
		t.Errorf("open: got %v, want it to say what to look at", err)
	}
	proxy.Up()
	wins(t, s, params("k"))
}
