package check_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/check/wire"
)

// gate is in front of a service, and may answer in its place.
type gate struct {
	http.Handler

	answer func(n int64, w http.ResponseWriter, r *http.Request) bool
	seen   atomic.Int64 // requests
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if n := g.seen.Add(1); g.answer == nil || !g.answer(n, w, r) {
		g.Handler.ServeHTTP(w, r)
	}
}

// counting makes a counter of a function.
type counting func() (int64, error)

func (counting) Name() string                                                { return "the count" }
func (counting) PerIntent() bool                                             { return false }
func (c counting) Count(context.Context, func(string) string) (int64, error) { return c() }

// failures returns the ids of the failed checks.
func failures(report *check.Report) (ids []string) {
	for i := range report.Results {
		if report.Results[i].Verdict == check.Fail {
			ids = append(ids, report.Results[i].ID)
		}
	}
	return ids
}

// tryOut returns the report of a run that may end early.
func tryOut(t *testing.T, config check.Config) (*check.Report, error) {
	t.Helper()
	plan, err := check.NewPlan(config)
	if err != nil {
		t.Fatal(err)
	}
	return plan.Run(t.Context())
}

// TestRequestIsRefused: if the plain request does not succeed, nothing else is known, and nothing more is sent.
func TestRequestIsRefused(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusUnauthorized, http.StatusNotFound, http.StatusInternalServerError} {
		g := &gate{answer: func(_ int64, w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(status)
			return true
		}}
		config := trial(t, g, counting(func() (int64, error) { return 0, nil }))
		config.Only = nil
		_, report := runTrial(t, config)
		if diff := cmp.Diff([]string{"BASIC-01"}, failures(report)); diff != "" || report.Count(check.Pass) > 0 || g.seen.Load() > 2+3 {
			t.Errorf("%d: %d passed, %d requests: %s", status, report.Count(check.Pass), g.seen.Load(), diff)
		}
	}
}

// TestBusyFromTheStart: a service that is busy when the run begins is asked again a few times, and not accused.
func TestBusyFromTheStart(t *testing.T) {
	t.Parallel()
	for name, busy := range map[string]int64{"for a moment": 2, "for ever": 1 << 40} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk()
			g := &gate{Handler: d, answer: func(n int64, w http.ResponseWriter, _ *http.Request) bool {
				if n > busy {
					return false
				}
				w.WriteHeader([]int{http.StatusTooManyRequests, http.StatusServiceUnavailable}[n%2])
				return true
			}}
			config := trial(t, g, d)
			config.Only = []string{"BASIC-01", "BASIC-02", "KEY-04"}
			_, report := runTrial(t, config)
			if passed := report.Count(check.Pass); len(failures(report)) > 0 || passed != map[bool]int{true: 0, false: 3}[busy > 2] || g.seen.Load() > 10 {
				t.Errorf("failed: %v, %d passed after %d requests", failures(report), passed, g.seen.Load())
			}
		})
	}
}

// TestServiceHangs: a service that no longer answers is not accused of mistakes.
func TestServiceHangs(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]int64{"from the first": 0, "in the middle": 30} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, end := newDesk(), make(chan struct{})
			g := &gate{Handler: d, answer: func(n int64, _ http.ResponseWriter, _ *http.Request) bool {
				if n > after {
					<-end
				}
				return n > after
			}}
			config := trial(t, g, d)
			t.Cleanup(func() { close(end) }) // before the server closes
			config.Timeout, config.Only = 200*time.Millisecond, []string{"basics", "keys", "lost answers"}
			report, err := tryOut(t, config)
			if after == 0 && !errors.Is(err, wire.ErrTimeout) {
				t.Errorf("got %v", err)
			}
			if got := failures(report); len(got) > 0 || after > 0 && report.Died == "" || report.Whole {
				t.Errorf("failed: %v, died: %q, whole: %v", got, report.Died, report.Whole)
			}
			if g.seen.Load() > after+6 {
				t.Errorf("%d requests, after the service hung at %d", g.seen.Load(), after)
			}
		})
	}
}

// TestCountsOfSomethingElse: a count with an upper limit, one that changes on its own, or one of something else accuses
// no service.
func TestCountsOfSomethingElse(t *testing.T) {
	t.Parallel()
	var others, looks atomic.Int64
	late := func(taken int64) int64 {
		if taken >= 2 && looks.Add(1) > 5 {
			return taken
		}
		return 0
	}
	for name, one := range map[string]struct {
		count func(taken int64) int64
		want  []string
		says  string // a part of a reason
	}{
		"has an end":     {func(taken int64) int64 { return min(taken, 9) }, nil, "the list ends at 9"},
		"moves":          {func(taken int64) int64 { return taken + others.Add(1) }, nil, "changed by"},
		"stands still":   {func(int64) int64 { return 7 }, []string{"BASIC-01"}, "the list ends at 7"},
		"lags":           {late, nil, "--settle"},
		"two for one":    {func(taken int64) int64 { return 2 * taken }, []string{"BASIC-01"}, "4 effects"},
		"counts rightly": {func(taken int64) int64 { return taken }, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk()
			config := trial(t, d, counting(func() (int64, error) { return one.count(d.taken.Load()), nil }))
			_, report := runTrial(t, config)
			if diff := cmp.Diff(one.want, failures(report)); diff != "" {
				t.Errorf("failed (-want +got):\n%s", diff)
			}
			if !slices.ContainsFunc(report.Results, func(r check.Result) bool { return strings.Contains(r.Reason, one.says) }) {
				t.Errorf("no reason says %q", one.says)
			}
			if open := report.Count(check.Incomplete) > 0; open != (name != "counts rightly") {
				t.Errorf("%d were not judged", report.Count(check.Incomplete))
			}
		})
	}
}

