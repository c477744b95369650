package semelenvoy_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	extproc "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"
	service "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel"
	semelenvoy "github.com/semel-dev/semel/adapters/envoy"
	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/store/memstore"
)

// The same request, sent again, gets the first answer, header for header (promises 1, 2 and 6).
func TestReplay(t *testing.T) {
	t.Parallel()
	e := start(t, nil)
	for i := range 3 {
		got := e.post("k", "a")
		want := result{http.StatusCreated, http.Header{"Location": {"/orders/1"}, "Link": {"<a>", "<b>"}}, "order 1 of a"}
		wantWord := "executed"
		if i > 0 {
			wantWord = "replayed"
		}
		if live := got.header.Get("X-Envoy-Upstream-Service-Time") != ""; live != (i == 0) {
			t.Errorf("request %d: what is Envoy's own is there: %v", i, live)
		}
		if got.word() != wantWord {
			t.Errorf("request %d: %q, want %q", i, got.word(), wantWord)
		}
		got.header = http.Header{"Location": got.header["Location"], "Link": got.header["Link"]}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(result{})); diff != "" {
			t.Errorf("request %d (-want +got):\n%s", i, diff)
		}
	}
	if got := e.post("k", "b"); got.status != http.StatusUnprocessableEntity || !strings.HasPrefix(got.header.Get("Content-Type"), "application/problem+json") {
		t.Errorf("another body: %+v", got)
	}
	e.want(1)
}

// Requests at once have one effect, and all get its answer (promise 1).
func TestAtOnce(t *testing.T) {
	t.Parallel()
	e := start(t, nil)
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			if got := e.post("k", "a"); got.status != http.StatusCreated || got.body != "order 1 of a" {
				t.Errorf("%+v", got)
			}
		})
	}
	all.Wait()
	e.want(1)
}

// What is not protected passes: the processor asks Envoy for no bodies, and copes with a filter whose modes are fixed.
func TestPassing(t *testing.T) {
	t.Parallel()
	for _, fixed := range []bool{false, true} {
		e := start(t, nil)
		e.fixed = fixed
		for _, r := range []request{
			{method: http.MethodGet, path: "/orders"},
			{method: http.MethodPost, path: "/orders", body: "a"},
			{method: http.MethodPost, path: "/orders", body: "a", trailers: true},
			{method: http.MethodConnect, path: "shop.example:443"},
		} {
			c := e.open(r)
			if now := c.ask(); now != nil {
				t.Fatalf("%s %v: %+v", r.method, fixed, now)
			}
			if want := map[bool]extproc.ProcessingMode_BodySendMode{true: extproc.ProcessingMode_BUFFERED}[fixed]; c.mode.GetResponseBodyMode() != want {
				t.Errorf("%s %v: response body mode %v", r.method, fixed, c.mode.GetResponseBodyMode())
			}
			if got := c.answer(result{http.StatusCreated, http.Header{}, "made"}); got.status != http.StatusCreated || got.body != "made" || got.word() != "" {
				t.Errorf("%s %v: %+v", r.method, fixed, got)
			}
			c.close()
		}
	}
}

