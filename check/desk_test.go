package check_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/check/wire"
)

// orders is an application that takes orders: POST /orders, with an item.
type orders struct{ taken atomic.Int64 }

func (o *orders) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path != "/orders":
		http.NotFound(w, r)
		return
	case r.Method != http.MethodPost:
		http.Error(w, "only POST", http.StatusMethodNotAllowed)
		return
	}
	n := o.taken.Add(1)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Location", fmt.Sprintf("/orders/%d", n))
	w.WriteHeader(http.StatusCreated)
	_, _ = fmt.Fprintf(w, `{"id":%d,"state":"open"}`, n)
}

func (o *orders) Name() string    { return "orders" }
func (o *orders) PerIntent() bool { return false }
func (o *orders) Count(context.Context, func(string) string) (int64, error) {
	return o.taken.Load(), nil
}

// desk protects orders by hand. It is correct as it is made; tests break its functions.
type desk struct {
	orders

	key         func(lines []string) (key string, refusal int)
	fingerprint func(r *http.Request, body []byte) string
	lookUp      func(key, fingerprint string) string // finds records
	// first and replay give an answer.
	first, replay func(w http.ResponseWriter, answer *httptest.ResponseRecorder)
	mismatch      func(w http.ResponseWriter, records map[string]*filed, id string) (execute bool)
	refuse        func(w http.ResponseWriter, status int)
	policy        string
	app           http.Handler // nil for orders

	mu      sync.Mutex
	records map[string]*filed
}

type filed struct {
	fingerprint string
	answer      *httptest.ResponseRecorder
	given       int // how often it was replayed
}

func newDesk() *desk {
	return &desk{
		records: map[string]*filed{},
		key: func(lines []string) (string, int) {
			if len(lines) != 1 {
				return "", http.StatusBadRequest
			}
			key, err := semel.ParseKey(semel.ScopeGlobal, lines[0])
			if err != nil {
				return "", http.StatusBadRequest
			}
			return key.Name, 0
		},
		fingerprint: func(r *http.Request, body []byte) string {
			return strings.Join([]string{r.Method, r.URL.String(), r.Header.Get("Content-Type"), string(body)}, "\n")
		},
		lookUp: func(key, _ string) string { return key },
		first:  func(w http.ResponseWriter, answer *httptest.ResponseRecorder) { writeFiled(w, answer, nil) },
		replay: func(w http.ResponseWriter, answer *httptest.ResponseRecorder) {
			writeFiled(w, answer, http.Header{"Idempotent-Replayed": {"true"}})
		},
		refuse: func(w http.ResponseWriter, status int) {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(map[string]any{"status": status, "title": "refused"})
		},
		policy: "Keys are remembered for 24 hours.",
	}
}

func writeFiled(w http.ResponseWriter, answer *httptest.ResponseRecorder, more http.Header) {
	maps.Copy(w.Header(), answer.Header())
	maps.Copy(w.Header(), more)
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}

func (d *desk) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/.well-known/idempotency" && d.policy != "" {
		_, _ = io.WriteString(w, d.policy)
		return
	}
	body, _ := io.ReadAll(r.Body)
	key, refusal := d.key(r.Header["Idempotency-Key"])
	if refusal != 0 {
		d.refuse(w, refusal)
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	printed := d.fingerprint(r, body)
	id := d.lookUp(key, printed)
	known := d.records[id]
	switch {
	case known == nil:
	case known.fingerprint == printed:
		known.given++
		d.replay(w, known.answer)
		return
	case d.mismatch == nil:
		d.refuse(w, http.StatusUnprocessableEntity)
		return
	case !d.mismatch(w, d.records, id):
		return
	}
	answer := httptest.NewRecorder()
	r.Body = io.NopCloser(bytes.NewReader(body))
	if d.app != nil {
		d.app.ServeHTTP(answer, r)
	} else {
		d.orders.ServeHTTP(answer, r)
	}
	if known == nil {
		d.records[id] = &filed{fingerprint: printed, answer: answer}
	}
	d.first(w, answer)
}

// trial returns a configuration for orders; its URL is that of a server of the handler.
func trial(t *testing.T, handler http.Handler, counters ...check.Counter) check.Config {
	t.Helper()
	profile, _ := check.ProfileNamed("ietf")
	return check.Config{
		Template: check.Template{
			Method: http.MethodPost, URL: serve(t, handler) + "/orders",
			Header: []wire.Field{{Name: "Content-Type", Value: "application/json"}},
			Body:   []byte(`{"item":"brass gears","n":{{n}}}`),
		},
		Profile: profile, Counters: counters, Level: check.LevelStrict, Rate: 1e4, Settle: 100 * time.Millisecond,
		Only: []string{"basics", "keys", "mismatch", "last"},
	}
}

// runTrial returns the results that are neither a pass nor skipped.
func runTrial(t *testing.T, config check.Config) (bad []string, report *check.Report) {
	t.Helper()
	report = run(t.Context(), t, config)
	for i := range report.Results {
		one := &report.Results[i]
		if one.Verdict != check.Pass && one.Verdict != check.Skipped {
			bad = append(bad, one.ID)
			t.Logf("%s %s: %s", one.ID, one.Verdict, one.Reason)
		}
	}
	slices.Sort(bad)
	return bad, report
}

// expectBad runs a trial, and expects exactly these checks not to pass.
func expectBad(t *testing.T, config check.Config, want ...string) *check.Report {
	t.Helper()
	bad, report := runTrial(t, config)
	if diff := cmp.Diff(want, bad, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("not passed (-want +got):\n%s", diff)
	}
	return report
}

// resultOf returns the result of a check.
func resultOf(t *testing.T, report *check.Report, id string) check.Result {
	t.Helper()
	at := slices.IndexFunc(report.Results, func(one check.Result) bool { return one.ID == id })
	if at < 0 {
		t.Fatalf("the report has no %s", id)
	}
	return report.Results[at]
}
