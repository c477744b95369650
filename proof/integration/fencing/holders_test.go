package fencing_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/semel-dev/semel"
)

var errRefused = errors.New("the write was refused: its fence is smaller")

// paused is the store as a process reaches it that is stopped while it holds
// claims: it does not renew.
type paused struct{ semel.Store }

func (paused) Renew(ctx context.Context, _ semel.Digest, _ semel.Fence, _ time.Duration) error {
	<-ctx.Done()
	return ctx.Err()
}

// Unwrap shows the store to the guard's searches.
func (p paused) Unwrap() semel.Store { return p.Store }

func newGuard(t *testing.T, store semel.Store) *semel.Guard {
	t.Helper()
	g, err := semel.New(store, &semel.Options{SweepEvery: -1, Policy: semel.Policy{
		Lease: 300 * time.Millisecond, Wait: time.Minute, OnUnknown: semel.Rerun,
	}})
	must(t, err)
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	return g
}

// TestFormerHolderIsFencedOut: a holder is stopped in the middle of its work
// and does not know that it was; another takes over and writes; the first
// one's write, when it goes on, changes nothing, and neither does what it says
// of the outcome (promise 1, beyond the store).
func TestFormerHolderIsFencedOut(t *testing.T) {
	t.Parallel()
	for name, open := range stores() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			for way, guard := range s.guards {
				t.Run(way, func(t *testing.T) {
					takeOver(t, s.store, guard, "paused-"+way)
				})
			}
		})
	}
}

func takeOver(t *testing.T, store semel.Store, guard guarded, resource string) {
	t.Helper()
	must(t, guard.prepare(t.Context(), resource))
	key := semel.Key{Scope: "fencing", Name: resource}
	asked := semel.FingerprintOf(resource)
	work := func(ctx context.Context, level int) (int, error) {
		written, err := guard.write(context.WithoutCancel(ctx), resource, level, semel.FenceFrom(ctx)) // on its way already
		if err != nil {
			t.Error(err)
		}
		if !written {
			return 0, semel.MarkUnknown(errRefused)
		}
		return level, nil
	}

	stopped, goOn, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	former := newGuard(t, paused{store})
	go func() {
		_, err := semel.Do(t.Context(), former, key, asked, func(ctx context.Context) (int, error) {
			close(stopped)
			<-goOn
			return work(ctx, 1)
		})
		ended <- err
	}()
	<-stopped
	present := newGuard(t, store)
	got, err := semel.Do(t.Context(), present, key, asked, func(ctx context.Context) (int, error) { return work(ctx, 2) })
	close(goOn)
	if got != 2 || err != nil {
		t.Errorf("the present holder: got %d, %v; want its write to pass", got, err)
	}
	if err := <-ended; !errors.Is(err, errRefused) || !errors.Is(err, semel.ErrLost) {
		t.Errorf("promise 1: the former holder: got %v; want its write refused, and its claim lost", err)
	}
	if level, _, err := guard.read(t.Context(), resource); level != 2 || err != nil {
		t.Errorf("promise 1: level %d, %v; want what the present holder wrote", level, err)
	}
	again, err := semel.Do(t.Context(), present, key, asked, func(context.Context) (int, error) { return 3, nil })
	if again != 2 || err != nil {
		t.Errorf("a third attempt: got %d, %v; want the present holder's answer", again, err)
	}
}