// Under a claim the router gets the request as it came, and makes one attempt.
func TestRequest(t *testing.T) {
	t.Parallel()
	e := start(t, nil)
	var got http.Header
	e.application = func(w http.ResponseWriter, r *http.Request) {
		got = r.Header
		w.WriteHeader(http.StatusNoContent)
	}
	sent := http.Header{"X-A": {"1", "2"}, "Cookie": {"a=1", "b=2"}, "X-Envoy-Max-Retries": {"3"}, "Content-Type": {"text/plain"}}
	if got := e.do(request{method: http.MethodPost, path: "/orders?a=b%2F", key: "k", body: "a", header: sent}); got.status != http.StatusNoContent || got.word() != "executed" {
		t.Errorf("%+v", got)
	}
	want := http.Header{"X-A": {"1", "2"}, "Cookie": {"a=1", "b=2"}, "X-Envoy-Max-Retries": {"0"}, "Content-Type": {"text/plain"}, "Idempotency-Key": {"k"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the router's request (-want +got):\n%s", diff)
	}
}

// A stream that ends before the request was let through leaves nothing behind; one that ends after it leaves the outcome unknown
// (promise 3); and one that ends after the answer was recorded changes nothing (promise 2).
func TestCut(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		until func(*conversation)
		again int
		word  string
	}{
		"before the body":   {func(c *conversation) { c.askHeader() }, http.StatusCreated, "executed"},
		"before the answer": {func(c *conversation) { c.ask() }, http.StatusConflict, ""},
		"in the answer": {func(c *conversation) {
			c.ask()
			c.answerHeader(&result{http.StatusCreated, http.Header{}, "more"})
		}, http.StatusConflict, ""},
		"after the answer": {func(c *conversation) {
			c.ask()
			c.answer(result{http.StatusCreated, http.Header{}, "made"})
		}, http.StatusCreated, "replayed"},
	} {
		for _, end := range []string{"reset", "closed"} {
			t.Run(name+" "+end, func(t *testing.T) {
				t.Parallel()
				e := start(t, nil)
				conversation := e.open(request{method: http.MethodPost, path: "/orders", key: "k", body: "a"})
				c.until(conversation)
				if end == "reset" {
					conversation.cut()
				} else {
					conversation.close()
				}
				got := e.settled("k")
				if got.status != c.again || got.word() != c.word {
					t.Errorf("the repetition got %+v, want %d %q", got, c.again, c.word)
				}
				if c.again == http.StatusConflict && !strings.Contains(got.body, "outcome-unknown") {
					t.Errorf("the repetition got %+v", got)
				}
				if c.word != "executed" {
					e.want(0) // and what the first request did
				}
			})
		}
	}
}

// A claim whose stream has ended before the reply to Envoy is released: the application did not get the request.
func TestCutBeforeLetThrough(t *testing.T) {
	t.Parallel()
	pause := &pausing{claimed: make(chan struct{}), proceed: make(chan struct{})}
	e := start(t, func(c *gateway.Config) { pause.Store, c.Store = c.Store, pause })
	c := e.open(request{method: http.MethodPost, path: "/orders", key: "k", body: "a"})
	asked := make(chan *result)
	go func() { asked <- c.ask() }()
	<-pause.claimed
	c.cut()
	<-asked
	ended := e.open(request{method: http.MethodGet, path: "/"}) // on the same connection, so behind the reset
	ended.ask()
	ended.close()
	close(pause.proceed)
	got := e.settled("k")
	if got.word() != "executed" {
		t.Errorf("the repetition got %+v", got)
	}
	e.want(1)
}

// pausing is a store whose first claim waits before it returns.
type pausing struct {
	semel.Store

	first            sync.Once
	claimed, proceed chan struct{}
}

// Claim implements semel.Store.
func (p *pausing) Claim(ctx context.Context, c semel.ClaimParams) (semel.Record, bool, error) {
	rec, won, err := p.Store.Claim(ctx, c)
	p.first.Do(func() {
		close(p.claimed)
		<-p.proceed
	})
	return rec, won, err
}

// A duplicate that waits is let go when its caller has gone, and does not disturb the first.
func TestWaiterGoes(t *testing.T) {
	t.Parallel()
	e := start(t, func(c *gateway.Config) { c.Guard.Policy.Wait = time.Hour })
	first := e.open(request{method: http.MethodPost, path: "/orders", key: "k", body: "a"})
	if now := first.ask(); now != nil {
		t.Fatalf("%+v", now)
	}
	for _, end := range []string{"reset", "closed"} {
		waiter := e.open(request{method: http.MethodPost, path: "/orders", key: "k", body: "a"})
		if now := waiter.askHeader(); now != nil {
			t.Fatalf("%s: %+v", end, now)
		}
		body := &service.ProcessingRequest_RequestBody{RequestBody: &service.HttpBody{Body: []byte("a"), EndOfStream: true}}
		claimtest.NoError(t, waiter.stream.Send(&service.ProcessingRequest{Request: body}))
		if end == "reset" {
			waiter.cut()
		} else {
			claimtest.NoError(t, waiter.stream.CloseSend())
		}
		if reply, err := waiter.stream.Recv(); err == nil || (end == "closed") != errors.Is(err, io.EOF) {
			t.Errorf("%s: got %v %v", end, reply, err)
		}
		waiter.cut()
	}
	if got := first.forward(); got.status != http.StatusCreated {
		t.Errorf("%+v", got)
	}
	first.close()
	e.want(1)
}

