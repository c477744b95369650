package check_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/semelhttp"
)

// short is a retention that a test can wait for, and that a busy machine still meets.
const short = 2 * time.Second

// forgetful remembers answers for a while; the test chooses how it answers a key that it has forgotten.
func forgetful(app http.Handler, remembers time.Duration, later func(w http.ResponseWriter, r *http.Request, old kept)) http.Handler {
	type aged struct {
		kept

		at time.Time
	}
	var mu sync.Mutex
	known := map[string]aged{}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		key := r.Header.Get("Idempotency-Key")
		old, ok := known[key]
		switch {
		case !ok:
			got := record(app, r)
			known[key] = aged{got, time.Now()}
			got.write(w)
		case time.Since(old.at) < remembers:
			old.write(w)
		default:
			later(w, r, old.kept)
		}
	})
}

func TestExpiry(t *testing.T) {
	t.Parallel()
	app := func() *booth { return &booth{open: true} }
	refuses := func(status int) func(http.ResponseWriter, *http.Request, kept) {
		return func(w http.ResponseWriter, _ *http.Request, _ kept) { w.WriteHeader(status) }
	}
	for name, test := range map[string]struct {
		app  *booth
		door func(t *testing.T, app *booth) http.Handler
		want [2]check.Verdict
	}{
		"business values": {&booth{open: true, unique: true}, func(t *testing.T, app *booth) http.Handler {
			t.Helper()
			return behind(t, nil, app, semel.Policy{Retention: short}, &semelhttp.Options{})
		}, [2]check.Verdict{check.Pass, check.Pass}},
		"refuses": {app(), func(_ *testing.T, app *booth) http.Handler {
			return forgetful(app, short, refuses(http.StatusGone))
		}, [2]check.Verdict{check.Pass, check.Pass}},
		"a defect": {app(), func(_ *testing.T, app *booth) http.Handler {
			return forgetful(app, short, refuses(http.StatusInternalServerError))
		}, [2]check.Verdict{check.Pass, check.Fail}},
		"refused, new effect": {app(), func(_ *testing.T, app *booth) http.Handler {
			return forgetful(app, short, func(w http.ResponseWriter, r *http.Request, _ kept) {
				record(app, r)
				w.WriteHeader(http.StatusGone)
			})
		}, [2]check.Verdict{check.Pass, check.Fail}},
		"for ever": {app(), func(_ *testing.T, app *booth) http.Handler {
			return forgetful(app, time.Hour, nil)
		}, [2]check.Verdict{check.Pass, check.Incomplete}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report := visit(t, test.app, test.door(t, test.app), func(c *check.Config) {
				c.Only, c.Retention = []string{"expiry"}, short
				plan, err := check.NewPlan(*c)
				if want := short/2 + short + short/4; err != nil || plan.Waits != want {
					t.Errorf("the plan says that it waits %s, %v, want %s", plan.Waits, err, want)
				}
			})
			judged(t, report, map[string]check.Verdict{"EXP-01": test.want[0], "EXP-02": test.want[1]})
		})
	}
}

func TestExpiryNeedsARetention(t *testing.T) {
	t.Parallel()
	app := &booth{open: true}
	report := visit(t, app, app, func(c *check.Config) { c.Only = []string{"expiry", "BASIC-01"} })
	judged(t, report, map[string]check.Verdict{"EXP-01": check.Skipped, "EXP-02": check.Skipped})
}

// TestNothingElseWaitsForExpiry runs against a service that soon forgets keys: an intent that is executed anew after
// that has not had a second effect.
func TestNothingElseWaitsForExpiry(t *testing.T) {
	t.Parallel()
	app := &booth{open: true}
	report := visit(t, app, behind(t, nil, app, semel.Policy{Retention: short}, &semelhttp.Options{}), func(c *check.Config) {
		c.Only, c.Retention, c.Settle = []string{"LOST-07", "OP-01"}, short, 2*short
		c.Restart = func(ctx context.Context) error {
			select {
			case <-time.After(2 * short):
			case <-ctx.Done():
			}
			return ctx.Err()
		}
	})
	passes(t, report, "LOST-07")
	if got := resultOf(t, report, "OP-01"); got.Verdict != check.Incomplete || !strings.Contains(got.Reason, "make that longer") {
		t.Errorf("OP-01: %s, %s", got.Verdict, got.Reason)
	}
}
