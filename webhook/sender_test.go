package webhook_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/outbox"
	"github.com/semel-dev/semel/webhook"
)

// endpoints are servers of receivers, by the name of the endpoint.
type endpoints struct {
	mu   sync.Mutex // guards the fields below
	at   map[string]webhook.Endpoint
	seen []string // the ids that arrived, with the name of the endpoint
}

func (e *endpoints) lookup(_ context.Context, name string) (webhook.Endpoint, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.at[name], nil
}

func (e *endpoints) arrived() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.seen)
}

// serve starts a receiver.
func (e *endpoints) serve(t *testing.T, name string, handler http.HandlerFunc) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e.mu.Lock()
		e.seen = append(e.seen, name+" "+r.Header.Get("Webhook-Id"))
		e.mu.Unlock()
		handler(w, r)
	}))
	t.Cleanup(server.Close)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.at == nil {
		e.at = map[string]webhook.Endpoint{}
	}
	e.at[name] = webhook.Endpoint{URL: server.URL, Secrets: []string{whsec}}
}

func status(code int, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
	}
}

// sender may reach the loopback addresses of test servers.
func sender(t *testing.T, e *endpoints, change func(*webhook.SenderOptions)) *webhook.Sender {
	t.Helper()
	o := &webhook.SenderOptions{AllowHTTP: true, AllowNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}}
	if change != nil {
		change(o)
	}
	s := must.Get(webhook.NewSender(e.lookup, o))
	t.Cleanup(s.Close)
	return s
}

func message(endpoint, id, key string) outbox.Message {
	return outbox.Message{ID: id, Topic: endpoint, Key: key, Body: []byte(body)}
}

// wantErrors compares the kinds of errors: "", "permanent" or a part of the text.
func wantErrors(t *testing.T, got []error, want ...string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("got %v, want %d errors", got, len(want))
	}
	for i, err := range got {
		permanent := fmt.Sprintf("%T", err) == "*outbox.permanent"
		switch {
		case want[i] == "" && err == nil, want[i] == "permanent" && permanent:
		case want[i] == "" || err == nil || permanent || !strings.Contains(err.Error(), want[i]):
			t.Errorf("message %d: got %v, want %q", i, err, want[i])
		}
	}
}

// TestDeliveries (promise 3): what a Sender delivers, a Verifier takes: signed afresh by every secret under the same id, so that an
// event that is delivered again takes effect once.
func TestDeliveries(t *testing.T) {
	t.Parallel()
	for name, secret := range map[string]string{"the old secret": whsec, "the new one": "whsec_" + strings.Repeat("AAAA", 8), "the public key": whpk} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := receive(t, webhook.VerifierOptions{Secrets: []string{secret}}, nil)
			r.now.Store(time.Now().Unix())
			e := &endpoints{at: map[string]webhook.Endpoint{"a": {URL: r.url, Secrets: []string{whsec, "whsec_" + strings.Repeat("AAAA", 8), whsk}}}}
			s := sender(t, e, nil)
			m := message("a", "event-1", "")
			m.Header = map[string]string{"X-Tenant": "7", "Webhook-Id": "forged", "Connection": "close"}
			wantErrors(t, s.Publish(t.Context(), []outbox.Message{m}), "")
			wantErrors(t, s.Publish(t.Context(), []outbox.Message{m, message("a", "event-2", "")}), "", "")
			r.wantRan(t, 2)
		})
	}
}

