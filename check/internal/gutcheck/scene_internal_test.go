package gutcheck

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/semel-dev/semel/internal/must"
)

// TestBeaconsStay: what does not count goes to no other host either, and takes nothing from the budget.
func TestBeaconsStay(t *testing.T) {
	t.Parallel()
	s := &scene{run: &run{config: &Config{}, host: "shop"}, begun: true}
	beacon := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/seen", nil)
	beacon.Header.Set("Sec-Fetch-Mode", "no-cors")
	report := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/seen", nil)
	report.Header.Set("Sec-Fetch-Dest", "report")
	for name, r := range map[string]*http.Request{"beacon": beacon, "report": report, "guard": httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/.well-known/x", nil)} {
		if _, ok := s.Leaves(r, "elsewhere"); ok { //nolint:bodyclose // it returns no answer.
			t.Errorf("%s: it left for another host", name)
		}
		if returns, ok := s.Leaves(r, "shop"); !ok || returns != nil || s.run.budget != 0 { //nolint:bodyclose // it returns no answer.
			t.Errorf("%s: it counts", name)
		}
	}
}

// TestBudgetSpent: a way whose second request was stopped tells nothing, unless there were two effects before.
func TestBudgetSpent(t *testing.T) {
	t.Parallel()
	s := &scene{run: &run{config: &Config{}, host: "shop", budget: 1}, begun: true}
	for i, want := range []bool{true, false} {
		if _, ok := s.Leaves(httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/orders", nil), "shop"); ok != want { //nolint:bodyclose // it returns no answer.
			t.Errorf("request %d leaves: %v", i, ok)
		}
	}
	for effects, want := range map[int64]Verdict{-1: Unjudged, 0: Unjudged, 1: Unjudged, 2: Twice} {
		result := Result{Effects: effects}
		if s.judge(&result, &way{}, &noWayError{"the page stays"}); effects < 2 && result.Verdict != want {
			t.Errorf("%d effects: %s, not %s", effects, result.Verdict, want)
		}
		if s.judge(&result, &way{}, nil); result.Verdict != want {
			t.Errorf("%d effects: %s, not %s", effects, result.Verdict, want)
		}
	}
}

// TestHostOf: the host that browsers send for an address.
func TestHostOf(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"http://LOCALHOST:9000/x": "localhost:9000", "http://a:80": "a", "https://A.example:443/": "a.example", "https://a:80": "a:80", "http://[::1]:80": "[::1]",
	} {
		if got := hostOf(must.Get(url.Parse(address))); got != want {
			t.Errorf("%s: %q, want %q", address, got, want)
		}
	}
}
