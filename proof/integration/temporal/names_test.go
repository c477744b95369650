package temporal_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/semel-dev/semel"
	semeltemporal "github.com/semel-dev/semel/adapters/temporal"
	"github.com/semel-dev/semel/internal/claimtest"
)

// lossy loses the first success on its way to Temporal.
type lossy struct {
	interceptor.WorkerInterceptorBase

	lost atomic.Bool
}

// InterceptActivity implements interceptor.WorkerInterceptor.
func (l *lossy) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return &losing{interceptor.ActivityInboundInterceptorBase{Next: next}, l}
}

type losing struct {
	interceptor.ActivityInboundInterceptorBase

	of *lossy
}

// ExecuteActivity implements interceptor.ActivityInboundInterceptor.
func (l *losing) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	result, err := l.Next.ExecuteActivity(ctx, in)
	if err == nil && activity.GetInfo(ctx).ActivityType.Name == "stamp" && l.of.lost.CompareAndSwap(false, true) {
		return nil, errors.New("the connection broke")
	}
	return result, err
}

// stamped runs workflows with these ids, one after the other, or without a workflow activities with them, and returns how often the activity
// ran.
func stamped(flow func(workflow.Context) error, lose bool, ids ...string) claimtest.Proof {
	return func(t *testing.T) (int, int) {
		server := newServer(t)
		c := connect(t, server, server.GetFrontendHostPort())
		s, loss := &stamps{}, &lossy{}
		loss.lost.Store(!lose)
		w := worker.New(c, taskQueue, worker.Options{Interceptors: []interceptor.WorkerInterceptor{loss, protect(t, t.TempDir(), semeltemporal.Options{})}})
		if flow != nil {
			w.RegisterWorkflowWithOptions(flow, workflow.RegisterOptions{Name: workflowName})
		}
		w.RegisterActivityWithOptions(s.stamp, activity.RegisterOptions{Name: "stamp"})
		w.RegisterActivityWithOptions(func(context.Context) error { return nil }, activity.RegisterOptions{Name: "other"})
		claimtest.NoError(t, w.Start())
		defer w.Stop()
		for _, id := range ids {
			if flow == nil {
				o := client.StartActivityOptions{ID: id, TaskQueue: taskQueue, StartToCloseTimeout: 10 * time.Second}
				activity, err := c.ExecuteActivity(t.Context(), o, "stamp", "now")
				claimtest.NoError(t, err)
				claimtest.NoError(t, activity.Get(t.Context(), nil))
				continue
			}
			run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: id, TaskQueue: taskQueue, WorkflowTaskTimeout: time.Second}, workflowName)
			claimtest.NoError(t, err)
			claimtest.NoError(t, run.Get(t.Context(), nil))
		}
		return len(s.given), 0
	}
}

// TestNames proves docs/names.md.
func TestNames(t *testing.T) {
	t.Parallel()
	one := func(ctx workflow.Context) error {
		return workflow.ExecuteActivity(regular(ctx), "stamp", "now").Get(ctx, nil)
	}
	claimtest.Names(t, "Temporal activities", map[string]claimtest.Proof{
		"workflow":    stamped(one, false, "a", "b"),
		"run":         stamped(one, false, "a", "a"),
		"activity id": stamped(func(ctx workflow.Context) error { return errors.Join(one(ctx), one(ctx)) }, false, "a"),
		"retry":       stamped(one, true, "a"),
	})
	claimtest.Names(t, "Temporal activities without a workflow", map[string]claimtest.Proof{
		"activity id": stamped(nil, false, "a", "b"),
		"run":         stamped(nil, false, "a", "a"),
		"retry":       stamped(nil, true, "a"),
	})
	oneLocal := func(ctx workflow.Context) error {
		return workflow.ExecuteLocalActivity(local(ctx, time.Millisecond), "stamp", "now").Get(ctx, nil)
	}
	claimtest.Names(t, "Temporal local activities", map[string]claimtest.Proof{
		"run":    stamped(oneLocal, false, "a", "a"),
		"number": stamped(func(ctx workflow.Context) error { return errors.Join(oneLocal(ctx), oneLocal(ctx)) }, false, "a"),
		"a regular activity": stamped(func(ctx workflow.Context) error { // the event of a regular one that comes first is the fifth
			err := one(ctx)
			for range 4 {
				err = errors.Join(err, workflow.ExecuteLocalActivity(local(ctx, time.Millisecond), "other").Get(ctx, nil))
			}
			return errors.Join(err, oneLocal(ctx))
		}, false, "a"),
		"retry": stamped(oneLocal, true, "a"),
		"retry after a timer": stamped(func(ctx workflow.Context) error {
			return workflow.ExecuteLocalActivity(local(ctx, 2*time.Second), "stamp", "now").Get(ctx, nil)
		}, true, "a"),
	})
	first := semel.Key{Scope: "alice create order", Name: "k"}
	claimtest.Names(t, "Temporal StartOnce", map[string]claimtest.Proof{
		"scope":         startBoth(semel.Key{Scope: "bob create order", Name: "k"}, 10, true),
		"name":          startBoth(semel.Key{Scope: first.Scope, Name: "l"}, 10, true),
		"still running": startBoth(first, 10, false),
		"ended":         startBoth(first, 10, true),
		"arguments":     startBoth(first, 99, true),
	})
}

// startBoth starts a workflow, and one for this key and amount, while the first one runs or after its end.
func startBoth(key semel.Key, amount int, ended bool) claimtest.Proof {
	return func(t *testing.T) (ran, refused int) {
		s := newServer(t)
		c := connect(t, s, s.GetFrontendHostPort())
		proceed, runs := make(chan struct{}), map[string]bool{}
		work(t, c, func(_ context.Context, amount int) (int, error) {
			<-proceed
			return amount, nil
		})
		if ended {
			close(proceed)
		}
		starter := semeltemporal.Starter{Client: c}
		for _, start := range []struct {
			key    semel.Key
			amount int
		}{{semel.Key{Scope: "alice create order", Name: "k"}, 10}, {key, amount}} {
			run, err := starter.StartOnce(t.Context(), start.key, client.StartWorkflowOptions{TaskQueue: taskQueue}, workflowName, start.amount)
			if errors.Is(err, semel.ErrMismatch) {
				refused++
				continue
			}
			claimtest.NoError(t, err)
			runs[run.GetRunID()] = true
			if ended {
				wantCharged(t, run, start.amount)
			}
		}
		if !ended {
			close(proceed)
		}
		return len(runs), refused
	}
}
