package gateway_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/store/memstore"
)

const payments = `
version: 1
routes:
  - name: pay
    match: {path: "/orders/{order}/payments"}
    unknown:
      reconcile:
        get: "/orders/{order}/payments?ref={key}&amount={json:/amount}"
        happened_when: {status: 200, json_pointer: /0/state, equals: paid}
        absent_after: 1m
        replay: {status: 201, location: "/payments/{answer:/0/id}"}
`

// bank is an upstream that takes payments and dies on the first.
type bank struct {
	commits atomic.Int32
	asked   chan string
	mu      sync.Mutex // guards the field below
	answer  func(http.ResponseWriter)
}

func (b *bank) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		b.asked <- r.Host + " " + r.URL.String() + " " + r.Header.Get("Authorization") + " " + r.Header.Get("Cookie")
		b.mu.Lock()
		defer b.mu.Unlock()
		b.answer(w)
		return
	}
	_, _ = io.Copy(io.Discard, r.Body)
	if b.commits.Add(1) == 1 {
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(http.StatusCreated)
}

func (b *bank) will(status int, body string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answer = func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// TestReconcile (promise 3): an unknown outcome is looked up in the upstream; what it does not say for sure stays unknown.
func TestReconcile(t *testing.T) {
	t.Parallel()
	clock := newClock()
	b := &bank{asked: make(chan string, 1)}
	d := open(t, upstream(t, b.ServeHTTP), func(c *gateway.Config) {
		c.Rules = parse(t, payments)
		c.Store = memstore.New(&memstore.Options{Now: clock.now})
	})
	pay := func() reply {
		return d.send(t, http.MethodPost, "/orders/o%2F1/payments", `{"amount":12.50}`, "Idempotency-Key", `"k 1"`,
			"Content-Type", "application/json", "Authorization", "Bearer me", "Cookie", "a=b", "Host", "shop.test")
	}
	check(t, "first", pay(), 502, "outcome-unknown")

	for _, tt := range []struct {
		name   string
		status int
		body   string
	}{
		{"an error", 500, `[{"state":"paid","id":"p-1"}]`},
		{"another state", 200, `[{"state":"pending","id":"p-1"}]`},
		{"not JSON", 200, `paid`},
		{"nothing", 200, `[]`},
		{"not there yet", 404, `{}`},
		{"happened, but no id for the Location", 200, `[{"state":"paid"}]`},
		{"an id that leaves the path", 200, `[{"state":"paid","id":".."}]`},
	} {
		b.will(tt.status, tt.body)
		check(t, tt.name, pay(), 409, "outcome-unknown")
		want := "shop.test /orders/o%2F1/payments?ref=k+1&amount=12.50 Bearer me a=b"
		if diff := cmp.Diff(want, receive(t, b.asked)); diff != "" {
			t.Errorf("%s: asked (-want +got):\n%s", tt.name, diff)
		}
		clock.add(5 * time.Second)
	}

	b.will(200, `[{"state":"paid","id":"p 1"}]`)
	for _, what := range []string{"happened", "replayed"} {
		got := pay()
		check(t, what, got, 201, `[{"state":"paid","id":"p 1"}]`)
		if got.header.Get("Location") != "/payments/p%201" || got.word() != "replayed" {
			t.Errorf("%s: header %v", what, got.header)
		}
	}
	receive(t, b.asked)
	wantActed(t, &b.commits, 1)
}

// wantFoundOut fails unless the answer says that sending the request again after at
// most rest seconds, and not much less, finds out what happened, and nothing else.
func wantFoundOut(t *testing.T, what string, got reply, rest int) {
	t.Helper()
	wait, err := strconv.Atoi(got.header.Get("Retry-After"))
	if err != nil || wait > rest || wait <= rest-10 {
		t.Errorf("%s: Retry-After %q, want the rest of absent_after, %d s", what, got.header.Get("Retry-After"), rest)
	}
	var p struct {
		Retryable bool
		Detail    string
	}
	if err := json.Unmarshal([]byte(got.body), &p); err != nil || !p.Retryable || strings.Contains(p.Detail, "operator") || !strings.Contains(p.Detail, "with the same key") {
		t.Errorf("%s: says something else than its Retry-After: %s", what, got.body)
	}
}

// TestReconcileNotHappened: what is not there long after the attempt began did
// not happen, and runs, however often it was asked in between.
func TestReconcileNotHappened(t *testing.T) {
	t.Parallel()
	clock := newClock()
	b := &bank{asked: make(chan string, 1)}
	d := open(t, upstream(t, b.ServeHTTP), func(c *gateway.Config) {
		c.Rules = parse(t, payments)
		c.Store = memstore.New(&memstore.Options{Now: clock.now})
	})
	pay := func() reply {
		return d.send(t, http.MethodPost, "/orders/1/payments", `{"amount":1}`, "Idempotency-Key", "k", "Content-Type", "application/json")
	}
	first := pay()
	check(t, "first", first, 502, "outcome-unknown")
	wantFoundOut(t, "first", first, 60)
	b.will(http.StatusNotFound, "")
	for _, rest := range []int{60, 35, 10} { // 0, 25 and 50 seconds after
		early := pay()
		check(t, "too early", early, 409, "outcome-unknown")
		wantFoundOut(t, "too early", early, rest)
		receive(t, b.asked)
		clock.add(25 * time.Second)
	}
	check(t, "after a minute", pay(), 201, "")
	receive(t, b.asked)
	if n := b.commits.Load(); n != 2 {
		t.Errorf("the upstream saw %d payments, want 2: the lost one and the one after it was looked up", n)
	}
}

// TestReconcileUnreachable: an upstream that does not answer says nothing.
func TestReconcileUnreachable(t *testing.T) {
	t.Parallel()
	b := &bank{asked: make(chan string, 2)}
	b.answer = func(http.ResponseWriter) { panic(http.ErrAbortHandler) }
	d := openRuled(t, upstream(t, b.ServeHTTP), payments)
	for _, status := range []int{502, 409, 409} {
		got := d.send(t, http.MethodPost, "/orders/1/payments", `{"amount":1}`, "Idempotency-Key", "k", "Content-Type", "application/json")
		check(t, "pay", got, status, "outcome-unknown")
		for len(b.asked) > 0 {
			<-b.asked
		}
	}
}

// TestRerun: where a rule, or the policy of requests without a rule, says that twice does no harm, unknown runs again.
func TestRerun(t *testing.T) {
	t.Parallel()
	for _, byRule := range []bool{true, false} {
		b := &bank{}
		d := open(t, upstream(t, b.ServeHTTP), func(c *gateway.Config) {
			if byRule {
				c.Rules = parse(t, "version: 1\nroutes:\n  - {name: r, match: {path: /r}, unknown: rerun}\n")
				return
			}
			c.Guard.Policy.OnUnknown = semel.Rerun
		})
		check(t, "first", d.send(t, http.MethodPost, "/r", "", "Idempotency-Key", "k"), 502, "outcome-unknown")
		check(t, "again", d.send(t, http.MethodPost, "/r", "", "Idempotency-Key", "k"), 201, "")
	}
}

// clock is a store's, moved by hand.
type clock struct {
	start time.Time
	moved atomic.Int64
}

func newClock() *clock { return &clock{start: time.Now()} }

func (c *clock) now() time.Time { return time.Now().Add(time.Duration(c.moved.Load())) }

func (c *clock) add(d time.Duration) { c.moved.Add(int64(d)) }

// TestCallerGoesAway: the work outlives the connection, and the retry gets its answer.
func TestCallerGoesAway(t *testing.T) {
	t.Parallel()
	arrived, goOn := make(chan struct{}), make(chan struct{})
	var n atomic.Int32
	d := open(t, upstream(t, func(w http.ResponseWriter, r *http.Request) {
		n.Add(1)
		close(arrived)
		select {
		case <-goOn:
			w.WriteHeader(http.StatusCreated)
		case <-r.Context().Done():
		}
	}), nil)
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan reply, 1)
	go func() { gone <- d.sendContext(ctx, http.MethodPost, "/", http.NoBody, "Idempotency-Key", "k") }()
	receive(t, arrived)
	cancel()
	if got := receive(t, gone); got.err == nil {
		t.Errorf("the caller got %d", got.status)
	}
	close(goOn)
	check(t, "retry", d.send(t, http.MethodPost, "/", "", "Idempotency-Key", "k"), 201, "")
	wantActed(t, &n, 1)
}

