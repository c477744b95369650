package failover_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/semel-dev/semel"
)

const verbTimeout = 10 * time.Second

// heard holds the replies that a writer got for a key.
type heard struct {
	fence semel.Fence // of the claim; 0 when its reply was lost, or when there is none
	done  bool
}

// writers do one intent after the other, whatever happens, and remember the replies.
type writers struct {
	do    func(ctx context.Context, writer, i int) (heard, error)
	stop  context.CancelFunc
	ended sync.WaitGroup

	mu    sync.Mutex // guards the fields below
	heard [][]heard  // of every writer, of every key
	lost  int        // replies that were not heard
}

func startWriters(t *testing.T, n int, do func(ctx context.Context, writer, i int) (heard, error)) *writers {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	w := &writers{do: do, stop: cancel, heard: make([][]heard, n)}
	for i := range n {
		w.ended.Go(func() { w.write(ctx, i) })
	}
	t.Cleanup(w.end)
	return w
}

func (w *writers) end() {
	w.stop()
	w.ended.Wait()
}

func (w *writers) write(ctx context.Context, writer int) {
	for i := 0; ctx.Err() == nil; i++ {
		verb, cancel := context.WithTimeout(ctx, verbTimeout)
		h, err := w.do(verb, writer, i)
		cancel()
		w.mu.Lock()
		w.heard[writer] = append(w.heard[writer], h)
		if err != nil {
			w.lost++
		}
		w.mu.Unlock()
		if err != nil {
			pause(ctx)
		}
	}
}

// done counts the intents that were acknowledged so far.
func (w *writers) done() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, keys := range w.heard {
		for _, h := range keys {
			if h.done {
				n++
			}
		}
	}
	return n
}

// waitDone waits until n more intents are acknowledged.
func (w *writers) waitDone(t *testing.T, n int) {
	t.Helper()
	n += w.done()
	eventually(t, "the writers go on", func() bool { return w.done() >= n })
}

// twoPhases claims and settles, and returns the replies.
func twoPhases(ctx context.Context, s semel.Store, writer, i int) (h heard, err error) {
	d := digest(writer, i)
	if h.fence, err = claim(ctx, s, d); err != nil {
		return heard{}, err
	}
	err = settle(ctx, s, d, h.fence, outcome(writer, i))
	h.done = err == nil
	return h, err
}