// An answer of Envoy's own, or one of which Envoy does not say whose it is, does not say that nothing happened (promise 3).
func TestAnswerOfEnvoy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		details string
		status  int
		again   string
	}{
		{"upstream_reset_before_response_started{connection_termination}", http.StatusServiceUnavailable, "outcome-unknown"},
		{"response_timeout", http.StatusGatewayTimeout, "outcome-unknown"},
		{"rbac_access_denied", http.StatusForbidden, "outcome-unknown"},
		{"", http.StatusServiceUnavailable, "outcome-unknown"},
		{"", http.StatusCreated, "replayed"},
		{"via_upstream", http.StatusServiceUnavailable, "executed"}, // the application says that it failed: released
	} {
		e := start(t, nil)
		e.details = c.details
		conversation := e.open(request{method: http.MethodPost, path: "/orders", key: "k", body: "a"})
		if now := conversation.ask(); now != nil {
			t.Fatalf("%+v", now)
		}
		if got := conversation.answer(result{c.status, http.Header{}, "upstream connect error"}); c.again == "outcome-unknown" && (got.status != http.StatusBadGateway || !strings.Contains(got.body, "outcome-unknown")) {
			t.Errorf("%d %s: the caller got %+v", c.status, c.details, got)
		}
		conversation.close()
		e.details = "via_upstream"
		if got := e.post("k", "a"); got.word() != c.again && !strings.Contains(got.body, c.again) {
			t.Errorf("%d %s: the repetition got %+v, want %s", c.status, c.details, got, c.again)
		}
	}
}

// An answer that came too late goes nowhere: the claim's time had ended, and the outcome is unknown (promise 3).
func TestTooLate(t *testing.T) {
	t.Parallel()
	e := start(t, func(c *gateway.Config) { c.Guard.Policy.MaxRun = 300 * time.Millisecond })
	c := e.open(request{method: http.MethodPost, path: "/orders", key: "k", body: "a"})
	if now := c.ask(); now != nil {
		t.Fatalf("%+v", now)
	}
	testserver.Eventually(t, "the outcome is unknown", func() bool {
		return strings.Contains(e.post("k", "a").body, "outcome-unknown")
	})
	if got := c.answer(result{http.StatusCreated, http.Header{}, "made"}); got.status != http.StatusBadGateway && got.status != http.StatusGatewayTimeout || !strings.Contains(got.body, "outcome-unknown") {
		t.Errorf("%+v", got)
	}
	c.close()
	e.want(0)
}

// A stream goes on to the caller as it comes, and is recorded without its body (promise 3).
func TestStream(t *testing.T) {
	t.Parallel()
	e := start(t, nil)
	c := e.open(request{method: http.MethodPost, path: "/orders", key: "k", body: "a"})
	if now := c.ask(); now != nil {
		t.Fatalf("%+v", now)
	}
	got := result{http.StatusOK, http.Header{"Content-Type": {"text/event-stream"}}, "data: 1"}
	if now := c.answerHeader(&got); now != nil || got.word() != "executed" || c.mode.GetResponseBodyMode() != extproc.ProcessingMode_NONE {
		t.Errorf("%+v %+v %v", now, got, c.mode)
	}
	c.cut()
	if got := e.post("k", "a"); got.status != http.StatusConflict || !strings.Contains(got.body, "response-not-kept") {
		t.Errorf("the repetition got %+v", got)
	}
	e.want(0)
}

