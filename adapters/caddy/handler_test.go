package semelcaddy_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/semel-dev/semel/internal/testserver"
)

const protected = "\tsemel {\n\t\tstore {env.STORE}\n\t}\n\treverse_proxy "

// The same request, sent again, gets the first answer (promises 1 and 2); one without a key passes as it is.
func TestReplay(t *testing.T) {
	t.Parallel()
	app := newApplication(t)
	p := start(t, protected+app.address)
	for i := range 3 {
		got := p.post("k", "a")
		if got.status != http.StatusCreated || got.body != "order 1" || got.header.Get("Location") != "/orders/1" || got.replayed() != (i > 0) {
			t.Errorf("request %d: %+v", i, got)
		}
	}
	if got := p.post("k", "b"); got.status != http.StatusUnprocessableEntity {
		t.Errorf("another body: %+v", got)
	}
	app.want(t, 1)
	p.post("", "a")
	p.post("", "a")
	app.want(t, 3)
}

// Promise 3: an effect that a killed Caddy saw no answer to is unknown, and does not happen again.
func TestKilled(t *testing.T) {
	t.Parallel()
	app := newApplication(t)
	p := start(t, protected+app.address)
	begun, hold := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(hold) })
	slow := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		app.created.Add(1)
		close(begun)
		<-hold
	})
	app.serve.Store(&slow)
	lost := make(chan answer, 1)
	go func() { lost <- p.post("k", "a") }()
	<-begun
	p.kill()
	if got := <-lost; got.callErr == nil {
		t.Errorf("a killed Caddy answered: %+v", got)
	}
	app.serve.Store(nil)
	p.run()
	testserver.Eventually(t, "the lease of the killed process ends", func() bool {
		got := p.post("k", "a")
		if got.status == http.StatusCreated {
			t.Fatalf("it ran again: %+v", got)
		}
		return strings.Contains(got.body, "outcome-unknown")
	})
	app.want(t, 1)
}

// A request that never reached the application is released, and runs when it is sent again.
func TestApplicationDown(t *testing.T) {
	t.Parallel()
	app := newApplication(t)
	p := start(t, protected+free(t)) // where no application listens
	got := p.post("k", "a")
	if got.status != http.StatusBadGateway || got.header.Get("Retry-After") == "" || !strings.Contains(got.body, "Nothing was done") {
		t.Errorf("%+v", got)
	}
	if got := p.post("", "a"); got.status != http.StatusBadGateway || got.body != "" {
		t.Errorf("without a key Caddy answers: %+v", got)
	}
	p.configure(protected + app.address)
	p.reload()
	if got := p.post("k", "a"); got.status != http.StatusCreated {
		t.Errorf("%+v", got)
	}
	app.want(t, 1)
}

// A proxy that takes its upstream as down does not send to it; that is also released.
func TestNoUpstreamIsHealthy(t *testing.T) {
	t.Parallel()
	p := start(t, protected+free(t)+" {\n\t\tfail_duration 1h\n\t}")
	for i := range 3 {
		if got := p.post("k", "a"); got.status != http.StatusBadGateway || !strings.Contains(got.body, "Nothing was done") {
			t.Errorf("request %d: %+v", i, got)
		}
	}
}

// A proxy that cannot reach one upstream sends the request, whole, to the next one.
func TestAnotherUpstream(t *testing.T) {
	t.Parallel()
	app := newApplication(t)
	echo := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		app.created.Add(1)
		_, _ = io.Copy(w, r.Body)
	})
	app.serve.Store(&echo)
	p := start(t, protected+free(t)+" "+app.address+" {\n\t\tlb_policy first\n\t\tlb_retries 1\n\t\tfail_duration 1h\n\t}")
	if got := p.post("k", "the body"); got.status != http.StatusOK || got.body != "the body" {
		t.Errorf("%+v", got)
	}
	app.want(t, 1)
}

