package semelasynq

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/hibiken/asynq"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/ids"
	"github.com/semel-dev/semel/internal/job"
)

// Options are the settings of [New]. A nil *Options is complete.
type Options struct {
	// Policy applies to tasks instead of the guard's. Zero fields have their usual defaults, but Retention is 30 days, whatever
	// Asynq's own retention is, and an attempt whose twin runs is tried later instead of waiting. Retention has to be longer than
	// Asynq retries a task. MaxRun (15 minutes) has to be longer than a task may take. With OnUnknown: Reconcile, a task that may
	// have happened is looked up instead of archived.
	Policy semel.Policy
	// Key names the work of a task: tasks of one type and name happen once together, and their payloads must be the same. Nil for
	// the task's queue and id, because Asynq's ids are unique in a queue. Tasks for which it returns "" run unprotected.
	Key func(ctx context.Context, task *asynq.Task) string
	// Logger gets work that happened and could not be recorded. Default slog.Default().
	Logger *slog.Logger
}

// Tasks makes tasks happen once. It is safe for concurrent use. Make one with [New].
type Tasks struct {
	guard  *semel.Guard
	key    func(context.Context, *asynq.Task) string
	logger *slog.Logger
}

// New returns the tasks of a guard, over any store. o may be nil.
func New(g *semel.Guard, o *Options) (*Tasks, error) {
	o = cmp.Or(o, &Options{})
	view, err := job.Guard(g, o.Policy)
	if err != nil {
		return nil, fmt.Errorf("semelasynq: %w", err)
	}
	t := &Tasks{guard: view, key: o.Key, logger: cmp.Or(o.Logger, slog.Default())}
	if t.key == nil {
		t.key = nameOf
	}
	return t, nil
}

// nameOf names a task by what it is unique in.
func nameOf(ctx context.Context, _ *asynq.Task) string {
	queue, _ := asynq.GetQueueName(ctx)
	id, _ := asynq.GetTaskID(ctx)
	return ids.Compose(queue, id)
}

// keyOf returns the key of the work of a task.
func keyOf(task *asynq.Task, name string) semel.Key { return job.Key("asynq", name, task.Type()) }

// KeyFor returns the key of the task under whose context a handler works, for a service that deduplicates: the same in every attempt,
// whatever the guard's secrets are, and another for every other task. For tasks that [Options.Key] leaves unprotected it is made of the
// queue and the id. It is empty outside of [Tasks.Middleware].
func KeyFor(ctx context.Context) string { return job.KeyFor(ctx) }

var _ asynq.MiddlewareFunc = (*Tasks)(nil).Middleware

// Middleware is for ServeMux.Use, outside of everything that has effects, and inside of middlewares that recover panics or retry. The
// handler's context ends with the claim. The handler's error decides as in [semel.Do]: a plain error says that nothing happened (or
// what Policy.UnknownOnError says), a panic, a time-out or a cancelled context that it is unknown; [semel.MarkReleased],
// [semel.MarkUnknown] and [semel.MarkFinal] say it explicitly. After MarkFinal the task is archived.
func (t *Tasks) Middleware(next asynq.Handler) asynq.Handler {
	return asynq.HandlerFunc(func(ctx context.Context, task *asynq.Task) error {
		name := t.key(ctx, task)
		if name == "" {
			return next.ProcessTask(job.With(ctx, keyOf(task, nameOf(ctx, task))), task)
		}
		fp := semel.FingerprintOf([]byte(task.Type()), task.Payload())
		v := job.Run(ctx, semel.Do[struct{}], t.guard, keyOf(task, name), fp, func(ctx context.Context) error {
			return next.ProcessTask(ctx, task)
		})
		switch v.Act {
		case job.Done:
			if v.Err != nil {
				t.logger.ErrorContext(ctx, "semelasynq: the task was done, but it could not be recorded",
					slog.String("task", name), slog.String("type", task.Type()), slog.Any("error", v.Err))
			}
			return nil
		case job.Again:
			return &later{err: v.Err, after: v.After}
		case job.Never:
			return fmt.Errorf("%w: %w", v.Err, asynq.SkipRetry)
		case job.Fail:
		}
		return v.Err
	})
}

// later is the error of an attempt in which nothing happened.
type later struct {
	err   error
	after time.Duration
}

func (e *later) Error() string { return e.err.Error() }
func (e *later) Unwrap() error { return e.err }

// RetryDelay is a Config.RetryDelayFunc: an attempt that the middleware put off is repeated when the guard said, others as
// asynq.DefaultRetryDelayFunc says.
func RetryDelay(n int, err error, task *asynq.Task) time.Duration {
	if put, ok := errors.AsType[*later](err); ok {
		return put.after
	}
	return asynq.DefaultRetryDelayFunc(n, err, task)
}

// IsFailure is a Config.IsFailure: an attempt that the middleware put off does not count against MaxRetry. Without it, a task whose
// twin runs for long is archived in the end. Asynq archives a task that has no retry left whatever IsFailure says, so leave it one.
func IsFailure(err error) bool {
	_, put := errors.AsType[*later](err)
	return err != nil && !put
}
