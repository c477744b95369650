package guardtest

import (
	"context"
	"testing"

	"golang.org/x/sync/errgroup"
)

// Callers and Keys are how many a race has: [Callers] at once, for each of [Keys]
// keys.
//
// Keys is 2000, and 200 under the race detector, which finds a data race of a
// guard in its first rounds and makes each of them several times as expensive.
// Whether a database lets two callers win may take many more: that is what make
// races is for, which runs without the detector.
const (
	Callers = 16
	Keys    = keys
)

// Race lets so many callers call for each key at the same moment, one key after
// the other, and ends the test at the first error. What a call may answer
// beside success, such as being a duplicate, the call itself judges.
func Race(tb testing.TB, callers, keys int, call func(ctx context.Context, caller, key int) error) {
	tb.Helper()
	for key := range keys {
		start := make(chan struct{})
		group, ctx := errgroup.WithContext(tb.Context())
		for caller := range callers {
			group.Go(func() error {
				<-start
				return call(ctx, caller, key)
			})
		}
		close(start)
		if err := group.Wait(); err != nil {
			tb.Fatalf("key %d: %v", key, err)
		}
	}
}
