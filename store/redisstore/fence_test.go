package redisstore_test

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/redisstore"
)

// Promise 1: when the server has lost everything, or only the counter, fences
// still grow.
func TestFencesGrowWithoutTheirCounter(t *testing.T) {
	t.Parallel()
	server := testserver.StartRedis(t, nil)
	servers := testserver.StartRedisCluster(t, 3)
	for name, test := range map[string]struct {
		dsn   string
		addrs []string
	}{
		"single":  {"redis://" + server.Addr(), []string{server.Addr()}},
		"cluster": {clusterDSN(servers), servers.Addrs()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, test.dsn, nil)
			var last semel.Fence
			for range 5 {
				for range 20 {
					rec := wins(t, s, params("k"))
					if rec.Fence <= last {
						t.Fatalf("fence %d was given after %d", rec.Fence, last)
					}
					last = rec.Fence
					settles(t, s, rec, semel.Settlement{State: semel.StateReleased})
				}
				for _, addr := range test.addrs {
					command(t, addr, "FLUSHALL")
				}
			}
		})
	}
}

// Promise 1 with the clock set back: the counter goes on from where it was.
func TestFencesGrowWhenTheClockIsSetBack(t *testing.T) {
	t.Parallel()
	for name, p := range places() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := newHands()
			s := open(t, p.dsn(t), redisstore.WithClock(redisstore.Options{}, clock.ms.Load))
			before := wins(t, s, params("before"))
			clock.Advance(-10 * time.Minute)
			after := wins(t, s, params("after"))
			if after.Fence <= before.Fence {
				t.Errorf("fence %d was given after %d", after.Fence, before.Fence)
			}
			settles(t, s, before, completed("answer"))
			wantFound(t, s, before.Digest, semel.StateCompleted)
		})
	}
}

// Promise 1 in a cluster: a fence that was drawn and then came late, when its
// key had a greater one meanwhile, is refused, and another is drawn.
func TestLateFence(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]semel.Settlement{
		"released": {State: semel.StateReleased},
		"expired":  {State: semel.StateUnknown, Retention: time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := newHands()
			dsn := cluster.dsn(t)
			o := redisstore.WithClock(redisstore.Options{}, clock.ms.Load)
			late, quick := open(t, dsn, o), open(t, dsn, o)
			p := params("k")
			var between semel.Record
			first := true
			redisstore.AfterDraw(late, func() {
				if first {
					first = false
					between = wins(t, quick, by(2, p))
					settles(t, quick, between, end)
					clock.Advance(2 * time.Millisecond)
				}
			})
			rec := wins(t, late, p)
			if between.Fence == 0 || rec.Fence <= between.Fence {
				t.Errorf("won with fence %d after %d was given", rec.Fence, between.Fence)
			}
		})
	}
}

// Promise 1 in a cluster: a fence that was drawn long ago is refused, because
// the fences of its key are forgotten by now.
func TestStaleFence(t *testing.T) {
	t.Parallel()
	clock := newHands()
	s := open(t, cluster.dsn(t), redisstore.WithClock(redisstore.Options{}, clock.ms.Load))
	draws := 0
	redisstore.AfterDraw(s, func() {
		if draws++; draws == 1 {
			clock.Advance(time.Minute)
		}
	})
	rec := wins(t, s, params("k"))
	if draws != 2 || uint64(rec.Fence) < uint64(clock.ms.Load())*1000 {
		t.Errorf("won with fence %d after %d draws at %d ms", rec.Fence, draws, clock.ms.Load())
	}
}

// A failover takes the counter back a little; fences that were given meanwhile
// are not given again.
func TestFencesGrowWhenTheCounterLags(t *testing.T) {
	t.Parallel()
	for name, p := range places() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, look := open(t, p.dsn(t), nil), p.raw(t)
			var last semel.Fence
			for i := range 20 {
				rec := wins(t, s, params(strconv.Itoa(i)))
				if rec.Fence <= last {
					t.Fatalf("fence %d was given after %d", rec.Fence, last)
				}
				last = rec.Fence
				testserver.Eventually(t, "the clock is ahead of the counter", func() bool { // a failover takes longer
					return uint64(time.Now().UnixMicro()) > uint64(last)+2000
				})
				noError(t, look.do("SET", redisstore.FenceKey(s), strconv.FormatUint(uint64(last)-10, 10)).Error())
			}
		})
	}
}

// Promise 1 in a cluster whose clocks differ: a counter that was lost on a slow
// node catches up with what a fast one has given.
func TestSlowCounter(t *testing.T) {
	t.Parallel()
	fast, slow := newHands(), newHands()
	fast.Advance(time.Hour)
	dsn := cluster.dsn(t)
	one := open(t, dsn, redisstore.WithClock(redisstore.Options{}, fast.ms.Load))
	two := open(t, dsn, redisstore.WithClock(redisstore.Options{}, slow.ms.Load))
	before := wins(t, one, params("k"))
	settles(t, one, before, semel.Settlement{State: semel.StateReleased})
	noError(t, cluster.raw(t).do("DEL", redisstore.FenceKey(one)).Error())
	if after := wins(t, two, params("k")); after.Fence <= before.Fence {
		t.Errorf("fence %d was given after %d", after.Fence, before.Fence)
	}
}

// Claims that come while a fence is being drawn share the next draw. One that
// waits goes when its context ends; the draw goes on for the others.
func TestDrawsAreShared(t *testing.T) {
	t.Parallel()
	s := open(t, cluster.dsn(t), nil)
	gate := make(chan struct{})
	var draws atomic.Int64
	redisstore.AfterDraw(s, func() {
		if draws.Add(1) == 1 {
			<-gate
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		_, _, err := s.Claim(ctx, params("gone"))
		gone <- err
	}()
	testserver.Eventually(t, "the first draw is under way", func() bool { return draws.Load() == 1 })
	const others = 20
	won := make(chan bool, others)
	for i := range others {
		go func() {
			_, ok, err := s.Claim(t.Context(), params(strconv.Itoa(i)))
			won <- ok && err == nil
		}()
	}
	testserver.Eventually(t, "all others wait for the next draw", func() bool { return redisstore.Waiting(s) == others })
	cancel()
	if err := <-gone; err == nil {
		t.Error("a claim whose context has ended must err")
	}
	close(gate)
	for range others {
		if !<-won {
			t.Error("a claim of its own key must be won")
		}
	}
	if n := draws.Load(); n != 2 {
		t.Errorf("%d draws for %d claims, want 2", n, 1+others)
	}
}
