package semelhttp_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/semelhttp"
)

const (
	shopOrigin  = "https://shop.example"
	otherOrigin = "https://other.example"
)

// allows is a handler that allows two origins to read its answers, the other one without credentials.
func allows(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	switch origin := r.Header.Get("Origin"); origin {
	case shopOrigin:
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Allow-Credentials", "true")
		h.Set("Access-Control-Expose-Headers", "Location")
		h.Set("Timing-Allow-Origin", origin)
	case otherOrigin:
		h.Set("Access-Control-Allow-Origin", origin)
	default: // as an application with one page would
		h.Set("Access-Control-Allow-Origin", shopOrigin)
	}
	h.Set("Vary", "Origin")
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	if r.Method == http.MethodOptions {
		h.Del("Access-Control-Expose-Headers") // which say nothing there
		w.WriteHeader(http.StatusNoContent)
		return
	}
	w.WriteHeader(http.StatusCreated)
}

// said returns what an answer says to pages of other origins.
func said(r *reply) map[string]string {
	out := map[string]string{}
	for _, name := range []string{"Allow-Origin", "Allow-Credentials", "Expose-Headers"} {
		if value := r.header.Get("Access-Control-" + name); value != "" {
			out[name] = value
		}
	}
	return out
}

// TestPagesOfOtherOriginsReadWhatTheApplicationAllows (promise 5): a replay, a refusal and a denial name the origin that asks,
// as the application did, and never another.
func TestPagesOfOtherOriginsReadWhatTheApplicationAllows(t *testing.T) {
	t.Parallel()
	var gate turnstile
	server := newDoor(t, doorOptions{Options: semelhttp.Options{BeforeReplay: gate.ask}}).serve(t, allows)
	send := func(origin, body string) map[string]string {
		return said(ask(t, server, "k1", body, "Origin", origin))
	}
	preflight := func(origin string) {
		r := newAsk(t, server.URL+"/invoices", "", "Origin", origin, "Access-Control-Request-Method", "POST")
		r.Method = http.MethodOptions
		sendAsk(t, server, r)
	}
	shop := map[string]string{"Allow-Origin": shopOrigin, "Allow-Credentials": "true", "Expose-Headers": "Location, Idempotency-Status"}
	wants := func(name string, got, want map[string]string) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	wants("executed", send(shopOrigin, "a"), shop)
	preflight(shopOrigin)
	shop["Expose-Headers"] = "Location, Idempotency-Status, Idempotent-Replayed"
	wants("replayed", send(shopOrigin, "a"), shop)
	shop["Expose-Headers"] = "Location, Idempotency-Status, Retry-After"
	wants("refused", send(shopOrigin, "b"), shop)
	wants("replayed to an origin that the application has not heard of", send(otherOrigin, "a"), map[string]string{})
	preflight(otherOrigin)
	wants("replayed after a preflight", send(otherOrigin, "a"), map[string]string{"Allow-Origin": otherOrigin, "Expose-Headers": "Idempotency-Status, Idempotent-Replayed"})
	preflight("https://evil.example")
	wants("replayed to an origin that is not allowed", send("https://evil.example", "a"), map[string]string{})
	wants("replayed to no page", said(ask(t, server, "k1", "a")), map[string]string{})
	replay := ask(t, server, "k1", "a", "Origin", shopOrigin).header
	for name, want := range map[string]string{"Timing-Allow-Origin": shopOrigin, "Cross-Origin-Resource-Policy": "cross-origin", "Vary": "Origin"} {
		if replay.Get(name) != want {
			t.Errorf("%s of a replay: got %q, want %q", name, replay.Get(name), want)
		}
	}
	if vary := ask(t, server, "k1", "b", "Origin", shopOrigin).header.Values("Vary"); !cmp.Equal(vary[:2], []string{"Idempotency-Key", "Origin"}) {
		t.Errorf("Vary of a refusal: got %q", vary)
	}
	gate.shut(&semelhttp.DeniedError{Answer: http.NotFoundHandler()})
	shop["Expose-Headers"] = "Location, Idempotency-Status"
	wants("denied", send(shopOrigin, "a"), shop)
}

// TestGrantsAreForOneAddress (promise 5): what the application allows at one path says nothing about another.
func TestGrantsAreForOneAddress(t *testing.T) {
	t.Parallel()
	server := newDoor(t, doorOptions{}).serve(t, allows)
	ask(t, server, "k1", "a", "Origin", shopOrigin)
	refused := sendAsk(t, server, newAsk(t, server.URL+"/orders", "a", "Origin", shopOrigin, "Idempotency-Key", "a,b"))
	wantProblem(t, refused, http.StatusBadRequest, "key-invalid")
	if got := said(refused); len(got) > 0 {
		t.Errorf("got %v", got)
	}
}

// TestRecordsOfOlderVersionsNameNoPage: a record that holds the origin of the first page is replayed without it.
func TestRecordsOfOlderVersionsNameNoPage(t *testing.T) {
	t.Parallel()
	server, invoices := planted(t, must.Get((&semelhttp.Response{
		Status: 201, Header: http.Header{"Access-Control-Allow-Origin": {shopOrigin}, "Timing-Allow-Origin": {"*"}, "X-Kept": {"1"}},
	}).MarshalBinary()))
	got := ask(t, server, "k", "a", "Origin", otherOrigin)
	if got.word() != "replayed" || len(said(got)) > 0 || got.header.Get("Timing-Allow-Origin") != "" || got.header.Get("X-Kept") != "1" {
		t.Errorf("got %d %v", got.status, got.header)
	}
	invoices.wantRan(t, "promise 2", 0)
}
