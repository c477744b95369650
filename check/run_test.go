package check_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/check/effects"
	"github.com/semel-dev/semel/check/wire"
)

// counter is an application with an effect at every POST.
type counter struct{ effects atomic.Int64 }

func (c *counter) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	n := c.effects.Add(1)
	w.Header().Set("Location", fmt.Sprintf("/things/%d", n))
	w.WriteHeader(http.StatusCreated)
	_, _ = fmt.Fprintf(w, `{"id":%d}`, n)
}

// Name, PerIntent and Count make it a counter.
func (c *counter) Name() string    { return "the counter" }
func (c *counter) PerIntent() bool { return false }
func (c *counter) Count(context.Context, func(string) string) (int64, error) {
	return c.effects.Load(), nil
}

func verdicts(report *check.Report) map[string]check.Verdict {
	got := map[string]check.Verdict{}
	for i := range report.Results {
		got[report.Results[i].ID] = report.Results[i].Verdict
	}
	return got
}

func runOn(t *testing.T, app *counter, handler http.Handler) *check.Report {
	t.Helper()
	profile, _ := check.ProfileNamed("ietf")
	return run(t.Context(), t, check.Config{
		Template: check.Template{Method: "POST", URL: serve(t, handler) + "/things", Body: []byte(`{"n":{{n}}}`)},
		Profile:  profile, Counters: []check.Counter{app}, Only: []string{"BASIC-01", "BASIC-02"},
	})
}

func TestRunTellsProtectedFromUnprotected(t *testing.T) {
	t.Parallel()
	naive, app := &counter{}, &counter{}
	door := middleware(t, nil, semel.Policy{}, oneScope, nil)
	got := verdicts(runOn(t, naive, naive))
	if got["BASIC-01"] != check.Pass || got["BASIC-02"] != check.Fail {
		t.Errorf("unprotected: %v", got)
	}
	got = verdicts(runOn(t, app, door.Handler(app)))
	if diff := cmp.Diff(check.Pass, got["BASIC-02"]); diff != "" {
		t.Errorf("protected: %v", got)
	}
}

// TestRunWithoutCounter: a check that cannot tell does not pass, and the report is not fine if a MUST was not judged.
func TestRunWithoutCounter(t *testing.T) {
	t.Parallel()
	app := &counter{}
	profile, _ := check.ProfileNamed("ietf")
	report := run(t.Context(), t, check.Config{
		Template: check.Template{Method: "POST", URL: serve(t, app) + "/things", Body: []byte(`{"n":{{n}}}`)},
		Profile:  profile, Only: []string{"BASIC-02"},
	})
	if got := verdicts(report)["BASIC-02"]; got != check.Incomplete || report.Fine() {
		t.Errorf("got %s, fine %v without a counter", got, report.Fine())
	}
}

// TestRunWaitsOut429: a request that a service limits is repeated, within the announced number, and the report says so
// once.
func TestRunWaitsOut429(t *testing.T) {
	t.Parallel()
	app := &counter{}
	var asked atomic.Int64
	report := runOn(t, app, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/.well-known/idempotency" { // a look-up, which is not sent to the endpoint
			http.NotFound(w, r)
			return
		}
		if n := asked.Add(1); n == 1 || n == 3 {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		app.ServeHTTP(w, r)
	}))
	if got := verdicts(report); got["BASIC-01"] != check.Pass || got["BASIC-02"] != check.Fail {
		t.Errorf("got %v", got)
	}
	if len(report.Notes) != 1 || !strings.Contains(report.Notes[0], "429") {
		t.Errorf("notes: %q", report.Notes)
	}
	if report.Sent != int(asked.Load()) || report.Sent > report.Announced {
		t.Errorf("sent %d of %d, and the service was asked %d times", report.Sent, report.Announced, asked.Load())
	}
}

// TestOnlyHTTP2 runs against services that refuse HTTP/1.1, with a counter that asks them.
func TestOnlyHTTP2(t *testing.T) {
	t.Parallel()
	for name, secure := range map[string]bool{"plain": false, "TLS": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := &orders{}
			mux := http.NewServeMux()
			mux.Handle("/", protectedOrders(t, app, semel.Policy{}, nil))
			mux.HandleFunc("GET /count", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintf(w, `{"n":%d}`, app.taken.Load()) })
			server := httptest.NewUnstartedServer(mux)
			server.Config.Protocols, server.EnableHTTP2 = new(http.Protocols), secure
			server.Config.Protocols.SetUnencryptedHTTP2(!secure)
			server.Config.Protocols.SetHTTP2(secure)
			server.Config.ErrorLog = log.New(io.Discard, "", 0)
			config := trial(t, app)
			config.Only = nil
			if secure {
				server.StartTLS()
				config.TLS = &tls.Config{RootCAs: x509.NewCertPool()}
				config.TLS.RootCAs.AddCert(server.Certificate())
			} else {
				server.Start()
			}
			t.Cleanup(server.Close)
			counter, err := effects.JSON(&wire.Client{TLS: config.TLS}, server.URL+"/count", "/n", nil)
			if err != nil {
				t.Fatal(err)
			}
			config.Counters, config.Template.URL = []check.Counter{counter}, server.URL+"/orders"
			config.Parallel, config.Timeout = 20, 5*time.Second
			_, report := runTrial(t, config)
			if got := failures(report); len(got) > 0 || report.Count(check.Pass) < 50 {
				t.Errorf("failed: %v, %d passed, notes: %q", got, report.Count(check.Pass), report.Notes)
			}
		})
	}
}

// TestIntentsThatSayTheSame: a service that treats equal requests as one is distinguished from a broken one.
func TestIntentsThatSayTheSame(t *testing.T) {
	t.Parallel()
	d := newDesk()
	d.lookUp = func(_, fingerprint string) string { return fingerprint }
	config := trial(t, d, d)
	config.Only = []string{"BASIC-01"}
	_, report := runTrial(t, config)
	if len(report.Notes) > 0 {
		t.Errorf("notes of requests that differ: %q", report.Notes)
	}
	config.Template.Body = []byte(`{"item":"brass gears"}`)
	_, report = runTrial(t, config)
	if len(report.Notes) != 1 || !strings.Contains(report.Notes[0], "write {{n}}") {
		t.Errorf("notes: %q", report.Notes)
	}
}
