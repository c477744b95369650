package ratelimit_test

import (
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/semel-dev/semel/internal/ratelimit"
)

// TestAllow empties a bucket, and waits for the time that Allow returned.
func TestAllow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := ratelimit.New(time.Second, 3, 10)
		for i := range 3 {
			if wait, ok := l.Allow("a"); !ok || wait != 0 {
				t.Fatalf("token %d of 3: got %v %v", i+1, wait, ok)
			}
		}
		wait, ok := l.Allow("a")
		if ok || wait <= 0 || wait > time.Second {
			t.Fatalf("a fourth token: got %v %v, want none within a second", wait, ok)
		}
		if peeked := l.Wait("a"); peeked != wait {
			t.Errorf("the wait that Wait tells: got %v, want %v", peeked, wait)
		}
		if _, ok := l.Allow("b"); !ok {
			t.Error("another key pays for the first one")
		}
		time.Sleep(wait)
		if left := l.Wait("a"); left != 0 {
			t.Errorf("after the wait: got %v more", left)
		}
		if _, ok := l.Allow("a"); !ok {
			t.Error("no token after the wait")
		}
		if _, ok := l.Allow("a"); ok {
			t.Error("after the wait there are two tokens")
		}
	})
}

// TestWaitRemembersNobody asks about keys that never came.
func TestWaitRemembersNobody(t *testing.T) {
	t.Parallel()
	l := ratelimit.New(time.Hour, 1, 10)
	for i := range 100 {
		if wait := l.Wait(fmt.Sprint(i)); wait != 0 {
			t.Fatalf("a key that never came: got %v", wait)
		}
	}
	if n := l.Keys(); n != 0 {
		t.Errorf("got %d keys, want none", n)
	}
}

// TestManyKeys sends a hundred thousand callers past a flooder (promise 8): memory stays
// bounded, and the flooder is not forgotten.
func TestManyKeys(t *testing.T) { //nolint:paralleltest // it measures the memory of the process.
	const most, callers = 4096, 100_000
	l := ratelimit.New(time.Hour, 10, most)
	for range 10 {
		if _, ok := l.Allow("flooder"); !ok {
			t.Fatal("the flooder has no tokens at first")
		}
	}
	fill := func(from, to int) {
		for i := from; i < to; i++ {
			if _, ok := l.Allow(fmt.Sprintf("caller %d", i)); !ok {
				t.Fatalf("caller %d was refused at once", i)
			}
		}
	}
	fill(0, 2*most)
	before := heap()
	fill(2*most, callers)
	after := heap()
	if n := l.Keys(); n != most {
		t.Errorf("got %d keys, want %d", n, most)
	}
	const room = 1 << 20 // 4096 buckets take about half of it
	if after > before+room {
		t.Errorf("the heap grew from %d to %d bytes under %d keys", before, after, callers)
	}
	if _, ok := l.Allow("flooder"); ok {
		t.Error("the flooder was forgotten")
	}
	runtime.KeepAlive(l)
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