// TestAnswers: what each answer means for the message.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   string
		rests  time.Duration // at least
	}{
		"200":             {status(200), "", 0},
		"204":             {status(204), "", 0},
		"a redirect":      {status(307, "Location", "/elsewhere"), "redirects are not followed", 0},
		"400":             {status(400), "answered 400", 0},
		"404":             {status(404), "answered 404", 0},
		"500":             {status(500), "answered 500", 0},
		"gone":            {status(410), "permanent", 0},
		"429":             {status(429, "Retry-After", "120"), "answered 429", 119 * time.Second},
		"503 until":       {status(503, "Retry-After", time.Now().Add(10*time.Minute).UTC().Format(http.TimeFormat)), "answered 503", 9 * time.Minute},
		"503 for ever":    {status(503, "Retry-After", "999999999999999999"), "answered 503", 0},
		"503 for a year":  {status(503, "Retry-After", "31536000"), "answered 503", time.Hour - time.Second},
		"503 and garbage": {status(503, "Retry-After", "soon"), "answered 503", 0},
		"no answer":       {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "deliver", 0},
		"200, cut":        {cut(200), "broke off", 0},
		"gone, cut":       {cut(410), "broke off", 0}, // not switched off for it
		"503, cut":        {cut(503), "answered 503", 0},
		"a long header":   {status(200, "X-Long", strings.Repeat("x", 1<<17)), "deliver", 0},
		"a long body": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, strings.Repeat("x", 1<<20))
		}, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := &endpoints{}
			e.serve(t, "a", c.answer)
			s := sender(t, e, nil)
			errs := s.Publish(t.Context(), []outbox.Message{message("a", "1", "")})
			wantErrors(t, errs, c.want)
			later, asked := errors.AsType[interface {
				error
				RetryAfter() time.Duration
			}](errs[0])
			if c.rests > 0 && (!asked || later.RetryAfter() < c.rests || later.RetryAfter() > time.Hour) {
				t.Errorf("got %v, want a wait of %v or more", errs[0], c.rests)
			}
			if c.rests > 0 {
				wantErrors(t, s.Publish(t.Context(), []outbox.Message{message("a", "2", "")}), "rests")
			}
			if got := len(e.arrived()); got != 1 {
				t.Errorf("%d deliveries arrived, want 1", got)
			}
		})
	}
}

// cut answers with a body that breaks off.
func cut(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "9")
		w.WriteHeader(code)
		_, _ = io.WriteString(w, "half")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// TestGone: an endpoint that answers 410 is switched off, until it has another URL.
func TestGone(t *testing.T) {
	t.Parallel()
	e := &endpoints{}
	e.serve(t, "a", status(410))
	var gone []string
	s := sender(t, e, func(o *webhook.SenderOptions) {
		o.Gone = func(_ context.Context, name string) { gone = append(gone, name) }
	})
	wantErrors(t, s.Publish(t.Context(), []outbox.Message{message("a", "1", ""), message("a", "2", "")}), "permanent", "permanent")
	wantErrors(t, s.Publish(t.Context(), []outbox.Message{message("a", "3", ""), message("unknown", "4", "")}), "permanent", "permanent")
	if diff := cmp.Diff(e.arrived(), []string{"a 1"}) + cmp.Diff(gone, []string{"a"}); diff != "" {
		t.Errorf("deliveries to an endpoint that is gone (-got +want):\n%s", diff)
	}
	e.serve(t, "a", status(200))
	wantErrors(t, s.Publish(t.Context(), []outbox.Message{message("a", "5", "")}), "")
}

// TestOrderOfKeys: behind a message that failed, no later one of its key is sent; those of other keys are.
func TestOrderOfKeys(t *testing.T) {
	t.Parallel()
	e := &endpoints{}
	refuse := func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Webhook-Id") == "2" {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}
	e.serve(t, "a", refuse)
	e.serve(t, "b", refuse)
	errs := sender(t, e, nil).Publish(t.Context(), []outbox.Message{
		message("a", "1", "k"), message("a", "2", "k"), message("a", "3", "k"), message("b", "4", "k"), message("a", "5", "l"), message("a", "6", ""),
	})
	wantErrors(t, errs, "", "answered 500", "an earlier message", "an earlier message", "", "")
	if diff := cmp.Diff(e.arrived(), []string{"a 1", "a 2", "a 5", "a 6"}); diff != "" {
		t.Errorf("arrived (-got +want):\n%s", diff)
	}
}