// TestNothingIsSentUncounted: a counter that does not work is found before anything is sent.
func TestNothingIsSentUncounted(t *testing.T) {
	t.Parallel()
	g := &gate{Handler: newDesk()}
	broken := errors.New("no such table")
	report, err := tryOut(t, trial(t, g, counting(func() (int64, error) { return 0, broken })))
	if !errors.Is(err, broken) || g.seen.Load() != 0 || report.Sent != 0 {
		t.Errorf("got %v after %d requests", err, g.seen.Load())
	}
}

// TestLimitOfRates: 429 says nothing about a repetition, whether it is waited out or not.
func TestLimitOfRates(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]func(h http.Header){
		"without a time": func(http.Header) {},
		"seconds":        func(h http.Header) { h.Set("Retry-After", "0") },
		"a date":         func(h http.Header) { h.Set("Retry-After", time.Now().UTC().Format(http.TimeFormat)) },
		"nonsense":       func(h http.Header) { h.Set("Retry-After", "-99999999999999999999") },
		"far away":       func(h http.Header) { h.Set("Retry-After", "86400") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk()
			g := &gate{Handler: d, answer: func(n int64, w http.ResponseWriter, _ *http.Request) bool {
				if n%5 != 4 {
					return false
				}
				again(w.Header())
				w.WriteHeader(http.StatusTooManyRequests)
				return true
			}}
			config := trial(t, g, d)
			config.Only = []string{"BASIC-02", "BASIC-03", "BASIC-04", "BASIC-10"}
			_, report := runTrial(t, config)
			if got := failures(report); len(got) > 0 {
				t.Errorf("failed: %v", got)
			}
			waited := name == "seconds" || name == "a date"
			if all := report.Count(check.Pass) == 4; all != waited {
				t.Errorf("%d passed", report.Count(check.Pass))
			}
			if g.seen.Load() > int64(report.Announced) {
				t.Errorf("%d requests, %d announced", g.seen.Load(), report.Announced)
			}
		})
	}
}

// TestKeyHasAPlace: a request with no place for the key is rejected before anything is sent.
func TestKeyHasAPlace(t *testing.T) {
	t.Parallel()
	for _, key := range []check.KeyPlace{
		{In: "header", Name: "X: y\r\nInjected"}, {In: "header", Name: "a b"}, {In: "json", Name: "/a/b"},
	} {
		config := trial(t, http.NotFoundHandler())
		config.Key = key
		if _, err := check.NewPlan(config); err == nil {
			t.Errorf("%+v: no error", key)
		}
	}
	config := trial(t, http.NotFoundHandler())
	config.Key, config.Template.Body = check.KeyPlace{In: "json", Name: "/key"}, []byte(`{"n":{{n}},"of":{{var:account}}}`)
	if _, err := check.NewPlan(config); err != nil {
		t.Errorf("a body with places: %v", err)
	}
	config.Template.Body = []byte("a=1")
	if _, err := check.NewPlan(config); err == nil || !strings.Contains(err.Error(), "not a JSON object") {
		t.Errorf("a form: %v", err)
	}
}

// TestPageOfAnotherHost: credentials go to the host of the request alone.
func TestPageOfAnotherHost(t *testing.T) {
	t.Parallel()
	app := newFormShop("")
	url := serve(t, app)
	var told atomic.Pointer[http.Header]
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := r.Header.Clone()
		told.Store(&header)
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(`<form method=post action="` + url + `/orders"><input name=note></form>`))
	}))
	t.Cleanup(page.Close)
	profile, _ := check.ProfileNamed("form")
	_, _ = tryOut(t, check.Config{
		Profile: profile, Only: []string{"BASIC-01"}, Page: &check.Page{URL: page.URL + "/"},
		Template: check.Template{
			Method: "POST", URL: url + "/orders", Body: []byte("note=Number+{{n}}"),
			Header: []wire.Field{{Name: "Authorization", Value: "Bearer hush"}, {Name: "Cookie", Value: "sid=hush"}, {Name: "X-Badge", Value: "hush"}},
		},
		User: &check.User{Header: []wire.Field{{Name: "X-User", Value: "hush"}}},
	})
	if told.Load() == nil {
		t.Fatal("the page was not visited")
	}
	for name, values := range *told.Load() {
		if strings.Contains(strings.Join(values, " "), "hush") {
			t.Errorf("%s was sent to another host", name)
		}
	}
}
