package operators_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/console/operators"
	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/gateway/adminapi"
	"github.com/semel-dev/semel/internal/cli/operatorview"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/operator"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/store/memstore"
)

// repeated is a gateway whose application answers when the test says so.
type repeated struct {
	*gateway.Gateway
	guard        *semel.Guard
	running, end chan struct{}
}

func openRepeated(t *testing.T) *repeated {
	t.Helper()
	g := &repeated{running: make(chan struct{}, 8), end: make(chan struct{}, 8)}
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/lost" {
			panic(http.ErrAbortHandler)
		}
		g.running <- struct{}{}
		<-g.end
		w.WriteHeader(http.StatusCreated)
	}))
	t.Cleanup(app.Close)
	store := memstore.New(nil)
	config := &gateway.Config{Upstream: app.URL, Store: store, Rules: must.Get(rules.Parse("rules.yaml", []byte(`version: 1
routes:
  - {name: fast, match: {path: /fast}, wait: 0s}
  - {name: orders, match: {path: /orders}, wait: 60s}
`)))}
	of := operators.Of(config, operators.Options{Tokens: []adminapi.Token{must.Get(adminapi.NewToken("alice", secret, false))}})
	config.Operators = func(v gateway.View) (gateway.Operators, error) {
		g.guard = v.Guard
		return of(v)
	}
	g.Gateway = must.Get(gateway.New(config))
	t.Cleanup(func() { _, _ = g.Close(), store.Close() })
	return g
}

// send returns the status of a request under the key k1.
func (g *repeated) send(t *testing.T, path, body string) int {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body))
	r.Header.Set("Idempotency-Key", `"k1"`)
	w := httptest.NewRecorder()
	g.Handler().ServeHTTP(w, r)
	return w.Code
}

// shown returns the record of a path, as JSON and as a page.
func (g *repeated) shown(t *testing.T, path string) (one operatorview.Record, page string) {
	t.Helper()
	digest := ""
	_, err := must.Get(operator.New(g.guard, nil)).List(t.Context(), operator.Search{}, func(rec *semel.Record) error {
		if strings.HasSuffix(rec.Scope, path) {
			digest = rec.Digest.String()
		}
		return nil
	})
	if err != nil || digest == "" {
		t.Fatalf("no record of %s: %v", path, err)
	}
	get := func(path string, set func(*http.Request)) string {
		r, w := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody), httptest.NewRecorder()
		set(r)
		g.AdminHandler().ServeHTTP(w, r)
		return w.Body.String()
	}
	text := get("/v1/records/"+digest, func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+secret) })
	if err := json.Unmarshal([]byte(text), &one); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	session := enter(t, g.AdminHandler())
	return one, get("/console/records/"+digest, func(r *http.Request) { r.AddCookie(session) })
}

// An operator sees how often a key was repeated, when, and what each repetition heard: replayed, waited for, refused.
func TestRepeatsOfAGateway(t *testing.T) {
	t.Parallel()
	g := openRepeated(t)
	var all sync.WaitGroup
	all.Go(func() { g.send(t, "/orders", "tea") })
	<-g.running
	if one, page := g.shown(t, "/orders"); one.Repeats == nil || one.Repeats.Total != 0 || len(one.Repeats.Recent) != 0 || !strings.Contains(page, "None was met") {
		t.Errorf("before a repetition: got %+v: %s", one.Repeats, page)
	}
	all.Go(func() { g.send(t, "/orders", "tea") })
	testserver.Eventually(t, "the second waits", func() bool { return g.guard.Waiting() == 1 })
	g.end <- struct{}{}
	all.Wait()
	for range 3 {
		if status := g.send(t, "/orders", "tea"); status != http.StatusCreated {
			t.Fatalf("a replay has status %d", status)
		}
	}
	if status := g.send(t, "/orders", "coffee"); status != http.StatusUnprocessableEntity {
		t.Fatalf("another request has status %d", status)
	}
	one, page := g.shown(t, "/orders")
	counts := map[string]int{}
	for _, c := range one.Repeats.Counts {
		counts[c.Outcome] = c.Count
	}
	if counts["replayed"] != 3 || counts["merged"] != 1 || counts["mismatch"] != 1 || len(counts) != 3 || one.Repeats.Total != 5 || one.Repeats.Source != "memory" {
		t.Errorf("got %+v", one.Repeats)
	}
	if recent := one.Repeats.Recent; len(recent) != 5 || recent[0].Outcome != "mismatch" || recent[0].Status != 422 || recent[4].Outcome != "merged" || recent[4].Status != 201 ||
		one.Repeats.Last != recent[0].At || one.Repeats.First != recent[4].At {
		t.Errorf("got %+v", one.Repeats)
	}
	for _, want := range []string{`<data value="3">3</data> replayed, <data value="1">1</data> merged, <data value="1">1</data> mismatch`, "mismatch, with status 422", "merged, with status 201", "From the memory of this process, since <time"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q: %s", want, page)
		}
	}
	if again := regexp.MustCompile(`replayed, with status 201`).FindAllString(page, -1); len(again) != 3 {
		t.Errorf("the page lists %d replays", len(again))
	}
}

// A refused duplicate is a repetition. The first request is not, even when its outcome is unknown.
func TestRefusedRepeats(t *testing.T) {
	t.Parallel()
	g := openRepeated(t)
	var all sync.WaitGroup
	all.Go(func() { g.send(t, "/fast", "tea") })
	<-g.running
	if status := g.send(t, "/fast", "tea"); status != http.StatusConflict {
		t.Fatalf("got status %d", status)
	}
	g.end <- struct{}{}
	all.Wait()
	if one, _ := g.shown(t, "/fast"); one.Repeats.Total != 1 || one.Repeats.Counts[0] != (operatorview.RepeatCount{Outcome: "in-flight", Count: 1}) || one.Repeats.Recent[0].Status != 409 {
		t.Errorf("got %+v", one.Repeats)
	}
	g.send(t, "/lost", "tea")
	if one, _ := g.shown(t, "/lost"); one.State != "unknown" || one.Repeats.Total != 0 {
		t.Errorf("the first attempt, which is %s, counts as a repetition: %+v", one.State, one.Repeats)
	}
	g.send(t, "/lost", "tea")
	if one, _ := g.shown(t, "/lost"); one.Repeats.Total != 1 || one.Repeats.Counts[0].Outcome != "unknown" {
		t.Errorf("got %+v", one.Repeats)
	}
}