// TestSlowReceivers: one that never answers does not hold up others, and costs one attempt; one that answers slowly, or without
// end, has answered.
func TestSlowReceivers(t *testing.T) {
	t.Parallel()
	e := &endpoints{}
	release, fast := make(chan struct{}), make(chan struct{}, 2)
	e.serve(t, "never", func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	})
	e.serve(t, "slow", func(http.ResponseWriter, *http.Request) { <-release })
	e.serve(t, "endless", func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, strings.Repeat("x", 1000)); err != nil {
				return
			}
		}
	})
	e.serve(t, "fast", func(http.ResponseWriter, *http.Request) { fast <- struct{}{} })
	s := sender(t, e, func(o *webhook.SenderOptions) { o.Timeout = 3 * time.Second })
	done := make(chan []error)
	go func() {
		done <- s.Publish(t.Context(), []outbox.Message{
			message("never", "1", ""), message("never", "2", ""), message("slow", "3", ""), message("endless", "4", ""), message("fast", "5", ""), message("fast", "6", ""),
		})
	}()
	<-fast
	<-fast // while the others are under way
	close(release)
	errs := <-done
	wantErrors(t, errs[2:], "", "", "", "")
	wantErrors(t, errs[:1], "deadline exceeded")
	if errs[1] == nil || slices.Contains(e.arrived(), "never 2") {
		t.Errorf("the second message to the endpoint that never answers: %v", errs[1])
	}
}

// TestOneAtATime: while a delivery to an endpoint is under way, another call of Publish does not begin one.
func TestOneAtATime(t *testing.T) {
	t.Parallel()
	e := &endpoints{}
	entered := make(chan struct{}, 2)
	e.serve(t, "a", func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		entered <- struct{}{}
		<-r.Context().Done()
	})
	s := sender(t, e, func(o *webhook.SenderOptions) { o.Timeout = time.Second })
	first := make(chan []error)
	go func() { first <- s.Publish(t.Context(), []outbox.Message{message("a", "1", "")}) }()
	<-entered
	if errs := s.Publish(t.Context(), []outbox.Message{message("a", "2", "")}); errs[0] == nil {
		t.Error("the second delivery succeeded")
	}
	wantErrors(t, <-first, "deadline exceeded")
	if diff := cmp.Diff(e.arrived(), []string{"a 1"}); diff != "" {
		t.Errorf("arrived (-got +want):\n%s", diff)
	}
}

// TestPrivateAddresses: no name, number or redirect leads a delivery to an address that is not public.
func TestPrivateAddresses(t *testing.T) {
	t.Parallel()
	e := &endpoints{}
	e.serve(t, "inside", status(200))
	inside := e.at["inside"].URL
	port := inside[strings.LastIndex(inside, ":"):]
	e.serve(t, "redirect", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, inside, http.StatusTemporaryRedirect)
	})
	open := sender(t, e, nil)
	wantErrors(t, open.Publish(t.Context(), []outbox.Message{message("redirect", "1", "")}), "redirects are not followed")
	strict := sender(t, e, func(o *webhook.SenderOptions) { o.AllowNetworks = nil })
	for _, host := range []string{
		"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "[::]", "10.0.0.1", "172.16.0.1", "192.168.0.1", "169.254.169.254",
		"100.100.100.200", "168.63.129.16", "192.0.0.192", "224.0.0.1", "255.255.255.255", "[fe80::1]", "[fd00:ec2::254]", "[64:ff9b::a9fe:a9fe]",
		"[2002:7f00:1::]", "[::127.0.0.1]",
	} {
		e.at["a"] = webhook.Endpoint{URL: "http://" + host + port + "/", Secrets: []string{whsec}}
		errs := strict.Publish(t.Context(), []outbox.Message{message("a", "2", "")})
		if errs[0] == nil || !strings.Contains(errs[0].Error(), "private or reserved") && !strings.Contains(errs[0].Error(), "no such host") {
			t.Errorf("%s: got %v", host, errs[0])
		}
		if errs[0] != nil && strings.Contains(errs[0].Error(), port) {
			t.Errorf("the error shows the address: %v", errs[0])
		}
	}
	if diff := cmp.Diff(e.arrived(), []string{"redirect 1"}); diff != "" {
		t.Errorf("arrived (-got +want):\n%s", diff)
	}
}