// A semel in a site that another one protects leaves its requests alone: they would lack the key there.
func TestTwice(t *testing.T) {
	t.Parallel()
	app := newApplication(t)
	p := start(t, "\tsemel {\n\t\tstore {env.STORE}\n\t}\n\troute {\n\t\tsemel {\n\t\t\tstore {env.STORE}\n\t\t\tkey_required\n\t\t}\n\t\treverse_proxy "+app.address+"\n\t}")
	for i := range 2 {
		if got := p.post("k", "a"); got.status != http.StatusCreated || got.replayed() != (i > 0) {
			t.Errorf("request %d: %+v", i, got)
		}
	}
	if got := p.post("", "a"); got.status != http.StatusBadRequest {
		t.Errorf("without a key: %+v", got)
	}
	app.want(t, 1)
}

// A connection that dies after the application has acted: net/http would send a request with an Idempotency-Key again.
func TestNothingIsSentAgain(t *testing.T) {
	t.Parallel()
	for site, want := range map[string]struct{ orders, status int }{
		protected:          {2, http.StatusBadGateway},
		"\treverse_proxy ": {3, http.StatusBadGateway}, // so this test notices
	} {
		app := newApplication(t)
		p := start(t, site+app.address)
		p.post("warm", "") // its connection is kept
		dies := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			app.created.Add(1)
			panic(http.ErrAbortHandler)
		})
		app.serve.Store(&dies)
		if got := p.post("k", ""); got.status != want.status {
			t.Errorf("%s: %+v", site, got)
		}
		app.want(t, int64(want.orders))
	}
}

// An answer that breaks off is unknown, not half an outcome.
func TestHalfAnAnswer(t *testing.T) {
	t.Parallel()
	app := newApplication(t)
	p := start(t, protected+app.address)
	half := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		app.created.Add(1)
		w.Header().Set("Content-Length", "100")
		_, _ = w.Write([]byte("half"))
		panic(http.ErrAbortHandler)
	})
	app.serve.Store(&half)
	if got := p.post("k", "a"); got.callErr == nil && got.status == http.StatusOK {
		t.Errorf("half an answer looks whole: %+v", got)
	}
	app.serve.Store(nil)
	if got := p.post("k", "a"); !strings.Contains(got.body, "outcome-unknown") {
		t.Errorf("%+v", got)
	}
	app.want(t, 1)
}

// An error of a handler that is an answer is recorded as one.
func TestErrorThatAnswers(t *testing.T) {
	t.Parallel()
	p := start(t, "\tsemel {\n\t\tstore {env.STORE}\n\t}\n\terror \"no such customer\" 404")
	for i := range 2 {
		got := p.post("k", "a")
		if got.status != http.StatusNotFound || got.replayed() != (i > 0) {
			t.Errorf("request %d: %+v", i, got)
		}
	}
}

// A reload while a request runs: it ends, its answer is kept, and the store stays open.
func TestReload(t *testing.T) {
	t.Parallel()
	for _, store := range []string{"sqlite:semel.db", "log:semel.log"} {
		app := newApplication(t)
		p := start(t, strings.Replace(protected, "{env.STORE}", store, 1)+app.address)
		begun, hold := make(chan struct{}), make(chan struct{})
		release := sync.OnceFunc(func() { close(hold) })
		t.Cleanup(release) // a reload that fails ends the test
		slow := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			close(begun)
			<-hold
			w.WriteHeader(http.StatusCreated)
			_, _ = fmt.Fprintf(w, "order %d", app.created.Add(1))
		})
		app.serve.Store(&slow)
		first := make(chan answer, 1)
		go func() { first <- p.post("k", "a") }()
		<-begun
		p.reload()
		release()
		if got := <-first; got.status != http.StatusCreated {
			t.Errorf("%s: the request that ran: %+v", store, got)
		}
		if got := p.post("k", "a"); got.status != http.StatusCreated || !got.replayed() {
			t.Errorf("%s: after the reload: %+v", store, got)
		}
		app.want(t, 1)
	}
}

