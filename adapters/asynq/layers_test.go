package semelasynq_test

import (
	"context"
	"errors"
	"testing"

	"github.com/hibiken/asynq"

	semelasynq "github.com/semel-dev/semel/adapters/asynq"
	"github.com/semel-dev/semel/internal/claimtest"
)

// panicError holds a panic that a layer recovered.
type panicError struct{ value any }

func (*panicError) Error() string { return "the handler panicked" }

func recovers(next asynq.Handler) asynq.Handler {
	return asynq.HandlerFunc(func(ctx context.Context, task *asynq.Task) (err error) {
		defer func() {
			if p := recover(); p != nil {
				err = &panicError{p}
			}
		}()
		return next.ProcessTask(ctx, task)
	})
}

func limits(next asynq.Handler) asynq.Handler {
	return asynq.HandlerFunc(func(ctx context.Context, task *asynq.Task) error {
		ctx, cancel := withTimeUp(ctx)
		defer cancel()
		return next.ProcessTask(ctx, task)
	})
}

func repeats(next asynq.Handler) asynq.Handler {
	return asynq.HandlerFunc(func(ctx context.Context, task *asynq.Task) (err error) {
		for range 3 {
			if err = next.ProcessTask(ctx, task); err == nil {
				break
			}
		}
		return err
	})
}

func passes(next asynq.Handler) asynq.Handler { return next }

// timeUp is the key of a function in a context that ends it, as a time-out does.
type timeUp struct{}

// withTimeUp returns a context whose time is up when the work says so.
func withTimeUp(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	return context.WithValue(ctx, timeUp{}, func() { cancel(context.DeadlineExceeded) }), func() { cancel(nil) }
}

// overruns works until its time is up.
func overruns(ctx context.Context) error {
	end, _ := ctx.Value(timeUp{}).(func())
	end()
	<-ctx.Done()
	return context.Cause(ctx)
}

// TestLayers: promise 3: an unknown outcome stays unknown, in every order of the package's middleware and another one. One that retries
// inside of it repeats the work within one claim.
func TestLayers(t *testing.T) {
	t.Parallel()
	panics := func(context.Context) error { panic("after the effect") }
	fails := func(context.Context) error { return errors.New("card declined") }
	for name, c := range map[string]struct {
		outside, inside asynq.MiddlewareFunc
		work            func(context.Context) error
		word            string // of the archived task's error
		effects         int64
	}{
		"no-layer":         {passes, passes, panics, "unknown", 1},
		"recovery-outside": {recovers, passes, panics, "unknown", 1},
		"recovery-inside":  {passes, recovers, panics, "unknown", 1},
		"time-out-outside": {limits, passes, overruns, "unknown", 1},
		"time-out-inside":  {passes, limits, overruns, "unknown", 1},
		"retry-outside":    {repeats, recovers, panics, "unknown", 1},
		"retry-inside":     {passes, repeats, fails, "declined", 6},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			tasks, err := semelasynq.New(s.guard, nil)
			claimtest.NoError(t, err)
			s.serve(t, func(ctx context.Context) error {
				if err := s.redis.Do(ctx, s.redis.B().Incr().Key("effect:"+name).Build()).Error(); err != nil {
					return err
				}
				return c.work(ctx)
			}, c.outside, tasks.Middleware, c.inside)
			s.enqueue(t, name, "{}", asynq.MaxRetry(1))
			s.wantEnd(t, name, asynq.TaskStateArchived, c.word)
			s.wantEffects(t, name, c.effects)
		})
	}
}