// TestEndpointsThatCannotBeUsed: the error says why, without URL and secrets.
func TestEndpointsThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	const url = "https://user:tell-tale@hooks.test/tell-tale"
	for want, to := range map[string]webhook.Endpoint{
		"does not begin with https://": {URL: "http://user:tell-tale@hooks.test/", Secrets: []string{whsec}},
		"does not begin with":          {URL: "https://tell-tale\x7f", Secrets: []string{whsec}},
		"0 secrets":                    {URL: url},
		"secret 1 of the endpoint":     {URL: url, Secrets: []string{"whsec_tell-tale"}},
		"a public key does not sign":   {URL: url, Secrets: []string{whpk}},
		"private or reserved":          {URL: "https://user:tell-tale@127.0.0.1:1/tell-tale", Secrets: []string{whsec}},
		"permanent":                    {},
	} {
		e := &endpoints{at: map[string]webhook.Endpoint{"a": to}}
		errs := sender(t, e, func(o *webhook.SenderOptions) { o.AllowHTTP, o.AllowNetworks = false, nil }).Publish(t.Context(), []outbox.Message{message("a", "1", "")})
		wantErrors(t, errs, want)
		if strings.Contains(errs[0].Error(), "tell-tale") {
			t.Errorf("the error shows a secret: %v", errs[0])
		}
	}
	unknown := must.Get(webhook.NewSender(func(context.Context, string) (webhook.Endpoint, error) {
		return webhook.Endpoint{}, errors.New("the database is away")
	}, nil))
	wantErrors(t, unknown.Publish(t.Context(), []outbox.Message{message("a", "1", ""), message("a", "a.1", "")}), "the database is away", "permanent")
}

// TestFan: one message for each endpoint, with an id and an order of its own, the same whenever it is called.
func TestFan(t *testing.T) {
	t.Parallel()
	m := outbox.Message{ID: "event-1", Topic: "ignored", Key: strings.Repeat("k", outbox.MaxKeyBytes), Body: []byte(body)}
	all := webhook.Fan(m, "a", "b")
	if diff := cmp.Diff(webhook.Fan(m, "a", "b"), all); diff != "" || len(all) != 2 || all[0].Topic != "a" || all[1].Topic != "b" {
		t.Fatalf("got %v, then (-got +want):\n%s", all, diff)
	}
	if all[0].ID == all[1].ID || all[0].Key == all[1].Key || len(all[0].Key) > outbox.MaxKeyBytes || strings.Contains(all[0].ID, ".") {
		t.Errorf("got %v", all)
	}
	if bare := webhook.Fan(outbox.Message{}, "a"); bare[0].ID != "" || bare[0].Key != "" {
		t.Errorf("without id and key: got %v", bare)
	}
}

// TestNamesThatDifferInCase: headers of a message that are one in HTTP all arrive, in one order at every attempt.
func TestNamesThatDifferInCase(t *testing.T) {
	t.Parallel()
	e, got := &endpoints{}, make(chan []string, 1)
	e.serve(t, "a", func(_ http.ResponseWriter, r *http.Request) { got <- r.Header.Values("X-Trace") })
	m := message("a", "event-1", "")
	m.Header = map[string]string{"x-trace": "1", "X-Trace": "2", "X-TRACE": "3"}
	wantErrors(t, sender(t, e, nil).Publish(t.Context(), []outbox.Message{m}), "")
	if diff := cmp.Diff([]string{"3", "2", "1"}, <-got); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
}
