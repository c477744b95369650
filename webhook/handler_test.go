package webhook_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/internal/webhooksig"
	"github.com/semel-dev/semel/semelhttp"
	"github.com/semel-dev/semel/store/memstore"
	"github.com/semel-dev/semel/webhook"
)

// receiver is a server whose endpoint counts what reaches its handler.
type receiver struct {
	url   string
	guard *semel.Guard
	store *memstore.Store
	ran   atomic.Int32
	now   atomic.Int64         // the verifier's clock
	hold  chan struct{}        // handlers wait for it to be closed, unless it is nil
	log   []semelhttp.Decision // what the middleware reported
	mu    sync.Mutex           // guards log
	begun chan struct{}        // a handler has begun
}

func receive(t *testing.T, o webhook.VerifierOptions, change func(*receiver, *semelhttp.Options)) *receiver {
	t.Helper()
	r := &receiver{store: memstore.New(nil), begun: make(chan struct{}, 100)}
	r.now.Store(signedAt)
	r.guard = must.Get(semel.New(r.store, &semel.Options{SweepEvery: -1}))
	o.Now = func() time.Time { return time.Unix(r.now.Load(), 0) }
	set := semelhttp.Options{OnDecision: func(_ context.Context, d semelhttp.Decision) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.log = append(r.log, d)
	}}
	if change != nil {
		change(r, &set)
	}
	next := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		n := r.ran.Add(1)
		r.begun <- struct{}{}
		if r.hold != nil {
			<-r.hold
		}
		got, _ := io.ReadAll(req.Body)
		_, _ = fmt.Fprintf(w, "%d: %s", n, got)
	})
	t.Cleanup(func() { _ = r.guard.Close() })
	r.serve(t, must.Get(must.Get(webhook.NewVerifier(&o)).Handler(r.guard, "payments", next, &set)))
	return r
}

// serve serves the endpoint until the test ends.
func (r *receiver) serve(t *testing.T, handler http.Handler) {
	t.Helper()
	server := httptest.NewServer(handler)
	r.url = server.URL
	t.Cleanup(server.Close)
}

// receiverAnswer is that of the receiver, as the sender sees it.
type receiverAnswer struct {
	status          int
	body            string
	replayed        bool
	problem, reason string
}

// deliver sends a delivery; the header Host changes the host.
func (r *receiver) deliver(t *testing.T, method, path, body string, h http.Header) receiverAnswer {
	t.Helper()
	req := must.Get(http.NewRequestWithContext(t.Context(), method, r.url+path, strings.NewReader(body)))
	req.Header = h
	if host := h.Get("Host"); host != "" {
		req.Host = host
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Error(err)
		return receiverAnswer{}
	}
	defer func() { _ = res.Body.Close() }()
	text := must.Get(io.ReadAll(res.Body))
	got := receiverAnswer{status: res.StatusCode, body: string(text), replayed: res.Header.Get("Idempotent-Replayed") != ""}
	if res.Header.Get("Content-Type") == "application/problem+json" {
		var p struct{ Type, Reason string }
		must.Succeed(json.Unmarshal(text, &p), "the problem is JSON")
		got.problem, got.reason = strings.TrimPrefix(p.Type, "urn:semel:problem:"), p.Reason
	}
	return got
}

func (r *receiver) wantRan(t *testing.T, want int32) {
	t.Helper()
	if got := r.ran.Load(); got != want {
		t.Errorf("the handler ran %d times, want %d", got, want)
	}
}

// signed is the header of a delivery that is signed at that time.
func signed(id string, at int64, text string) http.Header {
	signature := webhooksig.Sign(must.Get(webhooksig.DecodeSecret(whsec)), id, time.Unix(at, 0), []byte(text))
	return http.Header{"Webhook-Id": {id}, "Webhook-Timestamp": {fmt.Sprint(at)}, "Webhook-Signature": {signature}}
}

// sum is the signature of the older schemes.
func sum(secret, text string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(text))
	return hex.EncodeToString(mac.Sum(nil))
}

// TestConcurrentDeliveries (promise 3): the same delivery three times at once takes effect once, and all get one answer.
func TestConcurrentDeliveries(t *testing.T) {
	t.Parallel()
	r := receive(t, webhook.VerifierOptions{Secrets: []string{whsec}}, func(r *receiver, _ *semelhttp.Options) { r.hold = make(chan struct{}) })
	answers := make(chan receiverAnswer, 3)
	for range cap(answers) {
		go func() { answers <- r.deliver(t, http.MethodPost, "/", body, standard()) }()
	}
	<-r.begun
	close(r.hold)
	replayed := 0
	for range cap(answers) {
		got := <-answers
		if got.status != http.StatusOK || got.body != "1: "+body {
			t.Errorf("got %+v", got)
		}
		if got.replayed {
			replayed++
		}
	}
	if replayed != 2 {
		t.Errorf("%d answers were replayed, want 2", replayed)
	}
	r.wantRan(t, 1)
}

