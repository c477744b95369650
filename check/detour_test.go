package check_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/check"
)

// TestNothingIsCarriedOut: if plain requests are answered as if they succeeded, but are not executed, the run ends
// after them and says what the answer is.
func TestNothingIsCarriedOut(t *testing.T) {
	t.Parallel()
	redirect := func(status int, to string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", to)
			w.WriteHeader(status)
		}
	}
	page := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = io.WriteString(w, text)
		}
	}
	signIn := "page to sign in"
	for name, one := range map[string]struct {
		answer  http.HandlerFunc
		says    string
		counted bool // only a count can tell
	}{
		"sign-in by 302":        {redirect(302, "/login?next=%2Forders"), signIn, false},
		"sign-in by 303":        {redirect(303, "/users/sign_in"), signIn, false},
		"sign-in elsewhere":     {redirect(307, "https://id.example/oauth2/authorize?client_id=1"), signIn, false},
		"sign-in page":          {page(`<form method=post><input name=user><input type=password name=pass><button>Go</button></form>`), signIn, false},
		"loop":                  {redirect(307, "/orders"), "leads to itself", false},
		"moved":                 {redirect(308, "/v2/orders"), "sends the request on to", false},
		"https only":            {redirect(301, "https://127.0.0.1/orders"), "sends the request on to https://127.0.0.1/orders", false},
		"maintenance":           {page("<h1>We are back soon</h1>"), "no effect instead of 2", true},
		"welcomes and discards": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) }, "no effect instead of 2", true},
	} {
		for _, counted := range []bool{false, true} {
			if one.counted && !counted {
				continue
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				g := &gate{answer: func(_ int64, w http.ResponseWriter, r *http.Request) bool {
					one.answer(w, r)
					return true
				}}
				var counters []check.Counter
				if counted {
					counters = append(counters, counting(func() (int64, error) { return 0, nil }))
				}
				config := trial(t, g, counters...)
				config.Only = nil
				_, report := runTrial(t, config)
				if diff := cmp.Diff([]string{"BASIC-01"}, failures(report)); diff != "" || report.Count(check.Pass) > 0 || g.seen.Load() != 2 {
					t.Errorf("%d passed, %d requests: %s", report.Count(check.Pass), g.seen.Load(), diff)
				}
				if got := resultOf(t, report, "BASIC-01").Reason; !strings.Contains(got, one.says) {
					t.Errorf("got the reason %q, want %q in it", got, one.says)
				}
			})
		}
	}
}

// TestRedirectAfterSuccess: a redirect that follows an effect is an answer like any other, wherever it leads.
func TestRedirectAfterSuccess(t *testing.T) {
	t.Parallel()
	for _, to := range []string{"/login?next=%2Forders", "/orders", "https://127.0.0.1/orders"} {
		d := newDesk()
		d.app = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			d.taken.Add(1)
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusSeeOther)
		})
		config := trial(t, d, d)
		config.Only = []string{"BASIC-01", "BASIC-02", "BASIC-03"}
		expectBad(t, config)
	}
}
