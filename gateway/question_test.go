package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/rules"
)

// register is an upstream that notes what it is asked.
type register struct {
	mu    sync.Mutex // guards the field below
	asked []string
}

func (s *register) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	if r.Method == http.MethodGet {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.asked = append(s.asked, r.URL.Query().Get("v"))
	}
}

func (s *register) takeAsked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.asked
	s.asked = nil
	return asked
}

// repetition is a request as it came first, and what came later under its key.
type repetition struct {
	contentType  string
	first, later string
}

// repetitions differ in one thing each, for each of the bodies that are read.
func repetitions() []repetition {
	const js, form = "application/json", "application/x-www-form-urlencoded"
	multipart := func(boundary, ref string) string {
		var b strings.Builder
		for _, f := range [][2]string{{"id", "k"}, {"order", "1"}, {"ref", ref}} {
			fmt.Fprintf(&b, "--%s\r\nContent-Disposition: form-data; name=%q\r\n\r\n%s\r\n", boundary, f[0], f[1])
		}
		return b.String() + "--" + boundary + "--\r\n"
	}
	return []repetition{
		{js, `{"id":"k","order":1,"ref":"A"}`, `{"id":"k","order":1,"ref":"B"}`},
		{js, `{"id":"k","order":1,"ref":"A"}`, ` {"ref":"A", "order":1, "id":"k"}`},
		{js, `{"id":"k","order":1,"ref":"A"}`, `{"id":"k","order":1.0,"ref":"A"}`},
		{js, `{"id":"k","order":{"a":"A","b":1}}`, `{"id":"k","order":{"a":"B","b":1}}`},
		{js, `{"id":"k","order":{"a":"A","b":1}}`, `{"id":"k","order":{"a":"A","b":2}}`},
		{js, `{"id":"k","order":1,"ref":"A"}`, `{"id":"k","order":1,"Ref":"B","ref":"A"}`},
		{form, `id=k&order=1&ref=A`, `id=k&order=1&ref=B`},
		{form, `id=k&order=1&ref=A`, `ref=A&order=1&id=k`},
		{"multipart/form-data; boundary=x", multipart("x", "A"), multipart("x", "B")},
		{"multipart/form-data; boundary=x", multipart("x", "A"), multipart("x", "A")},
	}
}

// TestQuestionsAreAboutTheReplay (promises 3 and 5): whatever the key is made of, a question that the rules accept asks for every
// repetition what it would ask for the first request. What a repetition could say differently is refused.
func TestQuestionsAreAboutTheReplay(t *testing.T) {
	t.Parallel()
	keys := map[string]string{
		"header":    "header: Idempotency-Key",
		"pointer":   "json_pointer: /id",
		"field":     "form_field: id",
		"webhook":   "webhook_id: true",
		"body":      "derive: {window: 60s}",
		"fields":    "derive: {fields: [order], window: 60s}",
		"pointers":  "derive: {fields: [/order/b, order], window: 60s}",
		"part":      "derive: {fields: [/order/b], window: 60s}",
		"canonical": "header: Idempotency-Key}\n    canonical_json: true\n    wait: 0s #",
	}
	asked, refused := 0, 0
	for name, key := range keys {
		for _, part := range []string{"{json:/ref}", "{json:/order}", "{json:/order/a}", "{json:/order/b}", "{form:ref}", "{form:order}"} {
			text := fmt.Sprintf("version: 1\nroutes:\n  - name: pay\n    match: {path: /pay/}\n    key: {%s}\n    authorize: {get: \"/may?v=%s\"}\n", key, part)
			file, err := rules.Parse("rules.yaml", []byte(text))
			if err != nil {
				if !strings.Contains(err.Error(), "may differ between a request and its repetition") {
					t.Fatalf("%s: %v", name, err)
				}
				refused++
				continue
			}
			s := &register{}
			d := open(t, upstream(t, s.ServeHTTP), func(c *gateway.Config) { c.Rules = file })
			for i, r := range repetitions() {
				send := func(body string) reply {
					return d.send(t, http.MethodPost, fmt.Sprintf("/pay/%d", i), body,
						"Content-Type", r.contentType, "Idempotency-Key", "k", "Webhook-Id", "k")
				}
				send(r.first)
				send(r.first)
				want := s.takeAsked()
				got := send(r.later)
				now := s.takeAsked()
				if got.word() != "replayed" {
					continue // another intent, or refused
				}
				if fmt.Sprint(now) != fmt.Sprint(want) {
					t.Errorf("key %s, question %s: %s was answered with what %s came to, and the question was about %q, not %q", name, part, r.later, r.first, now, want)
				}
				asked += len(want)
			}
		}
	}
	if asked == 0 || refused == 0 {
		t.Errorf("%d questions were asked, %d rules refused: this test shows nothing", asked, refused)
	}
}

