package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/storerace"
	"github.com/semel-dev/semel/internal/testserver"
)

// Promises 1 and 3, through connections that break all the time: before the
// server hears, after it did, and in the middle of an answer.
func TestRaceThroughBreakingConnections(t *testing.T) {
	t.Parallel()
	proxy := testserver.NewProxy(t, testserver.Redis(t))
	prefix := testserver.RedisPrefix(t)
	ctx, stop := context.WithCancel(t.Context())
	broken := make(chan struct{})
	go func() {
		defer close(broken)
		tick := time.NewTicker(15 * time.Millisecond)
		defer tick.Stop()
		for i := 0; ; i++ {
			select {
			case <-ctx.Done():
				proxy.Clear()
				return
			case <-tick.C:
			}
			proxy.Clear()
			switch i % 5 {
			case 0:
				proxy.Cut()
			case 1:
				proxy.LoseReplies()
			case 2:
				proxy.CutAfter(200)
			}
		}
	}()
	report := race(t, "redis://"+proxy.Addr()+"?prefix="+prefix, &storerace.Options{Stores: 3, Keys: 60, Claims: 6, Waiters: 3})
	stop()
	<-broken
	if report.Repeats == 0 {
		t.Error("no verb was repeated: the test showed nothing")
	}
	t.Logf("%d claims, %d repeats", report.Claims, report.Repeats)
}

// Promise 10: a caller that lost the reply of any verb repeats it, and finds what it
// did the first time.
func TestLostReplies(t *testing.T) {
	t.Parallel()
	proxy := testserver.NewProxy(t, testserver.Redis(t))
	dsn := "?prefix=" + testserver.RedisPrefix(t)
	s := open(t, "redis://"+proxy.Addr()+dsn, nil)
	direct := open(t, "redis://"+testserver.Redis(t)+dsn, nil)
	// lose loses the reply of what f does, and repeats it.
	lose := func(verb string, f func() error) {
		t.Helper()
		proxy.LoseReplies()
		err := f()
		if err == nil || errors.Is(err, semel.ErrLost) || errors.Is(err, semel.ErrNotFound) {
			t.Errorf("%s without a reply: got %v, want an error that answers nothing", verb, err)
		}
		proxy.Clear()
		eventually(t, verb+" is answered", func() bool { return f() == nil })
	}
	var rec semel.Record
	won := false
	lose("claim", func() (err error) {
		rec, won, err = s.Claim(t.Context(), params("k"))
		return err
	})
	if !won || rec.Attempt != 1 {
		t.Errorf("won %v, attempt %d, want the repeated claim recognised", won, rec.Attempt)
	}
	lose("renew", func() error { return s.Renew(t.Context(), rec.Digest, rec.Fence, 2*lease) })
	lose("settle", func() error { return s.Settle(t.Context(), rec.Digest, rec.Fence, completed("answer")) })
	lose("lookup", func() error { _, err := s.Lookup(t.Context(), rec.Digest); return err })
	rec = claim(t, direct, params("l"))
	lose("release", func() error {
		return s.Settle(t.Context(), rec.Digest, rec.Fence, semel.Settlement{State: semel.StateReleased})
	})
	lose("list", func() error { _, err := s.List(t.Context(), semel.ListParams{}); return err })
}

// A server that hangs delays no caller longer than the context says.
func TestHangingServer(t *testing.T) {
	t.Parallel()
	proxy := testserver.NewProxy(t, testserver.Redis(t))
	s := open(t, "redis://"+proxy.Addr()+"?prefix="+testserver.RedisPrefix(t), nil)
	claim(t, s, params("k"))
	proxy.Stall()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, _, err := s.Claim(ctx, params("l")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want %v", err, context.DeadlineExceeded)
	}
	proxy.Clear()
	eventually(t, "it goes on", func() bool {
		_, _, err := s.Claim(t.Context(), params("l"))
		return err == nil
	})
}

// Promises 1 and 2: with appendfsync always, what was acknowledged survives
// when the server is killed at any instant.
func TestKilledServer(t *testing.T) {
	t.Parallel()
	server := testserver.StartRedis(t, &testserver.RedisOptions{AppendOnly: true})
	s := open(t, "redis://"+server.Addr(), nil)
	var last semel.Fence
	for round := range 3 {
		said := &acknowledged{claimed: map[string]semel.Record{}, settled: map[string]bool{}}
		said.work(t, s, round, server)
		server.Start()
		if len(said.settled) == 0 {
			t.Error("nothing was acknowledged: the test showed nothing")
		}
		for name, rec := range said.claimed {
			last = max(last, rec.Fence)
			var found semel.Record
			eventually(t, name+" can be read", func() (ok bool) {
				var err error
				found, err = s.Lookup(t.Context(), rec.Digest)
				return err == nil || errors.Is(err, semel.ErrNotFound)
			})
			if found.Fence != rec.Fence || said.settled[name] && string(found.Outcome) != "outcome of "+name {
				t.Fatalf("%s: got fence %d with %q, want the acknowledged claim %d (settled: %v)",
					name, found.Fence, found.Outcome, rec.Fence, said.settled[name])
			}
		}
		if rec := claim(t, s, params(fmt.Sprint("after ", round))); rec.Fence <= last {
			t.Errorf("fence %d was given after %d", rec.Fence, last)
		}
	}
}

// acknowledged holds what a server had answered before it was killed.
type acknowledged struct {
	mu      sync.Mutex // guards the fields below
	claimed map[string]semel.Record
	settled map[string]bool
}

// work claims and settles in several goroutines, and kills the server after a
// few hundred acknowledgements.
func (a *acknowledged) work(t *testing.T, s semel.Store, round int, server *testserver.RedisServer) {
	t.Helper()
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := 0; ; i++ {
				p := params(fmt.Sprintf("%d-%d-%d", round, g, i))
				rec, won, err := s.Claim(t.Context(), p)
				if err != nil {
					return
				}
				if !won {
					t.Errorf("%s was not won", p.Name)
					return
				}
				a.mu.Lock()
				a.claimed[p.Name] = rec
				n := len(a.claimed)
				a.mu.Unlock()
				if n == 200+100*round {
					wg.Go(server.Kill)
				}
				if err := s.Settle(t.Context(), p.Digest, rec.Fence, completed("outcome of "+p.Name)); err != nil {
					return
				}
				a.mu.Lock()
				a.settled[p.Name] = true
				a.mu.Unlock()
			}
		})
	}
	wg.Wait()
}
