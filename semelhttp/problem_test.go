package semelhttp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/refusal"
	"github.com/semel-dev/semel/semelhttp"
)

// TestWriteProblem: RFC 9457, with the members that callers rely on.
func TestWriteProblem(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	w.Header().Set("Content-Encoding", "gzip")
	w.Header().Set("Content-Length", "7")
	w.Header().Set("Etag", `"a"`)
	semelhttp.WriteProblem(w, newAsk(t, "http://a/", ""), semelhttp.Problem{
		Name: "in-flight", Title: "Busy", Detail: "Wait.", Status: http.StatusConflict, Retryable: true,
		RetryAfter: 1100 * time.Millisecond, PolicyURL: "/policy", Extra: map[string]any{"a": 1, "title": "forged"},
	})
	want := http.Header{
		"Content-Type": {"application/problem+json"}, "Cache-Control": {"no-store"}, "Retry-After": {"2"},
		"Link": {`</policy>; rel="describedby"`}, "Vary": {"Accept, Accept-Language"}, "X-Content-Type-Options": {"nosniff"},
	}
	if diff := cmp.Diff(want, w.Header()); diff != "" {
		t.Errorf("header (-want +got):\n%s", diff)
	}
	var got map[string]any
	noError(t, json.Unmarshal(w.Body.Bytes(), &got))
	if diff := cmp.Diff(map[string]any{
		"type": "urn:semel:problem:in-flight", "title": "Busy", "status": 409.0, "detail": "Wait.", "retryable": true, "a": 1.0,
	}, got); diff != "" || w.Code != http.StatusConflict {
		t.Errorf("document (-want +got):\n%s", diff)
	}
}

// TestProblemThatJSONCannotSay: the problem itself still arrives.
func TestProblemThatJSONCannotSay(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	semelhttp.WriteProblem(w, newAsk(t, "http://a/", ""), semelhttp.Problem{Name: "x", Status: 400, Extra: map[string]any{"f": func() {}}})
	if !strings.Contains(w.Body.String(), `"type":"urn:semel:problem:x"`) {
		t.Errorf("got %s", w.Body)
	}
}

// TestProblemForm: programs get JSON, people get a page in their language.
func TestProblemForm(t *testing.T) {
	t.Parallel()
	const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
	for _, test := range []struct{ accept, language, want, text string }{
		{"", "", "application/problem+json", ""},
		{"*/*", "sv", "application/problem+json", ""},
		{"application/json", "", "application/problem+json", ""},
		{"text/html;q=0.5, application/json", "", "application/problem+json", ""},
		{"text/html, application/json", "", "application/problem+json", ""},
		{"text/html;q=0", "", "application/problem+json", ""},
		{browser, "", "en", "This form had already been sent"},
		{browser, "en-GB,en;q=0.9,sv;q=0.8", "en", "This form had already been sent"},
		{browser, "sv-SE,sv;q=0.9,en;q=0.8", "sv", "Formuläret hade redan skickats"},
		{browser, "hi-IN", "hi", "यह फ़ॉर्म पहले ही भेजा जा चुका था"},
		{browser, "zh-CN,zh;q=0.9", "zh", "此表单之前已经提交"},
		{browser, "fr;q=1, zh;q=0.2", "zh", "此表单之前已经提交"},
		{browser, "fr, sv;q=0", "en", "This form had already been sent"},
		{browser, "sv;q=garbage", "en", "This form had already been sent"},
		{browser, strings.Repeat("x,", 10_000) + "sv", "en", "This form had already been sent"},
	} {
		d := newDoor(t, doorOptions{})
		server := d.serve(t, func(http.ResponseWriter, *http.Request) {})
		ask(t, server, "k1", "x")
		got := ask(t, server, "k1", "y", "Accept", test.accept, "Accept-Language", test.language)
		if got.status != http.StatusUnprocessableEntity {
			t.Errorf("%q %q: got %d, want 422", test.accept, test.language, got.status)
		}
		if test.text == "" {
			if contentType := got.header.Get("Content-Type"); contentType != test.want {
				t.Errorf("%q: got %s, want %s", test.accept, contentType, test.want)
			}
			continue
		}
		if !strings.Contains(got.body, `<html lang="`+test.want+`">`) || !strings.Contains(got.body, test.text) ||
			got.header.Get("Content-Language") != test.want || got.header.Get("Content-Type") != "text/html; charset=utf-8" {
			t.Errorf("%q %q: got %v %s, want a page in %s", test.accept, test.language, got.header, got.body, test.want)
		}
	}
}

// TestProblemPage: it leads on to the result and the policy, and is safe.
func TestProblemPage(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	r := newAsk(t, "http://a/", "", "Accept", "text/html", "Accept-Language", "sv")
	semelhttp.WriteProblem(w, r, semelhttp.Problem{
		Name: "mine", Title: "<script>", Status: http.StatusConflict, RetryAfter: time.Second, Extra: map[string]any{"location": "/invoices/1"},
	})
	page := w.Body.String()
	for _, want := range []string{
		`<a href="/invoices/1">Visa resultatet</a>`, `<a href="/.well-known/idempotency">`, "&lt;script&gt;", "om 1 s", `data-problem="mine"`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s:\n%s", want, page)
		}
	}
	w = httptest.NewRecorder()
	semelhttp.WriteProblem(w, r, semelhttp.Problem{Name: "mine", Status: 409, Extra: map[string]any{"location": "javascript:alert(1)"}})
	if strings.Contains(w.Body.String(), "javascript:") {
		t.Errorf("the page links to a script:\n%s", w.Body)
	}
}

