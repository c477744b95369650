package check_test

import (
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/check/internal/observe"
	"github.com/semel-dev/semel/check/wire"
	"github.com/semel-dev/semel/semelhttp"
)

// paying returns an application that calls its bank, before or after it sells.
func paying(t *testing.T, app http.Handler, sellsFirst bool) (http.Handler, *observe.Observer) {
	t.Helper()
	bank, err := observe.Open(t.Context(), "127.0.0.1:0", "")
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	t.Cleanup(func() { _ = bank.Close() })
	pays := func(r *http.Request) bool {
		call, err := http.NewRequestWithContext(r.Context(), http.MethodPost, "http://"+bank.Address()+"/pay", http.NoBody)
		if err != nil {
			return false
		}
		answer, err := client.Do(call)
		if err != nil {
			return false
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
		return answer.StatusCode == http.StatusCreated
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var sold *kept
		if sellsFirst {
			answer := record(app, r)
			sold = &answer
		}
		switch {
		case !pays(r):
			http.Error(w, "the bank is away", http.StatusServiceUnavailable)
		case sold != nil:
			sold.write(w)
		default:
			app.ServeHTTP(w, r)
		}
	}), bank
}

// clumsy fails requests that ask for it, before or after the application: each time, or the first time for each body.
type clumsy struct {
	app   http.Handler
	after bool
	once  bool

	mu     sync.Mutex // guards the field below
	failed map[string]bool
}

func (c *clumsy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("X-Fail") == "" || !c.fails(r) {
		c.app.ServeHTTP(w, r)
		return
	}
	if c.after {
		record(c.app, r)
	}
	http.Error(w, "oh no", http.StatusInternalServerError)
}

func (c *clumsy) fails(r *http.Request) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed == nil {
		c.failed = map[string]bool{}
	}
	had := c.failed[r.URL.Query().Get("seat")]
	c.failed[r.URL.Query().Get("seat")] = true
	return !c.once || !had
}

// burnt claims a key for ever, and then executes; later requests get the answer of a success, of a defect, or of a
// claim.
func burnt(app http.Handler, again int) http.Handler {
	var mu sync.Mutex
	done := map[string]*kept{}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		key := r.Header.Get("Idempotency-Key")
		switch answer, known := done[key]; {
		case !known:
			got := record(app, r)
			done[key] = &got
			got.write(w)
		case answer.status < 400:
			answer.write(w)
		default:
			w.WriteHeader(again)
		}
	})
}

// TestFailingDependency: a dependency that fails once shows which services lose an intent or execute it twice.
func TestFailingDependency(t *testing.T) {
	t.Parallel()
	on := func(policy semel.Policy, o semelhttp.Options) func(*testing.T, http.Handler) http.Handler {
		return func(t *testing.T, app http.Handler) http.Handler {
			t.Helper()
			return behind(t, nil, app, policy, &o)
		}
	}
	again := func(status int) func(*testing.T, http.Handler) http.Handler {
		return func(_ *testing.T, app http.Handler) http.Handler { return burnt(app, status) }
	}
	type verdict = check.Verdict
	for name, test := range map[string]struct {
		door       func(*testing.T, http.Handler) http.Handler
		sellsFirst bool
		profile    string
		err04      verdict
		err06      verdict
	}{
		"released":                  {on(semel.Policy{}, semelhttp.Options{}), false, "ietf", check.Pass, check.Pass},
		"stored":                    {on(semel.Policy{}, semelhttp.Options{On5xx: semelhttp.StoreOn5xx}), false, "ietf", check.Pass, check.Fail},
		"stored, sold":              {on(semel.Policy{}, semelhttp.Options{On5xx: semelhttp.StoreOn5xx}), true, "ietf", check.Pass, check.Fail},
		"stored, as vendors do":     {on(semel.Policy{}, semelhttp.Options{On5xx: semelhttp.StoreOn5xx}), true, "stripe", check.Pass, check.Skipped},
		"unknown":                   {on(semel.Policy{}, semelhttp.Options{On5xx: semelhttp.UnknownOn5xx}), true, "ietf", check.Pass, check.Fail},
		"dedup":                     {on(semel.Policy{Dedup: true}, semelhttp.Options{}), false, "dedup", check.Pass, check.Pass},
		"dedup, unknown":            {on(semel.Policy{Dedup: true}, semelhttp.Options{On5xx: semelhttp.UnknownOn5xx}), false, "dedup", check.Pass, check.Fail},
		"released, sold":            {on(semel.Policy{}, semelhttp.Options{}), true, "ietf", check.Fail, check.Pass},
		"success without effect":    {again(http.StatusOK), false, "ietf", check.Fail, check.Pass},
		"a defect for ever":         {again(http.StatusInternalServerError), false, "ietf", check.Fail, check.Fail},
		"claimed for ever":          {again(http.StatusConflict), false, "ietf", check.Incomplete, check.Incomplete},
		"a duplicate of nothing":    {again(http.StatusConflict), false, "dedup", check.Fail, check.Fail},
		"no call to the dependency": {nil, false, "ietf", check.Skipped, check.Skipped},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := &booth{open: true}
			handler, bank := paying(t, app, test.sellsFirst)
			if test.door == nil {
				handler = app
			} else {
				handler = test.door(t, handler)
			}
			report := visit(t, app, handler, func(c *check.Config) {
				c.Profile, _ = check.ProfileNamed(test.profile)
				c.Only, c.Observed, c.Timeout = []string{"ERR-03", "ERR-04", "ERR-06"}, bank, 500*time.Millisecond
			})
			judged(t, report, map[string]verdict{"ERR-03": check.Skipped, "ERR-04": test.err04, "ERR-06": test.err06})
		})
	}
}

