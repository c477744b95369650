package check_test

import (
	"net/http"
	"net/http/httptest"
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
	for name, test := range map[string]struct {
		broken func(*ledger) http.Handler
		// takes is much longer than any time after which a retry has to overlap the first attempt: half of it, the time in
		// which effects settle, and the rest of a slow upload.
		takes time.Duration
		want  []string
	}{
		"looks, and then executes": {
			func(l *ledger) http.Handler { return &memo{app: l, unclaimed: true} }, 900 * time.Millisecond,
			[]string{"LOST-03", "LOST-07", "LOST-08", "LOST-10"},
		},
		"looks before the body is there": {
			func(l *ledger) http.Handler { return &memo{app: l, looksEarly: true} }, 900 * time.Millisecond,
			[]string{"LOST-03", "LOST-07", "LOST-08", "LOST-10"},
		},
		"says only that it was made already": {
			func(l *ledger) http.Handler { return &memo{app: l, already: true} }, 160 * time.Millisecond,
			[]string{"LOST-05", "LOST-08", "LOST-10"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := &ledger{takes: test.takes}
			report := examine(t, test.broken(l), "ietf", []check.Counter{byN{l}, inAll{l}}, "LOST")
			wantHaving(t, report, check.Fail, test.want)
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
