package semelasynq_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/hibiken/asynq"

	semelasynq "github.com/semel-dev/semel/adapters/asynq"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/testserver"
)

// sent is a task in a queue.
type sent struct{ kind, queue, id, payload string }

// TestNames proves docs/names.md.
func TestNames(t *testing.T) {
	t.Parallel()
	first := sent{"charge", "eu", "order-1", "1250"}
	other := func(change func(*sent)) claimtest.Proof {
		second := first
		change(&second)
		return func(t *testing.T) (int, int) {
			t.Helper()
			return handle(t, 0, first, second)
		}
	}
	claimtest.Names(t, "Asynq", map[string]claimtest.Proof{
		"queue":          other(func(s *sent) { s.queue = "us" }),
		"id":             other(func(s *sent) { s.id = "order-2" }),
		"type":           other(func(s *sent) { s.kind = "refund" }),
		"enqueued again": other(func(*sent) {}),
		"payload":        other(func(s *sent) { s.payload = "9999" }),
		"retry": func(t *testing.T) (int, int) { // the second attempt of one task, whose first is recorded and lost
			t.Helper()
			return handle(t, 1, first)
		},
	})
}

// handle enqueues tasks, each after the end of the one before, and returns how many ran and how many were archived. So many successes are lost
// on their way to Asynq.
func handle(t *testing.T, lost int32, tasks ...sent) (ran, archived int) {
	t.Helper()
	s := newShop(t)
	adapter, err := semelasynq.New(s.guard, nil)
	claimtest.NoError(t, err)
	var runs, losses atomic.Int32
	s.serve(t, func(context.Context) error {
		runs.Add(1)
		return nil
	}, func(next asynq.Handler) asynq.Handler {
		return asynq.HandlerFunc(func(ctx context.Context, task *asynq.Task) error {
			err := next.ProcessTask(ctx, task)
			if err == nil && losses.Add(1) <= lost {
				err = errors.New("the worker was killed")
			}
			return err
		})
	}, adapter.Middleware)
	redis := asynq.RedisClientOpt{Addr: s.addr}
	client, inspector := asynq.NewClient(redis), asynq.NewInspector(redis)
	defer client.Close()
	defer inspector.Close()
	for _, task := range tasks {
		_, err := client.Enqueue(asynq.NewTask(task.kind, []byte(task.payload)), asynq.Queue(task.queue), asynq.TaskID(task.id))
		claimtest.NoError(t, err)
		testserver.Eventually(t, "the task has ended", func() bool {
			info, err := inspector.GetTaskInfo(task.queue, task.id)
			if err == nil && info.State == asynq.TaskStateArchived {
				archived++
				return true
			}
			return errors.Is(err, asynq.ErrTaskNotFound)
		})
	}
	return int(runs.Load()), archived
}
