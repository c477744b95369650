package testserver

import (
	"context"
	"testing"
)

// server has the methods that all servers of package dbserver share.
type server interface {
	Addr() string
	Kill() error
	Stop() error
	Start(ctx context.Context) error
	Close() error
	Log() string
}

// life ends a server, starts it again, and removes it after the test. Its methods report errors to the test and may be
// called from any goroutine of it.
type life[S server] struct {
	tb     testing.TB
	server S
}

// newLife ends the test when there is an error.
func newLife[S server](tb testing.TB, s S, err error) *life[S] {
	tb.Helper()
	require(tb, err)
	tb.Cleanup(func() {
		if tb.Failed() {
			tb.Logf("the end of the log of %s:\n%s", s.Addr(), s.Log())
		}
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return &life[S]{tb: tb, server: s}
}

// Log is the end of what the server wrote.
func (l *life[S]) Log() string { return l.server.Log() }

// Addr is host:port. It stays the same over restarts.
func (l *life[S]) Addr() string { return l.server.Addr() }

// Kill sends SIGKILL to all processes of the server and returns when they are gone.
func (l *life[S]) Kill() {
	l.tb.Helper()
	l.must(func(context.Context) error { return l.server.Kill() })
}

// Stop shuts the server down in an orderly way; clients are disconnected.
func (l *life[S]) Stop() {
	l.tb.Helper()
	l.must(func(context.Context) error { return l.server.Stop() })
}

// Start starts the server again after Kill or Stop, on the same port and data, and returns when it answers.
func (l *life[S]) Start() {
	l.tb.Helper()
	l.must(l.server.Start)
}

func (l *life[S]) must(f func(context.Context) error) {
	l.tb.Helper()
	if err := f(context.WithoutCancel(l.tb.Context())); err != nil {
		l.tb.Error(err)
	}
}
