package redisstore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/storetest"
)

// Promises 1 and 3, through connections that break before the server hears,
// after it did, and in the middle of an answer.
func TestBreakingConnections(t *testing.T) {
	t.Parallel()
	proxy := testserver.NewProxy(t, testserver.Redis(t))
	p := processes("single", place{addrs: func(testing.TB) []string { return []string{proxy.Addr()} }, query: "?prefix="})
	p.Disturb = func(testing.TB, string) func() { return proxy.Disturb() }
	storetest.RunProcesses(t, p)
}

// A server that hangs delays no caller longer than the context says.
func TestHangingServer(t *testing.T) {
	t.Parallel()
	proxy := testserver.NewProxy(t, testserver.Redis(t))
	s := open(t, "redis://"+proxy.Addr()+"?prefix="+testserver.RedisPrefix(t), nil)
	wins(t, s, params("k"))
	proxy.Stall()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, _, err := s.Claim(ctx, params("l")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want %v", err, context.DeadlineExceeded)
	}
	proxy.Clear()
	testserver.Eventually(t, "it goes on", func() bool {
		_, _, err := s.Claim(t.Context(), params("l"))
		return err == nil
	})
}