// TestRepetitions (promise 2): a delivery that is signed afresh days later is replayed; one with the old signature is
// refused, whether or not the event is known.
func TestRepetitions(t *testing.T) {
	t.Parallel()
	r := receive(t, webhook.VerifierOptions{Secrets: []string{whsec}}, nil)
	first := r.deliver(t, http.MethodPost, "/", body, standard())
	r.now.Store(signedAt + 3*24*3600)
	if got := r.deliver(t, http.MethodPost, "/", body, standard()); got.status != http.StatusUnauthorized || got.problem != "signature-expired" {
		t.Errorf("the old signature: got %+v", got)
	}
	again := r.deliver(t, http.MethodPost, "/", body, signed(exampleID, r.now.Load(), body))
	if again.status != http.StatusOK || again.body != first.body || !again.replayed {
		t.Errorf("a fresh signature: got %+v, want %+v again", again, first)
	}
	if got := r.deliver(t, http.MethodPost, "/", "{}", signed(exampleID, r.now.Load(), "{}")); got.problem != "key-reused" {
		t.Errorf("another body under the id: got %+v", got)
	}
	r.wantRan(t, 1)
	if rec := must.Get(r.guard.Lookup(t.Context(), semel.Key{Scope: "webhook:payments", Name: exampleID})); time.Until(rec.ExpiresAt) < 6*24*time.Hour {
		t.Errorf("the record expires at %v, want it to stay for seven days", rec.ExpiresAt)
	}
}

// TestUnsignedParts: what is not signed does not make a delivery another event: an attacker that has recorded one can change it.
func TestUnsignedParts(t *testing.T) {
	t.Parallel()
	github := webhook.VerifierOptions{Scheme: webhook.GitHub, Secrets: []string{githubSecret}}
	star := `{"action":"created","starred_at":1}`
	of := func(text string) []string {
		return []string{"X-Hub-Signature-256", "sha256=" + sum(githubSecret, text)}
	}
	for _, c := range []struct {
		name      string
		o         webhook.VerifierOptions
		bodies    [2]string
		first     []string
		again     []string
		path      string
		runsTwice bool
	}{
		{
			"host, path and credentials",
			webhook.VerifierOptions{Secrets: []string{whsec}},
			[2]string{body, body},
			nil,
			[]string{"Host", "other.test", "Cookie", "sessionid=1", "Authorization", "Bearer x", "Content-Type", "text/plain"},
			"/other?a=1", false,
		},
		{"the delivery id of GitHub", github, [2]string{star, star}, append(of(star), "X-Github-Delivery", "1"), append(of(star), "X-Github-Delivery", "2"), "/", false},
		{"another body of GitHub", github, [2]string{star, star + " "}, of(star), of(star + " "), "/", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := receive(t, c.o, nil)
			first := r.deliver(t, http.MethodPost, "/", c.bodies[0], standard(c.first...))
			again := r.deliver(t, http.MethodPost, c.path, c.bodies[1], standard(c.again...))
			if first.status != http.StatusOK || again.status != http.StatusOK || again.replayed == c.runsTwice {
				t.Errorf("got %+v and %+v", first, again)
			}
		})
	}
}

// TestEventInTheBody: a pointer into the signed body names the event, whatever else the sender changes in it.
func TestEventInTheBody(t *testing.T) {
	t.Parallel()
	r := receive(t, webhook.VerifierOptions{Scheme: webhook.Stripe, Secrets: []string{stripeSecret}}, nil)
	deliver := func(at int64, text string) receiverAnswer {
		r.now.Store(at)
		h := http.Header{"Stripe-Signature": {fmt.Sprintf("t=%d,v1=%s", at, sum(stripeSecret, fmt.Sprintf("%d.%s", at, text)))}}
		return r.deliver(t, http.MethodPost, "/", text, h)
	}
	first := deliver(signedAt, `{"id":"evt_1","pending_webhooks":2}`)
	again := deliver(signedAt+3600, `{"id":"evt_1","pending_webhooks":1}`)
	if first.status != http.StatusOK || !again.replayed || again.body != first.body {
		t.Errorf("got %+v and then %+v", first, again)
	}
	if other := deliver(signedAt, `{"id":"evt_2","pending_webhooks":2}`); other.status != http.StatusOK || other.replayed {
		t.Errorf("another event: got %+v", other)
	}
	for text, want := range map[string]string{
		`{"object":"event"}`:          "event-missing",
		`{"id":null}`:                 "event-missing",
		`{"id":""}`:                   "event-missing",
		`{"id":"evt_1","id":"evt_3"}`: "event-missing",
		`{"id":{}}`:                   "event-missing",
		`{"id":"evt_1"`:               "event-missing",
		`id=evt_1`:                    "event-missing",
		`{"id":"` + strings.Repeat("x", 256) + `"}`: "key-invalid",
	} {
		if got := deliver(signedAt, text); got.status != http.StatusBadRequest || got.problem != want {
			t.Errorf("%.40s: got %+v, want %s", text, got, want)
		}
	}
	r.wantRan(t, 2)
}

