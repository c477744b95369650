package check_test

import (
	"net/http"
	"testing"

	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/check/wire"
)

func onlyRefusals(c *check.Config) { c.Only = []string{"ERR-01", "ERR-02", "ERR-05"} }

func TestRefusalsAreSkippedWhereNothingIsInvalid(t *testing.T) {
	t.Parallel()
	t.Run("without a body", func(t *testing.T) {
		t.Parallel()
		app := &booth{}
		plan, err := check.NewPlan(check.Config{
			Template: check.Template{Method: "POST", URL: "http://127.0.0.1:1/"}, Profile: check.Profiles()[0],
			Counters: []check.Counter{app}, Only: []string{"ERR-01", "ERR-05"},
		})
		if err != nil || len(plan.Checks) != 1 {
			t.Errorf("%d checks, %v", len(plan.Checks), err)
		}
	})
	t.Run("nothing is invalid", func(t *testing.T) {
		t.Parallel()
		app := &booth{open: true}
		report := visit(t, app, app, func(c *check.Config) {
			onlyRefusals(c)
			c.Invalid = &c.Template
		})
		failsOnly(t, report)
		if got := having(report, check.Pass); len(got) > 0 {
			t.Errorf("passed: %v", got)
		}
	})
}

// TestRefusalsWithTheKeyInTheBody: the request may be made invalid at the place of its key.
func TestRefusalsWithTheKeyInTheBody(t *testing.T) {
	t.Parallel()
	app := &booth{}
	report := visit(t, app, front(app, app), func(c *check.Config) {
		onlyRefusals(c)
		c.Key = check.KeyPlace{In: "json", Name: "/request_id"}
	})
	failsOnly(t, report)
	passes(t, report, "ERR-01", "ERR-02", "ERR-05")
}

// TestRedirectIsNoRefusal: a service without a log-in that answers with a redirect has refused no caller.
func TestRedirectIsNoRefusal(t *testing.T) {
	t.Parallel()
	app := &counter{}
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		app.effects.Add(1)
		http.Redirect(w, r, "/things", http.StatusSeeOther)
	}))
	report := run(t.Context(), t, check.Config{
		Template: check.Template{
			Method: http.MethodPost, URL: url + "/things", Body: []byte(`{"n":{{n}}}`),
			Header: []wire.Field{{Name: "Authorization", Value: "Bearer ann"}},
		},
		Profile: check.Profiles()[0], Counters: []check.Counter{app}, Only: []string{"ERR-05"},
	})
	if got := verdicts(report)["ERR-05"]; got != check.Skipped {
		t.Errorf("got %s, want it skipped: no credentials were required", got)
	}
}
