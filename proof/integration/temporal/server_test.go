// Package temporal_test tries adapters/temporal with a real Temporal server in the process. It is a module of its own, which only make test-long
// compiles, because the first build of the server takes minutes.
package temporal_test

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"go.temporal.io/server/temporaltest"

	"github.com/semel-dev/semel"
	semeltemporal "github.com/semel-dev/semel/adapters/temporal"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/store/sqlitestore"
	"github.com/semel-dev/semel/store/storetest"
)

const (
	taskQueue    = "orders"
	workflowName = "order"
	activityName = "charge"
)

func newServer(t *testing.T) *temporaltest.TestServer {
	t.Helper()
	s := temporaltest.NewServer()
	t.Cleanup(s.Stop)
	return s
}

func dial(address, namespace string) (client.Client, error) {
	quiet := log.NewStructuredLogger(slog.New(slog.NewTextHandler(io.Discard, nil)))
	return client.Dial(client.Options{HostPort: address, Namespace: namespace, Logger: quiet})
}

func connect(t *testing.T, s *temporaltest.TestServer, address string) client.Client {
	t.Helper()
	c, err := dial(address, s.GetDefaultNamespace())
	claimtest.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// order is a workflow that charges. Its activity has a second for an attempt.
func order(ctx workflow.Context, amount int) (charged int, err error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: time.Second, RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Millisecond, BackoffCoefficient: 1},
	})
	err = workflow.ExecuteActivity(ctx, activityName, amount).Get(ctx, &charged)
	return charged, err
}

// charge is the activity.
type charge func(ctx context.Context, amount int) (int, error)

func newWorker(c client.Client, fn charge, interceptors ...interceptor.WorkerInterceptor) (worker.Worker, error) {
	w := worker.New(c, taskQueue, worker.Options{Interceptors: interceptors})
	w.RegisterWorkflowWithOptions(order, workflow.RegisterOptions{Name: workflowName})
	w.RegisterActivityWithOptions(fn, activity.RegisterOptions{Name: activityName})
	return w, w.Start()
}

func work(t *testing.T, c client.Client, fn charge, interceptors ...interceptor.WorkerInterceptor) worker.Worker {
	t.Helper()
	w, err := newWorker(c, fn, interceptors...)
	claimtest.NoError(t, err)
	t.Cleanup(w.Stop)
	return w
}

func start(t *testing.T, c client.Client, amount int) client.WorkflowRun {
	t.Helper()
	run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{TaskQueue: taskQueue}, workflowName, amount)
	claimtest.NoError(t, err)
	return run
}

func wantCharged(t *testing.T, run client.WorkflowRun, want int) {
	t.Helper()
	var got int
	if err := run.Get(t.Context(), &got); err != nil || got != want {
		t.Errorf("the workflow got %d, %v, want %d", got, err, want)
	}
}

// lease is short, so that a crash is found soon.
const lease = 2 * time.Second

// openGuard opens the store that the workers of a test share.
func openGuard(ctx context.Context, folder string) (*semel.Guard, *sqlitestore.Store, error) {
	store, err := sqlitestore.Open(ctx, filepath.Join(folder, "semel.db"), nil)
	if err != nil {
		return nil, nil, err
	}
	guard, err := semel.New(store, nil)
	return guard, store, err
}

// protect returns the interceptor over the store in the folder.
func protect(t *testing.T, folder string, o semeltemporal.Options) *semeltemporal.Activities {
	t.Helper()
	guard, store, err := openGuard(t.Context(), folder)
	claimtest.NoError(t, err)
	claimtest.Closes(t, store)
	claimtest.Closes(t, guard)
	o.Policy.Lease = lease
	activities, err := semeltemporal.New(guard, &o)
	claimtest.NoError(t, err)
	return activities
}

// attempts reports each attempt of an activity to a channel, before it is protected.
type attempts struct {
	interceptor.WorkerInterceptorBase

	began chan struct{}
}

// InterceptActivity implements interceptor.WorkerInterceptor.
func (a *attempts) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return &reported{ActivityInboundInterceptorBase: interceptor.ActivityInboundInterceptorBase{Next: next}, began: a.began}
}

type reported struct {
	interceptor.ActivityInboundInterceptorBase

	began chan struct{}
}

// ExecuteActivity implements interceptor.ActivityInboundInterceptor.
func (r *reported) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	select {
	case r.began <- struct{}{}:
	default:
	}
	return r.Next.ExecuteActivity(ctx, in)
}

func TestMain(m *testing.M) {
	storetest.Children(map[string]func(context.Context, []string) error{"storm": stormWorker})
	if folder := os.Getenv(victimFolder); folder != "" {
		os.Exit(victim(folder))
	}
	os.Exit(m.Run())
}
