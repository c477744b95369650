package gutcheck_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/check/internal/gutcheck"
	"github.com/semel-dev/semel/examples/invoices"
	"github.com/semel-dev/semel/examples/invoices/protected"
	"github.com/semel-dev/semel/internal/testserver"
)

// counted counts the rows of an application. It is a check.Counter.
type counted func(ctx context.Context) (int64, error)

func (counted) Name() string    { return "rows" }
func (counted) PerIntent() bool { return false }

func (c counted) Count(ctx context.Context, _ func(string) string) (int64, error) { return c(ctx) }

// serve serves an application until the test ends.
func serve(t *testing.T, handler http.Handler) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

// verdicts tries a page, and returns the verdict of each way. In the short form it goes some ways only.
func verdicts(t *testing.T, c *gutcheck.Config, short ...string) map[string]gutcheck.Verdict {
	t.Helper()
	c.Timeout, c.Settle, c.Patience, c.Browser = 30*time.Second, 10*time.Second, 30*time.Second, testserver.Chromium(t)
	if os.Getenv("SEMEL_LONG") == "" {
		c.Only = short
	}
	report, err := gutcheck.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]gutcheck.Verdict{}
	for _, one := range report.Results {
		name := one.Way
		if !one.Scripts {
			name += ", no scripts"
		}
		found[name] = one.Verdict
		t.Logf("%s: %d sent, %d effects, %s %s", name, one.Sent, one.Effects, one.Verdict, one.Reason)
	}
	return found
}

// want leaves out ways that the short form did not go.
func want(found, all map[string]gutcheck.Verdict) string {
	for name := range all {
		if _, tried := found[name]; !tried && os.Getenv("SEMEL_LONG") == "" {
			delete(all, name)
		}
	}
	return cmp.Diff(found, all)
}

// TestUnprotectedInvoices: as on the left side of the demo. Each of these makes a second invoice.
func TestUnprotectedInvoices(t *testing.T) {
	t.Parallel()
	app, err := invoices.Open("", &invoices.Options{Latency: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = app.Close() })
	found := verdicts(t, &gutcheck.Config{URL: serve(t, app.Handler()) + "/invoices/new", Counters: counters(func(ctx context.Context) (int64, error) {
		counts, err := app.Counts(ctx)
		return int64(counts.Invoices), err
	})}, "a double click")
	if diff := want(found, map[string]gutcheck.Verdict{
		"a click": gutcheck.Once, "a click, no scripts": gutcheck.Once,
		"a double click": gutcheck.Twice, "a double click, no scripts": gutcheck.Twice,
		"Enter, then a click": gutcheck.Twice, "Enter, then a click, no scripts": gutcheck.Twice,
		"a reload while it is sent, and again": gutcheck.Twice, "a reload while it is sent, and again, no scripts": gutcheck.Another,
		"the address anew while it is sent": gutcheck.Twice, "the address anew while it is sent, no scripts": gutcheck.Another,
		"the answer is lost, and again": gutcheck.Twice, "the answer is lost, and again, no scripts": gutcheck.Twice,
		"the answer is lost, and reload": gutcheck.Twice, "the answer is lost, and reload, no scripts": gutcheck.Twice,
		"Back after the answer, and again": gutcheck.Twice, "Back after the answer, and again, no scripts": gutcheck.Twice,
		"a second tab while it is sent": gutcheck.Another, "a second tab while it is sent, no scripts": gutcheck.Another,
	}); diff != "" {
		t.Errorf("verdicts (-got +want):\n%s", diff)
	}
}

// TestProtectedInvoices: the person gets one invoice, unless it may be another wish.
func TestProtectedInvoices(t *testing.T) {
	t.Parallel()
	app, err := protected.Open("", &protected.Options{Guard: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = app.Close() })
	found := verdicts(t, &gutcheck.Config{URL: serve(t, app.Handler()) + "/invoices/new", Counters: counters(func(ctx context.Context) (int64, error) {
		counts, err := app.Counts(ctx)
		return int64(counts.Invoices), err
	})}, "a double click", "the address anew while it is sent")
	if diff := want(found, map[string]gutcheck.Verdict{
		"a click": gutcheck.Once, "a click, no scripts": gutcheck.Once,
		"a double click": gutcheck.Once, "a double click, no scripts": gutcheck.Once,
		"Enter, then a click": gutcheck.Once, "Enter, then a click, no scripts": gutcheck.Once,
		"a reload while it is sent, and again": gutcheck.Once, "a reload while it is sent, and again, no scripts": gutcheck.Another,
		"the address anew while it is sent": gutcheck.Once, "the address anew while it is sent, no scripts": gutcheck.Another,
		"the answer is lost, and again": gutcheck.Once, "the answer is lost, and again, no scripts": gutcheck.Once,
		"the answer is lost, and reload": gutcheck.Once, "the answer is lost, and reload, no scripts": gutcheck.Once,
		"Back after the answer, and again": gutcheck.Once, "Back after the answer, and again, no scripts": gutcheck.Once,
		"a second tab while it is sent": gutcheck.Another, "a second tab while it is sent, no scripts": gutcheck.Another,
	}); diff != "" {
		t.Errorf("verdicts (-got +want):\n%s", diff)
	}
}
