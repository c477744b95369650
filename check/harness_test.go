package check_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/semelhttp"
	"github.com/semel-dev/semel/store/memstore"
)

// serve starts a server on this machine, and returns its URL.
func serve(t *testing.T, handler http.Handler) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

// run makes a plan, carries it out, and expects it to send no more than it announced. Only the end of the context may
// end it early.
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

// having lists the selected checks with that verdict, in the order of the catalogue.
func having(report *check.Report, v check.Verdict) []string {
	var ids []string
	for i := range report.Results {
		if one := &report.Results[i]; one.Verdict == v && asked(one) {
			ids = append(ids, one.ID)
		}
	}
	return ids
}

// wantHaving compares the checks with that verdict.
func wantHaving(t *testing.T, report *check.Report, v check.Verdict, want []string) {
	t.Helper()
	if diff := cmp.Diff(want, having(report, v)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", v, diff)
		explain(t, report)
	}
}

// asked reports whether a check was selected.
func asked(one *check.Result) bool {
	for _, reason := range []string{"not among --only", "among --skip", "level "} {
		if one.Verdict == check.Skipped && strings.HasPrefix(one.Reason, reason) {
			return false
		}
	}
	return true
}

// explain logs the reasons of results that are not a plain pass.
func explain(t *testing.T, report *check.Report) {
	t.Helper()
	for i := range report.Results {
		if one := &report.Results[i]; one.Reason != "" && asked(one) {
			t.Logf("%s %s: %s", one.ID, one.Verdict, one.Reason)
		}
	}
}

// middleware returns Semel's over a store, or over a new one in memory.
func middleware(t *testing.T, store semel.Store, policy semel.Policy, scope func(*http.Request) string, o *semelhttp.Options) *semelhttp.Middleware {
	t.Helper()
	if store == nil {
		store = memstore.New(nil)
	}
	t.Cleanup(func() { _ = store.Close() })
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

// oneScope is the scope of services without callers.
func oneScope(*http.Request) string { return "all" }