// A form that is sent twice is carried out once.
func TestForm(t *testing.T) {
	t.Parallel()
	app := newApplication(t)
	p := start(t, "\tsemel {\n\t\tstore {env.STORE}\n\t\trules semel.yaml\n\t}\n\treverse_proxy "+app.address, "version: 1\nroutes:\n  - name: orders\n    match: {methods: [POST], path: /orders}\n    form: true\n")
	page, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url+"/new", http.NoBody)
	noError(t, err)
	shown := send(t, page)
	token := regexp.MustCompile(`name="(_semel)" value="([^"]+)"`).FindStringSubmatch(shown.body)
	if token == nil {
		t.Fatalf("no token in %s", shown.body)
	}
	for range 3 {
		form, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url+"/orders", strings.NewReader(url.Values{"n": {"1"}, token[1]: {token[2]}}.Encode()))
		noError(t, err)
		form.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		for _, cookie := range shown.header["Set-Cookie"] {
			form.Header.Add("Cookie", strings.SplitN(cookie, ";", 2)[0])
		}
		if got := send(t, form); got.status >= 400 {
			t.Errorf("%+v", got)
		}
	}
	app.want(t, 1)
}

// A wrong config is refused, with the name of what is wrong.
func TestBadConfig(t *testing.T) {
	t.Parallel()
	for block, want := range map[string]string{
		"semel":                                                "semel has no store",
		"semel sqlite:x.db":                                    "takes a block",
		"semel {\n stor x\n}":                                  `semel has no "stor" (it has store, rules, upstream and key_required)`,
		"semel {\n store\n}":                                   "wrong argument count",
		"semel {\n store memory: x\n}":                         "wrong argument count",
		"semel {\n store memory:\n store b\n}":                 "store is given twice",
		"semel {\n store {env.MISSING}\n}":                     "store is missing, or its placeholder is empty",
		"semel {\n store nosuch:x\n}":                          "nosuch",
		"semel {\n store postgres://u:s3cret@127.0.0.1:1/x\n}": "127.0.0.1:1",
		"semel {\n store memory:\n rules none.yaml\n}":         "none.yaml",
		"semel {\n store memory:\n rules asks.yaml\n}":         "name it as the upstream",
		"semel {\n store memory:\n upstream ftp://x\n}":        "does not start with http://",
	} {
		dir := t.TempDir()
		noError(t, os.WriteFile(filepath.Join(dir, "asks.yaml"), []byte("version: 1\nroutes:\n  - name: orders\n    match: {methods: [POST], path: /orders}\n    scope: {constant: shop}\n    authorize: {get: /me}\n"), 0o600))
		noError(t, os.WriteFile(filepath.Join(dir, "Caddyfile"), []byte("http://127.0.0.1:0 {\n"+block+"\n}\n"), 0o600))
		out := validate(t, dir)
		if !strings.Contains(out, want) || strings.Contains(out, "s3cret") {
			t.Errorf("%q: got %s\nwant %q", block, out, want)
		}
	}
}

// Promise 5: a caller that Caddy does not trust is not who it says in X-Forwarded-For, and the application hears where it comes from.
func TestForwardedForOfStrangers(t *testing.T) {
	t.Parallel()
	app := newApplication(t)
	heard := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, fmt.Sprint(app.created.Add(1), r.Header["X-Forwarded-For"]))
	})
	app.serve.Store(&heard)
	p := start(t, "\tsemel {\n\t\tstore {env.STORE}\n\t\trules semel.yaml\n\t}\n\treverse_proxy "+app.address,
		"version: 1\nroutes:\n  - {name: orders, match: {methods: [POST], path: /orders}, scope: [{header: X-Forwarded-For}, {constant: rest}]}\n")
	for _, from := range []string{"6.6.6.6", "7.7.7.7"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url+"/orders", http.NoBody)
		noError(t, err)
		req.Header.Set("Idempotency-Key", "k")
		req.Header.Set("X-Forwarded-For", from)
		if got := send(t, req); got.body != "1 [127.0.0.1]" || got.replayed() != (from == "7.7.7.7") {
			t.Errorf("%s: %+v", from, got)
		}
	}
}