// TestRefused: what the sender did not sign just now reaches neither the handler nor the store, is reported, and its
// sender learns what to do.
func TestRefused(t *testing.T) {
	t.Parallel()
	r := receive(t, webhook.VerifierOptions{Secrets: []string{whsec}}, nil)
	large := strings.Repeat("x", 1<<20+1)
	twice := standard()
	twice.Add("Webhook-Signature", macOf)
	for name, c := range map[string]struct {
		method, body    string
		header          http.Header
		status          int
		problem, reason string
		outcome         string
	}{
		"forged":     {"POST", body + " ", standard(), 401, "signature-invalid", "", "unverified"},
		"unsigned":   {"POST", body, http.Header{}, 401, "signature-invalid", "the header Webhook-Id is missing", "unverified"},
		"old":        {"POST", body, signed("a", signedAt-301, body), 401, "signature-expired", "its time is more than 5m0s from this server's", "unverified"},
		"two values": {"POST", body, twice, 400, "signature-malformed", "the header Webhook-Signature came 2 times", "unverified"},
		"too large":  {"POST", large, signed("a", signedAt, large), 413, "body-too-large", "", "body-too-large"},
		"long id":    {"POST", body, signed(strings.Repeat("a", 256), signedAt, body), 400, "key-invalid", "it has 256 bytes, more than 255", "key-invalid"},
		"PUT":        {"PUT", body, standard(), 405, "method-not-allowed", "", ""},
	} {
		r.mu.Lock()
		r.log = nil
		r.mu.Unlock()
		got := r.deliver(t, c.method, "/", c.body, c.header)
		if got.status != c.status || got.problem != c.problem || c.problem != "key-invalid" && got.reason != c.reason {
			t.Errorf("%s: got %+v", name, got)
		}
		r.mu.Lock()
		if c.outcome != "" && (len(r.log) != 1 || string(r.log[0].Outcome) != c.outcome) || c.outcome == "" && len(r.log) != 0 {
			t.Errorf("%s: reported %+v", name, r.log)
		}
		r.mu.Unlock()
	}
	r.wantRan(t, 0)
	if page := must.Get(r.store.List(t.Context(), semel.ListParams{})); len(page.Records) != 0 {
		t.Errorf("the store has %d records, want none", len(page.Records))
	}
}

// TestPublishedRefusals: the published policy names the refusals of a verifier.
func TestPublishedRefusals(t *testing.T) {
	t.Parallel()
	guard := must.Get(semel.New(memstore.New(nil), &semel.Options{SweepEvery: -1}))
	t.Cleanup(func() { _ = guard.Close() })
	v := must.Get(webhook.NewVerifier(&webhook.VerifierOptions{Secrets: []string{whsec}}))
	door := must.Get(semelhttp.New(guard, v.Scope("payments"), &semelhttp.Options{Key: v}))
	names := string(door.PublishedPolicy())
	for _, want := range []string{"signature-invalid", "signature-expired", "signature-malformed"} {
		if !strings.Contains(names, want) {
			t.Errorf("%s is not published: %s", want, names)
		}
	}
}

// TestHandlerRefuses: options that contradict the verifier.
func TestHandlerRefuses(t *testing.T) {
	t.Parallel()
	guard := must.Get(semel.New(memstore.New(nil), &semel.Options{SweepEvery: -1}))
	t.Cleanup(func() { _ = guard.Close() })
	v := must.Get(webhook.NewVerifier(&webhook.VerifierOptions{Secrets: []string{whsec}}))
	next := http.NotFoundHandler()
	for name, build := range map[string]func() (http.Handler, error){
		"no guard":    func() (http.Handler, error) { return v.Handler(nil, "a", next, nil) },
		"no endpoint": func() (http.Handler, error) { return v.Handler(guard, "", next, nil) },
		"another key": func() (http.Handler, error) {
			return v.Handler(guard, "a", next, &semelhttp.Options{Key: semelhttp.FromHeader("A")})
		},
		"what semelhttp refuses": func() (http.Handler, error) { return v.Handler(guard, "a", next, &semelhttp.Options{SpoolBytes: -1}) },
	} {
		if _, err := build(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