// TestWithdrawnRightOfTheReplay (promise 5): a caller whose right to A was
// withdrawn does not get A's answer by asking with a B that it may see.
func TestWithdrawnRightOfTheReplay(t *testing.T) {
	t.Parallel()
	const text = `
version: 1
routes:
  - name: pay
    match: {path: /pay}
    key: {derive: {fields: [%s], window: 60s}}
    authorize: {get: "/may?ref={json:/ref}"}
`
	if _, err := rules.Parse("rules.yaml", fmt.Appendf(nil, text, "order")); err == nil || !strings.Contains(err.Error(), "rules.yaml:7:5: {json:/ref} may differ") {
		t.Errorf("a question about what the key leaves out must be refused with its line: %v", err)
	}
	var withdrawn sync.Map
	d := open(t, upstream(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		ref := r.URL.Query().Get("ref")
		if _, gone := withdrawn.Load(ref); gone {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		_, _ = fmt.Fprintf(w, "secret of %s", body)
	}), func(c *gateway.Config) { c.Rules = parse(t, fmt.Sprintf(text, "order, ref")) })
	pay := func(ref string) reply {
		return d.send(t, http.MethodPost, "/pay", `{"order":1,"ref":"`+ref+`"}`, "Content-Type", "application/json", "Authorization", "Bearer me")
	}
	check(t, "first", pay("A"), 200, `secret of {"order":1,"ref":"A"}`)
	withdrawn.Store("A", true)
	check(t, "withdrawn", pay("A"), 403, "")
	check(t, "another", pay("B"), 200, `secret of {"order":1,"ref":"B"}`)
}

// TestLostAnswerIsLookedUpAsItWas (promise 3): a repetition with another value in
// a field that the key leaves out does not have another payment looked up.
func TestLostAnswerIsLookedUpAsItWas(t *testing.T) {
	t.Parallel()
	const text = `
version: 1
routes:
  - name: pay
    match: {path: /pay}
    key: {derive: {fields: [order], window: 60s}}
    unknown:
      reconcile:
        get: "/payments?ref={json:%s}"
        happened_when: {status: 200}
        absent_after: 0s
`
	if _, err := rules.Parse("rules.yaml", fmt.Appendf(nil, text, "/ref")); err == nil || !strings.Contains(err.Error(), "rules.yaml:7:5: {json:/ref} may differ") {
		t.Errorf("a question about what the key leaves out must be refused with its line: %v", err)
	}
	var mu sync.Mutex
	paid := map[string]int{}
	d := open(t, upstream(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		if r.Method == http.MethodGet {
			if values, _ := url.ParseQuery(r.URL.RawQuery); paid[values.Get("ref")] == 0 {
				w.WriteHeader(http.StatusNotFound)
			}
			return
		}
		order := string(body)[len(`{"order":`):][:1]
		paid[order]++
		panic(http.ErrAbortHandler) // the effect is there, its answer is lost
	}), func(c *gateway.Config) { c.Rules = parse(t, fmt.Sprintf(text, "/order")) })
	pay := func(ref string) reply {
		return d.send(t, http.MethodPost, "/pay", `{"order":1,"ref":"`+ref+`"}`, "Content-Type", "application/json")
	}
	check(t, "first", pay("A"), 502, "outcome-unknown")
	check(t, "repeated", pay("B"), 200, "")
	mu.Lock()
	defer mu.Unlock()
	if paid["1"] != 1 {
		t.Errorf("order 1 was paid %d times, want once", paid["1"])
	}
}
