package check_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/check/wire"
)

// protected puts Semel's middleware in front of the application.
func protected(t *testing.T, app http.Handler) http.Handler {
	t.Helper()
	return middleware(t, nil, semel.Policy{}, oneScope, nil).Handler(app)
}

// examine runs the checks of a group, or single ones.
func examine(t *testing.T, url string, counters []check.Counter, change func(*check.Config), only ...string) *check.Report {
	t.Helper()
	config := check.Config{
		Template: check.Template{
			Method: http.MethodPost, URL: url + "/orders", Body: []byte(`{"what":"an entry","n":{{n}}}`),
			Header: []wire.Field{{Name: "Content-Type", Value: "application/json"}},
		},
		Profile: check.Profiles()[0], Counters: counters, Only: only, Timeout: 2 * time.Second, Settle: 300 * time.Millisecond,
	}
	if change != nil {
		change(&config)
	}
	return run(t.Context(), t, config)
}

func TestSizesNeverPassWithoutACounter(t *testing.T) {
	t.Parallel()
	report := examine(t, serve(t, protected(t, &counter{})), nil, nil, "SIZE")
	if got := having(report, check.Pass); len(got) > 0 {
		t.Errorf("passed: %v", got)
	}
	if got := having(report, check.Incomplete); len(got) != 7 {
		t.Errorf("incomplete: %v", got)
		explain(t, report)
	}
}

// TestEmptyBodiesAreIncompleteWhereTheyCannotBeCounted: a counter of values in the body cannot count an empty body.
func TestEmptyBodiesAreIncompleteWhereTheyCannotBeCounted(t *testing.T) {
	t.Parallel()
	byN := &perIntent{taken: map[string]int64{}}
	report := examine(t, serve(t, protected(t, byN.watch(&counter{}))), []check.Counter{byN}, nil, "SIZE-01")
	wantHaving(t, report, check.Incomplete, []string{"SIZE-01"})
}

func TestSizesSkipWhatDoesNotApply(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*check.Config)
		want   []string
	}{
		"no body": {
			func(c *check.Config) { c.Template.Body = nil },
			[]string{"SIZE-03", "SIZE-04", "SIZE-05", "SIZE-06", "SIZE-07"},
		},
		"one body for all":      {func(c *check.Config) { c.Template.Body = []byte(`{"n":1}`) }, []string{"SIZE-07"}},
		"the key in the body":   {func(c *check.Config) { c.Key = check.KeyPlace{In: "json", Name: "/key"} }, []string{"SIZE-01"}},
		"a browser's form":      {func(c *check.Config) { c.Profile, _ = check.ProfileNamed("form"); c.Key = c.Profile.Key }, []string{"SIZE-01", "SIZE-04"}},
		"neither JSON nor form": {func(c *check.Config) { c.Template.Body = []byte("1{{n}}") }, []string{"SIZE-05", "SIZE-07"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := &counter{}
			report := examine(t, serve(t, protected(t, app)), []check.Counter{app}, test.change, "SIZE")
			wantHaving(t, report, check.Skipped, test.want)
		})
	}
}
