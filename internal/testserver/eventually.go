package testserver

import (
	"context"
	"testing"
	"time"
)

// Eventually asks until the answer is yes, and fails the test after three minutes, which only a machine that is starved comes near.
func Eventually(tb testing.TB, what string, ask func() bool) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), 3*time.Minute)
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
