package check_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/semel-dev/semel/check"
)

var allLost = []string{"LOST-01", "LOST-02", "LOST-03", "LOST-04", "LOST-05", "LOST-06", "LOST-07", "LOST-08", "LOST-09", "LOST-10"}

func TestLostAnswersPassOverTLS(t *testing.T) {
	t.Parallel()
	app := &counter{}
	server := httptest.NewTLSServer(protected(t, app))
	t.Cleanup(server.Close)
	report := examine(t, server.URL, []check.Counter{app}, func(c *check.Config) {
		c.TLS = server.Client().Transport.(*http.Transport).TLSClientConfig
	}, "LOST")
	wantHaving(t, report, check.Pass, allLost)
}

func TestLostAnswersNeverPassWithoutACounter(t *testing.T) {
	t.Parallel()
	report := examine(t, serve(t, protected(t, &counter{})), nil, nil, "LOST")
	wantHaving(t, report, check.Incomplete, allLost)
}

func TestLostAnswersLeaveAloneWhatFailsAnyway(t *testing.T) {
	t.Parallel()
	refuses := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusRequestEntityTooLarge) })
	report := examine(t, serve(t, refuses), []check.Counter{&counter{}}, nil, "LOST")
	wantHaving(t, report, check.Incomplete, allLost)
}

func TestLostAnswersSkipWhatHasNoBody(t *testing.T) {
	t.Parallel()
	app := &counter{}
	report := examine(t, serve(t, protected(t, app)), []check.Counter{app}, func(c *check.Config) { c.Template.Body = nil }, "LOST")
	wantHaving(t, report, check.Skipped, []string{"LOST-02", "LOST-08", "LOST-09"})
	if got := having(report, check.Pass); len(got) != 7 {
		t.Errorf("passed: %v", got)
		explain(t, report)
	}
}