// TestFailingRequest: a failed request may be executed later, or fail again, but not both.
func TestFailingRequest(t *testing.T) {
	t.Parallel()
	stored := &semelhttp.Options{On5xx: semelhttp.StoreOn5xx}
	for name, test := range map[string]struct {
		after, once bool
		options     *semelhttp.Options
		burnt       bool
		want        [2]check.Verdict // ERR-03, ERR-06
	}{
		"always, nothing happened": {false, false, nil, false, [2]check.Verdict{check.Pass, check.Skipped}},
		"once, nothing happened":   {false, true, nil, false, [2]check.Verdict{check.Pass, check.Pass}},
		"always, executed":         {true, false, nil, false, [2]check.Verdict{check.Fail, check.Skipped}},
		"once, executed":           {true, true, nil, false, [2]check.Verdict{check.Fail, check.Pass}},
		"executed and stored":      {true, true, stored, false, [2]check.Verdict{check.Pass, check.Fail}},
		"success without effect":   {false, true, nil, true, [2]check.Verdict{check.Fail, check.Pass}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := &booth{open: true}
			var handler http.Handler = &clumsy{app: app, after: test.after, once: test.once}
			if test.burnt {
				handler = burnt(handler, http.StatusOK)
			} else {
				handler = behind(t, nil, handler, semel.Policy{}, test.options)
			}
			report := visit(t, app, handler, func(c *check.Config) {
				failing := c.Template
				failing.URL += "?seat={{n}}"
				failing.Header = append(failing.Header, wire.Field{Name: "X-Fail", Value: "yes"})
				c.Only, c.Failing = []string{"ERR-03", "ERR-04", "ERR-06"}, &failing
			})
			judged(t, report, map[string]check.Verdict{"ERR-03": test.want[0], "ERR-04": check.Skipped, "ERR-06": test.want[1]})
		})
	}
}

// TestFailingRequestThatSucceeds: a request that should fail and does not shows nothing.
func TestFailingRequestThatSucceeds(t *testing.T) {
	t.Parallel()
	app := &booth{open: true}
	report := visit(t, app, app, func(c *check.Config) {
		fine := c.Template
		c.Only, c.Failing = []string{"ERR-03", "ERR-06"}, &fine
	})
	judged(t, report, map[string]check.Verdict{"ERR-03": check.Incomplete, "ERR-06": check.Incomplete})
}

// judged compares the verdicts of the checks that are named.
func judged(t *testing.T, report *check.Report, want map[string]check.Verdict) {
	t.Helper()
	got := map[string]check.Verdict{}
	for i := range report.Results {
		if r := &report.Results[i]; want[r.ID] != "" {
			got[r.ID] = r.Verdict
			t.Logf("%s %s: %s", r.ID, r.Verdict, r.Reason)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("verdicts (-want +got):\n%s", diff)
	}
}
