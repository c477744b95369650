package guardtest

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
)

// Callers and Keys size a race: [Callers] at once, for each of [Keys] keys.
//
// Keys is 25 under the race detector, which finds a data race of a guard in its
// first rounds and makes each of them several times as expensive. Whether a
// database lets two callers win may take many more: without the detector Keys is
// 80 (make test-long), and 2000 in make races.
const (
	Callers = 16
	Keys    = keys
)

// Race lets so many callers call for each key at the same moment, one key after
// the other, and ends the test at the first error. What a call may answer
// other than success, such as being a duplicate, is for the call to judge.
func Race(tb testing.TB, callers, keys int, call func(ctx context.Context, caller, key int) error) {
	tb.Helper()
	for key := range keys {
		start := make(chan struct{})
		ctx, stop := context.WithCancelCause(context.WithValue(tb.Context(), meetingKey{}, &meeting{second: make(chan struct{})}))
		var group sync.WaitGroup
		for caller := range callers {
			group.Go(func() {
				<-start
				if err := call(ctx, caller, key); err != nil {
					stop(err)
				}
			})
		}
		close(start)
		group.Wait()
		err := context.Cause(ctx)
		if stop(nil); err != nil {
			tb.Fatalf("key %d: %v", key, err)
		}
	}
}

type meetingKey struct{}

// meeting lets callers of one key wait for each other.
type meeting struct {
	came   atomic.Int32
	second chan struct{} // closed when two are there
}

// Meet waits in a call of [Race] until a second caller of the key has come as
// far. A counter-example calls it between looking and writing, and so loses its
// race every time and not by chance. A guard that works would wait for ever.
func Meet(ctx context.Context) error {
	m, ok := ctx.Value(meetingKey{}).(*meeting)
	if !ok {
		return nil
	}
	if m.came.Add(1) == 2 {
		close(m.second)
	}
	select {
	case <-m.second:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
