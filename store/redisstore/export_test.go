package redisstore

import (
	"context"
	"time"

	"github.com/semel-dev/semel"
)

const keep = 20 * 365 * 24 * time.Hour

// WithClock replaces the server's clock by one that only moves when told to.
func WithClock(o Options, ms func() int64) *Options {
	o.clock = &clock{
		lua:   "local now = tonumber(ARGV[#ARGV])\nlocal us = now * 1000\n",
		ms:    ms,
		now:   func(int64) int64 { return ms() },
		slack: keep,
	}
	return &o
}

// WithOffset puts the server's clock forward.
func WithOffset(o Options, ms func() int64) *Options {
	now, err := luaFiles.ReadFile("lua/now.lua")
	if err != nil {
		panic(err)
	}
	o.clock = &clock{
		lua:   string(now) + "now = now + ARGV[#ARGV]\nus = us + ARGV[#ARGV] * 1000\n",
		ms:    ms,
		now:   func(server int64) int64 { return server + ms() },
		slack: keep,
	}
	return &o
}

// Key is the key of the record.
func Key(s *Store, d semel.Digest) string { return s.key(&d) }

// Channel names the channel of settlements.
func Channel(s *Store) string { return s.channel }

// FenceKey is the key of the counter.
func FenceKey(s *Store) string { return s.fenceKey }

// AfterDraw has f called after every draw of a fence, before it is used.
func AfterDraw(s *Store, f func()) {
	s.draws.take = func(ctx context.Context, n int, floor semel.Fence) (semel.Fence, error) {
		first, err := s.draw(ctx, n, floor)
		f()
		return first, err
	}
}

// Waiting counts the claims that wait for the next draw.
func Waiting(s *Store) int {
	s.draws.mu.Lock()
	defer s.draws.mu.Unlock()
	if s.draws.next == nil {
		return 0
	}
	return s.draws.next.n
}

// WithWatch sets the pause between checks of the server.
func WithWatch(o Options, every time.Duration) *Options {
	o.watchEvery = every
	return &o
}
