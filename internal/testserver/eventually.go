package testserver

import (
	"context"
	"testing"
	"time"
)

// Eventually asks until the answer is yes, and fails the test after three minutes, which only a machine that is starved comes near, or
// after a third of what go test has left: a test that waits longer than go test does has not failed, for proof/mutate.
func Eventually(tb testing.TB, what string, ask func() bool) {
	tb.Helper()
	most := 3 * time.Minute
	if test, ok := tb.(interface{ Deadline() (time.Time, bool) }); ok {
		if end, ends := test.Deadline(); ends {
			most = min(most, time.Until(end)/3)
		}
	}
	ctx, cancel := context.WithTimeout(tb.Context(), most)
	defer cancel()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for !ask() {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			tb.Fatalf("never: %s", what)
		}
	}
}
