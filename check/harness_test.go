package check_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/semelhttp"
)

// serve answers at an address of this machine, and returns that.
func serve(t *testing.T, handler http.Handler) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

// run makes a plan, carries it out, and wants it to send no more than it
// announced. It may end early with the context alone.
func run(ctx context.Context, t *testing.T, config check.Config) *check.Report {
	t.Helper()
	if config.Settle == 0 {
		config.Settle = 200 * time.Millisecond
	}
	plan, err := check.NewPlan(config)
	if err != nil {
		t.Fatal(err)
	}
	report, err := plan.Run(ctx)
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if report.Sent > report.Announced || report.Died != "" {
		t.Errorf("sent %d of %d requests, died: %q", report.Sent, report.Announced, report.Died)
	}
	for i := range report.Results {
		if one := &report.Results[i]; strings.Contains(one.Reason, "announced") {
			t.Errorf("%s: %s", one.ID, one.Reason)
		}
	}
	return report
}

// having lists the checks with that verdict, as far as they were asked for, in
// the order of the catalogue.
func having(report *check.Report, v check.Verdict) []string {
	var ids []string
	for i := range report.Results {
		if one := &report.Results[i]; one.Verdict == v && asked(one) {
			ids = append(ids, one.ID)
		}
	}
	return ids
}

// asked reports whether a result is of a check that was to run.
func asked(one *check.Result) bool {
	for _, reason := range []string{"not among --only", "among --skip", "level "} {
		if one.Verdict == check.Skipped && strings.HasPrefix(one.Reason, reason) {
			return false
		}
	}
	return true
}

// explain logs what a report says of results that are no plain pass.
func explain(t *testing.T, report *check.Report) {
	t.Helper()
	for i := range report.Results {
		if one := &report.Results[i]; one.Reason != "" && asked(one) {
			t.Logf("%s %s: %s", one.ID, one.Verdict, one.Reason)
		}
	}
}

// middleware is Semel's over a store.
func middleware(t *testing.T, store semel.Store, policy semel.Policy, scope func(*http.Request) string, o *semelhttp.Options) *semelhttp.Middleware {
	t.Helper()
	guard, err := semel.New(store, &semel.Options{Policy: policy})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = guard.Close() })
	door, err := semelhttp.New(guard, semelhttp.ScopeBy(scope), o)
	if err != nil {
		t.Fatal(err)
	}
	return door
}

// anybody is the scope of services that know no callers.
func anybody(*http.Request) string { return "anybody" }