// TestReconciledInConsole (promise 3) shows an operator what the rule found, and since when the outcome is unknown, and does
// not take the question for an attempt of the caller.
func TestReconciledInConsole(t *testing.T) {
	t.Parallel()
	clock := newClock()
	b := &bank{asked: make(chan string, 1)}
	d := open(t, upstream(t, b.ServeHTTP), func(c *gateway.Config) {
		c.Rules = parse(t, payments)
		withTokens(t, c)
		c.Store = memstore.New(&memstore.Options{Now: clock.now})
	})
	pay := func() reply {
		return d.send(t, http.MethodPost, "/orders/o/payments", `{"amount":1}`, "Idempotency-Key", `"k"`, "Content-Type", "application/json")
	}
	from := clock.now()
	check(t, "first", pay(), 502, "outcome-unknown")
	to := clock.now()
	clock.add(time.Hour)
	b.will(500, "")
	check(t, "the bank cannot tell", pay(), 409, "outcome-unknown")
	receive(t, b.asked)

	operators := &door{url: d.admin, client: d.client}
	r := operators.send(t, http.MethodPost, "/console/login", url.Values{"token": {operatorToken}}.Encode(), "Content-Type", "application/x-www-form-urlencoded")
	cookie, _, _ := strings.Cut(r.header.Get("Set-Cookie"), ";")
	list := operators.send(t, http.MethodGet, "/console/unknown", "", "Cookie", cookie).body
	_, link, _ := strings.Cut(list, `<a href="/console/records/`)
	digest, _, _ := strings.Cut(link, `"`)
	record := operators.send(t, http.MethodGet, "/console/records/"+digest, "", "Cookie", cookie).body
	_, link, _ = strings.Cut(list, `<time class="ago" datetime="`)
	text, _, _ := strings.Cut(link, `"`)
	if since, err := time.Parse(time.RFC3339, text); err != nil || since.Before(from.Truncate(time.Millisecond)) || since.After(to) {
		t.Errorf("it is unknown since %q, want %v to %v", text, from, to)
	}
	for page, wants := range map[string][]string{
		list: {"The reconcile rule found: the upstream&#39;s answer 500 says neither"},
		record: {
			`<time datetime="` + text + `">`, "Since then it is not known", "asked whether it happened: attempt 2, with fence", "It found no certain answer",
			"<dt>Reconcile rule</dt><dd><bdi>the upstream&#39;s answer 500 says neither</bdi>",
		},
	} {
		for _, want := range wants {
			if !strings.Contains(page, want) {
				t.Errorf("the page does not say %q: %s", want, page)
			}
		}
		for _, unwanted := range []string{"[since", "It ended without an answer"} {
			if strings.Contains(page, unwanted) {
				t.Errorf("the page says %q: %s", unwanted, page)
			}
		}
	}
}
