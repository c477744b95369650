package semeltemporal_test

import (
	"cmp"
	"context"
	"testing"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"github.com/semel-dev/semel"
	semeltemporal "github.com/semel-dev/semel/adapters/temporal"
	"github.com/semel-dev/semel/internal/claimtest"
)

// TestNames: a local activity has a name of its own in its run. With the option of docs/upgrade.md it has the name that a regular one with its
// number has, which was that of both.
func TestNames(t *testing.T) {
	t.Parallel()
	first := func(i activity.Info) string {
		return i.WorkflowExecution.ID + "/" + cmp.Or(i.WorkflowExecution.RunID, i.ActivityRunID) + "/" + i.ActivityID
	}
	for name, c := range map[string]struct {
		o     semeltemporal.Options
		local bool
		mark  string
	}{
		"regular":                    {semeltemporal.Options{}, false, ""},
		"local":                      {semeltemporal.Options{}, true, ":local"},
		"local, with the first name": {semeltemporal.Options{Key: first}, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, c.o)
			activities, err := semeltemporal.New(b.guard, &b.o)
			claimtest.NoError(t, err)
			var suite testsuite.WorkflowTestSuite
			env := suite.NewTestActivityEnvironment()
			env.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{activities}})
			charge := func(ctx context.Context) error {
				i := activity.GetInfo(ctx)
				name := i.WorkflowExecution.ID + "/" + i.WorkflowExecution.RunID + c.mark + "/" + i.ActivityID
				want := b.guard.Digest(semel.Key{Scope: "semel:temporal:" + i.Namespace + ":" + i.ActivityType.Name, Name: name})
				if got := semel.ClaimFrom(ctx).Digest(); got != want || i.IsLocalActivity != c.local {
					t.Errorf("got %s (local: %t), want the digest of %s", got, i.IsLocalActivity, name)
				}
				if key := semeltemporal.KeyFor(ctx); len(key) != 64 {
					t.Errorf("got the key %q for services", key)
				}
				return nil
			}
			env.RegisterActivityWithOptions(charge, activity.RegisterOptions{Name: "charge"})
			if c.local {
				_, err = env.ExecuteLocalActivity(charge)
			} else {
				_, err = env.ExecuteActivity("charge")
			}
			claimtest.NoError(t, err)
		})
	}
}
