package redisstore_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/redisstore"
)

// load is callers that do one intent after the other, two of them each intent, whatever happens to the servers: of two callers
// one wins (promise 1), and every outcome that was acknowledged is there at the end (promise 2).
type load struct {
	t       *testing.T
	stores  []*redisstore.Store
	done    context.CancelFunc
	callers sync.WaitGroup
	settled [8]atomic.Int64 // intents of each caller
	repeats atomic.Int64    // verbs that failed
}

func startLoad(t *testing.T, dsn string) *load {
	t.Helper()
	ctx, done := context.WithCancel(t.Context())
	l := &load{t: t, done: done, stores: []*redisstore.Store{open(t, dsn, nil), open(t, dsn, nil)}}
	for caller := range l.settled {
		l.callers.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				l.oneOfTwo(params(fmt.Sprint(caller, "/", i))) //nolint:contextcheck // the last intent is settled after the end
				l.settled[caller].Add(1)
			}
		})
	}
	t.Cleanup(done)
	return l
}

func (l *load) total() (n int64) {
	for i := range l.settled {
		n += l.settled[i].Load()
	}
	return n
}

// waitMore waits until n more intents are settled.
func (l *load) waitMore(n int64) {
	l.t.Helper()
	n += l.total()
	testserver.Eventually(l.t, "the callers go on", func() bool { return l.total() >= n })
}

// end ends the callers, and looks for every outcome.
func (l *load) end() {
	l.t.Helper()
	l.done()
	l.callers.Wait()
	for caller := range l.settled {
		for i := range l.settled[caller].Load() {
			p := params(fmt.Sprint(caller, "/", i))
			if rec, err := l.stores[i%2].Lookup(l.t.Context(), p.Digest); err != nil || string(rec.Outcome) != p.Name {
				l.t.Errorf("the outcome of %s is lost: got %q, error %v", p.Name, rec.Outcome, err)
			}
		}
	}
	l.t.Logf("%d intents settled, %d verbs repeated", l.total(), l.repeats.Load())
}

// oneOfTwo lets two callers claim the intent, and settles it.
func (l *load) oneOfTwo(p semel.ClaimParams) {
	var recs [2]semel.Record
	var wons [2]bool
	var both sync.WaitGroup
	for i, s := range l.stores {
		both.Go(func() {
			l.again(func() (err error) {
				recs[i], wons[i], err = s.Claim(l.t.Context(), by(byte(i+1), p))
				return err
			})
		})
	}
	both.Wait()
	if wons[0] == wons[1] || recs[0].Fence != recs[1].Fence {
		l.t.Errorf("%s: won %v with fences %d and %d, want one winner", p.Name, wons, recs[0].Fence, recs[1].Fence)
	}
	outcome := completed(p.Name)
	l.again(func() error { return l.stores[0].Settle(l.t.Context(), p.Digest, recs[0].Fence, outcome) })
}

// again repeats a verb until it succeeds.
func (l *load) again(verb func() error) {
	pause := time.NewTicker(10 * time.Millisecond)
	defer pause.Stop()
	var err error
	for range 3000 {
		if err = verb(); err == nil {
			return
		}
		l.repeats.Add(1)
		select {
		case <-pause.C:
		case <-l.t.Context().Done():
			l.t.Error(err)
			return
		}
	}
	l.t.Errorf("a verb failed again and again: %v", err)
}
