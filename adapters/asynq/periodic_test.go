package semelasynq_test

import (
	"context"
	"testing"

	"github.com/hibiken/asynq"

	semelasynq "github.com/semel-dev/semel/adapters/asynq"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/testserver"
)

// Each tick of Asynq's scheduler is a task of its own, unless an id makes them one.
func TestPeriodicTasks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		options []asynq.Option
		runs    int
	}{
		"without an id": {nil, 2},
		"with an id":    {[]asynq.Option{asynq.TaskID("daily")}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			tasks, err := semelasynq.New(s.guard, nil)
			claimtest.NoError(t, err)
			ran, ended := make(chan string, 8), make(chan string, 8)
			s.serve(t, func(ctx context.Context) error {
				ran <- semelasynq.KeyFor(ctx)
				return nil
			}, func(next asynq.Handler) asynq.Handler {
				return asynq.HandlerFunc(func(ctx context.Context, task *asynq.Task) error {
					err := next.ProcessTask(ctx, task)
					if err == nil {
						ended <- task.Type()
					}
					return err
				})
			}, tasks.Middleware)
			redis := asynq.RedisClientOpt{Addr: s.addr}
			scheduler := asynq.NewScheduler(redis, &asynq.SchedulerOpts{LogLevel: asynq.FatalLevel})
			_, err = scheduler.Register("@every 1s", asynq.NewTask("charge", nil), c.options...)
			claimtest.NoError(t, err)
			claimtest.NoError(t, scheduler.Start())
			testserver.Eventually(t, "two ticks have ended", func() bool { return len(ended) >= 2 })
			scheduler.Shutdown()
			seen := map[string]bool{}
			for len(ran) > 0 {
				seen[<-ran] = true
			}
			if len(seen) < c.runs || c.runs == 1 && len(seen) > 1 {
				t.Errorf("the work ran with %d keys, want %d", len(seen), c.runs)
			}
		})
	}
}
