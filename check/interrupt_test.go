package check_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/check"
)

// TestInterruptedRunIsReported: an interrupted run reports what it found, and passes no check that it did not run.
func TestInterruptedRunIsReported(t *testing.T) {
	t.Parallel()
	app := &counter{}
	url := serve(t, app)
	profile, _ := check.ProfileNamed("ietf")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	plan, err := check.NewPlan(check.Config{
		Template: check.Template{Method: "POST", URL: url + "/things"}, Profile: profile,
		Counters: []check.Counter{app}, Only: []string{"BASIC-01", "BASIC-02"},
		Progress: func(_, _ int, id string) {
			if id == "BASIC-02" {
				cancel()
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	report, err := plan.Run(ctx)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	got := verdicts(report)
	want := map[string]check.Verdict{"BASIC-01": check.Pass, "BASIC-02": check.Incomplete}
	for id, verdict := range want {
		if diff := cmp.Diff(verdict, got[id]); diff != "" {
			t.Errorf("%s: %s", id, diff)
		}
	}
	if report.Fine() {
		t.Error("an interrupted run is fine")
	}
	cancelled, cancelNow := context.WithCancel(t.Context())
	cancelNow()
	report, err = plan.Run(cancelled)
	if got := verdicts(report); !errors.Is(err, context.Canceled) || got["BASIC-01"] != check.Incomplete || got["BASIC-02"] != check.Incomplete {
		t.Errorf("got %v, %v", got, err)
	}
}
