package check_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/check"
)

var allLost = []string{"LOST-01", "LOST-02", "LOST-03", "LOST-04", "LOST-05", "LOST-06", "LOST-07", "LOST-08", "LOST-09", "LOST-10"}

func TestLostAnswersPassWhereOneEffectIsLeft(t *testing.T) {
	t.Parallel()
	for name, open := range correct() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app, handler, profile := open(t)
			report := examine(t, handler, profile, []check.Counter{byN{app}}, "LOST")
			wantHaving(t, report, check.Pass, allLost)
		})
	}
}

func TestLostAnswersPassOverTLS(t *testing.T) {
	t.Parallel()
	app := &ledger{}
	server := httptest.NewTLSServer(semelOver(t, app, nil, semel.Policy{}, nil))
	t.Cleanup(server.Close)
	report := examineAt(t, server.URL, "ietf", []check.Counter{inAll{app}}, func(c *check.Config) {
		c.TLS = server.Client().Transport.(*http.Transport).TLSClientConfig
	}, "LOST")
	wantHaving(t, report, check.Pass, allLost)
}

func TestLostAnswersFindWhatIsBroken(t *testing.T) {
	t.Parallel()
	// A retry after half of this has to overlap the first attempt, and one in the middle of a slow upload, after 240 ms, has to end
	// before the upload does, after 480 ms: both have 80 ms to spare.
	const work = 160 * time.Millisecond
	app := func() *ledger { return &ledger{takes: work} }
	for name, test := range map[string]struct {
		broken func(*ledger) http.Handler
		want   []string
		late   string // may be found as well when a busy machine takes longer than there is to spare
	}{
		"looks, and then executes": {
			func(l *ledger) http.Handler { return &memo{app: l, unclaimed: true} }, []string{"LOST-07", "LOST-10"}, "LOST-08",
		},
		"looks before the body is there": {
			func(l *ledger) http.Handler { return &memo{app: l, looksEarly: true} }, []string{"LOST-07", "LOST-08", "LOST-10"}, "",
		},
		"says only that it was made already": {
			func(l *ledger) http.Handler { return &memo{app: l, already: true} }, []string{"LOST-05", "LOST-08", "LOST-10"}, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := app()
			report := examine(t, test.broken(l), "ietf", []check.Counter{byN{l}, inAll{l}}, "LOST")
			want := test.want
			if slices.Contains(having(report, check.Fail), test.late) {
				want = slices.Sorted(slices.Values(slices.Concat(want, []string{test.late})))
			}
			wantHaving(t, report, check.Fail, want)
		})
	}
}

func TestLostAnswersNeverPassWithoutACounter(t *testing.T) {
	t.Parallel()
	app := &ledger{}
	report := examine(t, semelOver(t, app, nil, semel.Policy{}, nil), "ietf", nil, "LOST")
	wantHaving(t, report, check.Incomplete, allLost)
}

func TestLostAnswersLeaveAloneWhatFailsAnyway(t *testing.T) {
	t.Parallel()
	app := &ledger{most: 1}
	report := examine(t, app, "ietf", []check.Counter{byN{app}}, "LOST")
	wantHaving(t, report, check.Incomplete, allLost)
}

func TestLostAnswersSkipWhatHasNoBody(t *testing.T) {
	t.Parallel()
	app := &ledger{empties: true}
	url := serve(t, &memo{app: app})
	report := examineAt(t, url, "ietf", []check.Counter{inAll{app}}, func(c *check.Config) { c.Template.Body = nil }, "LOST")
	wantHaving(t, report, check.Skipped, []string{"LOST-02", "LOST-08", "LOST-09"})
	if got := having(report, check.Pass); len(got) != 7 {
		t.Errorf("passed: %v", got)
		explain(t, report)
	}
}