// TestUnknownThatIsLookedUp: where the policy reconciles, an unknown outcome says
// when the next attempt can find out more, and nothing against it.
func TestUnknownThatIsLookedUp(t *testing.T) {
	t.Parallel()
	d := newDoor(t, doorOptions{policy: semel.Policy{
		OnUnknown: semel.Reconcile,
		Reconcile: func(context.Context, semel.Record) (semel.Reconciliation, error) {
			return semel.Reconciliation{Again: 40 * time.Second}, nil
		},
	}})
	server := d.serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGatewayTimeout) })
	ask(t, server, "k1", "x")
	got := ask(t, server, "k1", "x")
	wantProblem(t, got, http.StatusConflict, "outcome-unknown")
	if got.header.Get("Retry-After") != "40" || !strings.Contains(got.body, `"retryable":true`) || strings.Contains(got.body, "operator") {
		t.Errorf("got Retry-After %q and %s", got.header.Get("Retry-After"), got.body)
	}
	if policy := d.policy(t); !slices.ContainsFunc(policy.Problems, func(p refusal.PolicyProblem) bool {
		return p.Type == "urn:semel:problem:outcome-unknown" && p.Retryable
	}) {
		t.Error("the published policy calls it final")
	}
}

// TestPolicyHandler: the published policy, for programs and for people.
func TestPolicyHandler(t *testing.T) {
	t.Parallel()
	d := newDoor(t, doorOptions{
		policy:  semel.Policy{Retention: 72 * time.Hour},
		Options: semelhttp.Options{Required: true, ScopeText: "your account & the path", On5xx: semelhttp.UnknownOn5xx},
	})
	server := newServer(t, d.PolicyHandler())
	get := func(method string, header ...string) *reply {
		r := newAsk(t, server.URL, "", header...)
		r.Method = method
		return sendAsk(t, server, r)
	}
	got := get(http.MethodGet)
	var document map[string]any
	noError(t, json.Unmarshal([]byte(got.body), &document))
	problems, ok := document["problems"].([]any)
	if !ok || len(problems) < 11 {
		t.Errorf("got the problems %v", document["problems"])
	}
	delete(document, "problems")
	if diff := cmp.Diff(map[string]any{
		"key": "header Idempotency-Key", "header": "Idempotency-Key", "required": true, "max_key_bytes": 255.0,
		"methods": []any{"POST", "PATCH"}, "scope": "your account & the path", "mode": "idempotent",
		"retention_seconds": 259200.0, "wait_seconds": 5.0, "lease_seconds": 30.0, "replay_authorised": false,
		"max_body_bytes": float64(64 << 20), "max_response_bytes": float64(1<<20 - 4<<10),
		"statuses": map[string]any{
			"released": []any{
				401.0, 403.0, 405.0, 407.0, 408.0, 411.0, 412.0, 413.0, 414.0, 415.0, 417.0, 419.0, 421.0, 423.0, 425.0, 428.0, 429.0, 431.0, 440.0, 511.0,
			},
			"sign_in_redirects": "released",
			"server_errors":     "unknown", "others": "stored",
		},
	}, document); diff != "" {
		t.Errorf("document (-want +got):\n%s", diff)
	}
	if got.header.Get("Cache-Control") != "public, max-age=3600" || got.header.Get("Content-Type") != "application/json" {
		t.Errorf("got %v", got.header)
	}
	page := get(http.MethodGet, "Accept", "text/html")
	for _, want := range []string{`<html lang="en">`, "72 hours", "64 MiB", "your account &amp; the path", "required", "urn:semel:problem:key-reused", "401, 403, 405,", "The outcome is unknown, and a repetition is not carried out, after</th><td>500 and above"} {
		if !strings.Contains(page.body, want) {
			t.Errorf("the page lacks %q:\n%s", want, page.body)
		}
	}
	if head := get(http.MethodHead); head.status != http.StatusOK || head.body != "" {
		t.Errorf("HEAD: got %d %q", head.status, head.body)
	}
	if post := get(http.MethodPost); post.status != http.StatusMethodNotAllowed || post.header.Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: got %d %v", post.status, post.header)
	}
}

// noteTaker is a writer that wants to know which problem it is given.
type noteTaker struct {
	http.ResponseWriter
	name string
}

// NoteProblem is called by [semelhttp.WriteProblem].
func (w *noteTaker) NoteProblem(name string) { w.name = name }

// TestProblemIsNoted: a writer learns the name of the problem before its header.
func TestProblemIsNoted(t *testing.T) {
	t.Parallel()
	w := &noteTaker{ResponseWriter: httptest.NewRecorder()}
	semelhttp.WriteProblem(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil), semelhttp.Problem{Name: "in-flight", Status: http.StatusConflict})
	if got, want := w.name, "in-flight"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// staleSource finds a token that is worth nothing.
type staleSource struct{}

// Key implements semelhttp.KeySource.
func (staleSource) Key(*http.Request, *semelhttp.Body) (string, bool, error) {
	return "", true, fmt.Errorf("%w: it has expired", semelhttp.ErrFormStale)
}

// String implements semelhttp.KeySource.
func (staleSource) String() string { return "a token" }

// TestStaleForm: a form whose token is worth nothing is not executed, and its
// reader learns in their language what to do.
func TestStaleForm(t *testing.T) {
	t.Parallel()
	d := newDoor(t, doorOptions{Options: semelhttp.Options{Key: staleSource{}}})
	ran := false
	handler := d.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { ran = true }))
	for language, want := range map[string]string{"en": "reload the page", "sv": "ladda om sidan", "hi": "फिर से लोड", "zh": "刷新页面"} {
		w := handle(t, handler, "/orders", "a=1", "Accept", "text/html", "Accept-Language", language)
		if ran || w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: ran %v, got %d %s", language, ran, w.Code, w.Body)
		}
	}
}