// An answer that is longer than what is kept reaches the caller whole, and a repetition does not run (promise 3).
func TestLongAnswer(t *testing.T) {
	t.Parallel()
	file, err := rules.Parse("rules.yaml", []byte("version: 1\nroutes:\n  - name: orders\n    match: {methods: [POST], path: /orders}\n    response_limit: 1KiB\n"))
	claimtest.NoError(t, err)
	e := start(t, func(c *gateway.Config) { c.Rules = file })
	long := strings.Repeat("long", 1<<10)
	e.application = func(w http.ResponseWriter, _ *http.Request) {
		e.created.Add(1)
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write([]byte(long))
	}
	if got := e.post("k", "a"); got.status != http.StatusCreated || got.body != long || got.word() != "executed" {
		t.Errorf("%+v", got)
	}
	if got := e.post("k", "a"); !strings.Contains(got.body, "response-not-kept") {
		t.Errorf("%+v", got)
	}
	e.want(1)
}

// A body over the bounds is refused before anything is claimed: by the rule, or by the limit of a gRPC message.
func TestLongBody(t *testing.T) {
	t.Parallel()
	file, err := rules.Parse("rules.yaml", []byte("version: 1\nroutes:\n  - name: orders\n    match: {methods: [POST], path: /orders}\n    body_limit: 1MiB\n"))
	claimtest.NoError(t, err)
	e := start(t, func(c *gateway.Config) { c.Rules = file })
	if got := e.post("k", strings.Repeat("a", 5<<20)); got.status != http.StatusInternalServerError {
		t.Errorf("over gRPC's limit: %d", got.status)
	}
	if got := e.post("k", strings.Repeat("a", 2<<20)); got.status != http.StatusRequestEntityTooLarge {
		t.Errorf("over the rule's limit: %d", got.status)
	}
	if got := e.post("k", "a"); got.word() != "executed" {
		t.Errorf("%+v", got)
	}
	e.want(1)
}

// Trailers, with a body and without one, do not slip past the claim.
func TestTrailers(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"a", ""} {
		e := start(t, nil)
		retries := ""
		e.application = func(w http.ResponseWriter, r *http.Request) {
			retries = r.Header.Get("X-Envoy-Max-Retries")
			e.create(w, r)
		}
		for range 2 {
			if got := e.do(request{method: http.MethodPost, path: "/orders", key: "k", body: body, trailers: true}); got.body != "order 1 of "+body {
				t.Errorf("%q: %+v", body, got)
			}
		}
		e.want(1)
		if retries != "0" {
			t.Errorf("%q: the router may retry a claimed request %q times", body, retries)
		}
	}
}

// Without a claim, the router's retries stay as the caller wanted them.
func TestRetriesWithoutAClaim(t *testing.T) {
	t.Parallel()
	e := start(t, nil)
	for _, want := range []string{"", "3"} {
		header := http.Header{}
		if want != "" {
			header.Set("X-Envoy-Max-Retries", want)
		}
		e.application = func(w http.ResponseWriter, r *http.Request) {
			if got := r.Header.Get("X-Envoy-Max-Retries"); got != want {
				t.Errorf("got %q retries, want %q", got, want)
			}
			e.create(w, r)
		}
		e.do(request{method: http.MethodPost, path: "/orders", body: "a", header: header})
	}
}

// A caller may announce no body, and end the request with an empty one.
func TestEmptyBody(t *testing.T) {
	t.Parallel()
	e := start(t, nil)
	for range 2 {
		c := e.open(request{method: http.MethodPost, path: "/orders", key: "k", header: http.Header{"Content-Length": {"0"}}, trailers: true})
		got := c.askHeader()
		if got == nil {
			_, got = c.exchange(&service.ProcessingRequest{Request: &service.ProcessingRequest_RequestBody{RequestBody: &service.HttpBody{EndOfStream: true}}})
		}
		if got == nil {
			answer := c.forward()
			got = &answer
		}
		if got.status != http.StatusCreated || got.body != "order 1 of " {
			t.Errorf("%+v", got)
		}
		c.cut()
	}
	e.want(1)
}

// A rule whose key is made of a header judges a request with a body and trailers as any other does.
func TestDerivedKey(t *testing.T) {
	t.Parallel()
	file, err := rules.Parse("rules.yaml", []byte("version: 1\nroutes:\n  - name: orders\n    match: {methods: [POST], path: /orders}\n    key: {derive: {headers: [X-Order], window: 1m}}\n"))
	claimtest.NoError(t, err)
	e := start(t, func(c *gateway.Config) { c.Rules = file })
	for range 2 {
		got := e.do(request{method: http.MethodPost, path: "/orders", body: "a", trailers: true, header: http.Header{"X-Order": {"1"}}})
		if got.body != "order 1 of a" {
			t.Errorf("%+v", got)
		}
	}
	e.want(1)
}

