package semelasynq_test

import (
	"context"
	"testing"

	"github.com/hibiken/asynq"

	semelasynq "github.com/semel-dev/semel/adapters/asynq"
	"github.com/semel-dev/semel/internal/claimtest"
)

// within has each task done within a layer of its own.
func within(layer func(id string) claimtest.Layer) asynq.MiddlewareFunc {
	return func(next asynq.Handler) asynq.Handler {
		return asynq.HandlerFunc(func(ctx context.Context, task *asynq.Task) error {
			id, _ := asynq.GetTaskID(ctx)
			return layer(id).Do(ctx, func(ctx context.Context) error { return next.ProcessTask(ctx, task) })
		})
	}
}

// TestLayers: promise 3: an unknown outcome stays unknown, in every order of the package's middleware and another one. One that retries
// inside of it repeats the work within one claim.
func TestLayers(t *testing.T) {
	t.Parallel()
	s, cases := newShop(t), claimtest.Layers()
	tasks, err := semelasynq.New(s.guard, nil)
	claimtest.NoError(t, err)
	s.serve(t, func(ctx context.Context) error {
		id, _ := asynq.GetTaskID(ctx)
		if err := s.redis.Do(ctx, s.redis.B().Incr().Key("effect:"+id).Build()).Error(); err != nil {
			return err
		}
		return cases[id].Work(ctx)
	}, within(func(id string) claimtest.Layer { return cases[id].Outside }), tasks.Middleware, within(func(id string) claimtest.Layer { return cases[id].Inside }))
	for name := range cases {
		s.enqueue(t, name, "{}", asynq.MaxRetry(1))
	}
	for name, c := range cases {
		word := "declined"
		if c.Unknown {
			word = "unknown"
		}
		s.wantEnd(t, name, asynq.TaskStateArchived, word)
		s.wantEffects(t, name, int64(c.Effects))
	}
}
