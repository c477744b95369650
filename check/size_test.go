package check_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/semel-dev/semel/check"
)

func TestSizesPassWhereContentCounts(t *testing.T) {
	t.Parallel()
	skips := map[string][]string{
		"semel, duplicates stopped": {"SIZE-07"}, "semel, duplicates stopped 2": {"SIZE-07"}, // only keys are compared
		"semel, small bodies": {"SIZE-07"},
	}
	for name, open := range correct() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app, handler, profile := open(t)
			counter := check.Counter(byN{app})
			if app.empties {
				counter = inAll{app} // an empty body has no n
			}
			report := examine(t, handler, profile, []check.Counter{counter}, "SIZE")
			if got := append(having(report, check.Fail), having(report, check.Incomplete)...); len(got) > 0 {
				t.Errorf("not passed: %v", got)
			}
			wantHaving(t, report, check.Skipped, skips[name])
			if t.Failed() {
				explain(t, report)
			}
		})
	}
}

func TestSizesFindWhatIsBroken(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		broken *memo
		want   []string
	}{
		"takes no key of a body without length": {
			&memo{bypass: func(r *http.Request, _ []byte, _ time.Duration) bool { return r.ContentLength < 0 }}, []string{"SIZE-02"},
		},
		"takes no key when a body is announced": {
			&memo{bypass: func(r *http.Request, _ []byte, _ time.Duration) bool { return r.Header.Get("Expect") != "" }}, []string{"SIZE-03"},
		},
		"takes no key of what is large": {
			&memo{bypass: func(_ *http.Request, body []byte, _ time.Duration) bool { return len(body) > 64<<10 }}, []string{"SIZE-05", "SIZE-07"},
		},
		"takes no key of what is slow": {
			&memo{bypass: func(_ *http.Request, _ []byte, took time.Duration) bool { return took > 200*time.Millisecond }}, []string{"SIZE-06"},
		},
		"compares lengths": {
			&memo{fingerprint: func(_ *http.Request, body []byte) string { return string(rune(len(body))) }}, []string{"SIZE-07"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := &ledger{empties: true}
			test.broken.app = app
			report := examine(t, test.broken, "ietf", []check.Counter{inAll{app}}, "SIZE")
			wantHaving(t, report, check.Fail, test.want)
		})
	}
}

func TestSizesNeverPassWithoutACounter(t *testing.T) {
	t.Parallel()
	app := &ledger{empties: true}
	report := examine(t, &memo{app: app}, "ietf", nil, "SIZE")
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
	app := &ledger{empties: true}
	report := examine(t, &memo{app: app}, "ietf", []check.Counter{byN{app}}, "SIZE-01")
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
			url := serve(t, &memo{app: app})
			report := examineAt(t, url, "ietf", []check.Counter{app}, test.change, "SIZE")
			wantHaving(t, report, check.Skipped, test.want)
		})
	}
}