// Malformed keys and paths are refused as by the gateway.
func TestRefused(t *testing.T) {
	t.Parallel()
	e := start(t, nil)
	for name, r := range map[string]request{
		"two keys": {method: http.MethodPost, path: "/orders", body: "a", header: http.Header{"Idempotency-Key": {"a", "b"}}},
		"long key": {method: http.MethodPost, path: "/orders", body: "a", key: strings.Repeat("k", 256)},
		"path":     {method: http.MethodPost, path: "orders", body: "a", key: "k"},
		"no path":  {method: http.MethodPost, body: "a", key: "k"},
	} {
		if got := e.do(r); got.status != http.StatusBadRequest {
			t.Errorf("%s: %+v", name, got)
		}
	}
	e.want(0)
}

// While the store cannot be reached nothing runs, unless the rule says so; then the answer says that it was not protected (promise 10).
func TestStoreDown(t *testing.T) {
	t.Parallel()
	for rule, want := range map[string]struct {
		status int
		word   string
	}{"": {http.StatusServiceUnavailable, ""}, "    fail_open: true\n": {http.StatusCreated, "unprotected"}} {
		file, err := rules.Parse("rules.yaml", []byte("version: 1\nroutes:\n  - name: orders\n    match: {methods: [POST], path: /orders}\n"+rule))
		claimtest.NoError(t, err)
		e := start(t, func(c *gateway.Config) {
			c.Rules, c.Store, c.Guard.StoreTimeout = file, down{c.Store}, 50*time.Millisecond
		})
		if got := e.post("k", "a"); got.status != want.status || got.word() != want.word {
			t.Errorf("%q: %+v", rule, got)
		}
	}
}

// down is a store that cannot be reached.
type down struct{ semel.Store }

func (down) Claim(context.Context, semel.ClaimParams) (semel.Record, bool, error) {
	return semel.Record{}, false, semel.ErrUnavailable
}

// A filter that is configured so that requests pass unprotected is refused, or found out (promise 10).
func TestConfiguredWrongly(t *testing.T) {
	t.Parallel()
	e := start(t, nil)
	e.static = &extproc.ProcessingMode{RequestBodyMode: extproc.ProcessingMode_STREAMED, ResponseBodyMode: extproc.ProcessingMode_BUFFERED}
	if got := e.post("k", "a"); got.status != http.StatusInternalServerError || !strings.Contains(got.body, "BUFFERED") {
		t.Errorf("%+v", got)
	}
	e.want(0)
	// Trailers without a body are not sent here, and Envoy passes the request on.
	e.static, e.fixed = &extproc.ProcessingMode{RequestBodyMode: extproc.ProcessingMode_BUFFERED, ResponseBodyMode: extproc.ProcessingMode_BUFFERED}, true
	if got := e.do(request{method: http.MethodPost, path: "/orders", key: "k", trailers: true}); got.status != http.StatusCreated || got.word() != "unprotected" {
		t.Errorf("%+v", got)
	}
	if !strings.Contains(e.log.String(), "was not protected") {
		t.Errorf("the log says: %s", e.log)
	}
}

// A config for another kind of door is refused.
func TestNew(t *testing.T) {
	t.Parallel()
	form, err := rules.Parse("rules.yaml", []byte("version: 1\nroutes:\n  - name: orders\n    match: {methods: [POST], path: /orders}\n    form: true\n"))
	claimtest.NoError(t, err)
	store := memstore.New(nil)
	for want, c := range map[string]*gateway.Config{
		"config is nil":     nil,
		"store is missing":  {},
		"Next is set":       {Store: store, Next: func(http.ResponseWriter, *http.Request) error { return nil }},
		"protects a form":   {Store: store, Rules: form},
		"upstream \"ftp://": {Store: store, Upstream: "ftp://a"},
	} {
		if _, err := semelenvoy.New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
