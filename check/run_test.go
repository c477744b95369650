package check_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/semelhttp"
	"github.com/semel-dev/semel/store/memstore"
)

// counter is an application that does something at every POST.
type counter struct{ effects atomic.Int64 }

func (c *counter) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	n := c.effects.Add(1)
	w.Header().Set("Location", fmt.Sprintf("/things/%d", n))
	w.WriteHeader(http.StatusCreated)
	_, _ = fmt.Fprintf(w, `{"id":%d}`, n)
}

// Name, PerIntent and Count make it an oracle, too.
func (c *counter) Name() string    { return "the counter" }
func (c *counter) PerIntent() bool { return false }
func (c *counter) Count(context.Context, func(string) string) (int64, error) {
	return c.effects.Load(), nil
}

func verdicts(report *check.Report) map[string]check.Verdict {
	got := map[string]check.Verdict{}
	for i := range report.Results {
		got[report.Results[i].ID] = report.Results[i].Verdict
	}
	return got
}

func runOn(t *testing.T, app *counter, handler http.Handler) *check.Report {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	profile, _ := check.ProfileNamed("ietf")
	plan, err := check.NewPlan(check.Config{
		Template: check.Template{Method: "POST", URL: server.URL + "/things", Body: []byte(`{"n":{{n}}}`)},
		Profile:  profile, Oracles: []check.Oracle{app}, Only: []string{"BASIC-01", "BASIC-02"},
	})
	if err != nil {
		t.Fatal(err)
	}
	report, err := plan.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func TestRunTellsProtectedFromUnprotected(t *testing.T) {
	t.Parallel()
	naive, app := &counter{}, &counter{}
	store := memstore.New(nil)
	t.Cleanup(func() { _ = store.Close() })
	guard, err := semel.New(store, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = guard.Close() })
	door, err := semelhttp.New(guard, func(*http.Request) (string, error) { return semel.ScopeGlobal, nil }, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := verdicts(runOn(t, naive, naive))
	if got["BASIC-01"] != check.Pass || got["BASIC-02"] != check.Fail {
		t.Errorf("unprotected: %v", got)
	}
	got = verdicts(runOn(t, app, door.Handler(app)))
	if diff := cmp.Diff(check.Pass, got["BASIC-02"]); diff != "" {
		t.Errorf("protected: %v", got)
	}
}

// TestRunWithoutOracle: who cannot tell does not pass, and what must hold and was
// not judged is not fine.
func TestRunWithoutOracle(t *testing.T) {
	t.Parallel()
	app := &counter{}
	server := httptest.NewServer(app)
	t.Cleanup(server.Close)
	profile, _ := check.ProfileNamed("ietf")
	plan, err := check.NewPlan(check.Config{
		Template: check.Template{Method: "POST", URL: server.URL + "/things", Body: []byte(`{"n":{{n}}}`)},
		Profile:  profile, Only: []string{"BASIC-02"},
	})
	if err != nil {
		t.Fatal(err)
	}
	report, err := plan.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := verdicts(report)["BASIC-02"]; got != check.Incomplete || report.Fine() {
		t.Errorf("got %s, fine %v; nobody counted", got, report.Fine())
	}
}

// TestRunWaitsOut429: a service that asks for patience is asked again, within what
// was announced, and the report says so, once.
func TestRunWaitsOut429(t *testing.T) {
	t.Parallel()
	app := &counter{}
	var asked atomic.Int64
	report := runOn(t, app, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n := asked.Add(1); n == 1 || n == 3 {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		app.ServeHTTP(w, r)
	}))
	if got := verdicts(report); got["BASIC-01"] != check.Pass || got["BASIC-02"] != check.Fail {
		t.Errorf("got %v", got)
	}
	if len(report.Notes) != 1 || !strings.Contains(report.Notes[0], "429") {
		t.Errorf("notes: %q", report.Notes)
	}
	if report.Sent != int(asked.Load()) || report.Sent > report.Announced {
		t.Errorf("sent %d of %d, and the service was asked %d times", report.Sent, report.Announced, asked.Load())
	}
}
