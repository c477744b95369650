package console_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/flow"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/operator"
	"github.com/semel-dev/semel/semelhttp"
)

// Promise 3: the story of a record says who settled it and why, and does not take a verdict for an attempt.
func TestStory(t *testing.T) {
	t.Parallel()
	w := open(t)
	own := w.answer(t, "shop", "own", "{}")
	unknown := w.lose(t, "shop", "lost", "the bank hung up")
	settled := w.lose(t, "shop", "settled", "the bank hung up")
	seen := must.Get(w.store.Lookup(t.Context(), settled))
	must.Get(must.Get(operator.New(w.guard, nil)).Resolve(t.Context(), operator.Identity{Name: "bob\u202E", Via: "back office"}, settled, seen.Fence,
		semel.Settlement{State: semel.StateCancelled, Note: "<i>ledger</i> line 77"}))
	b := w.logIn(t, robinToken)
	for name, test := range map[string]struct {
		digest semel.Digest
		says   []string
	}{
		"own attempt": {own, []string{"Attempt 1, with fence", "It was settled after", "attempts get the answer 201", "!took it over", "!earlier attempt"}},
		"unknown":     {unknown, []string{"Attempt 1, with fence", "It ended without an answer after", "!took it over"}},
		"verdict": {settled, []string{
			"One earlier attempt ended without an answer", "bob‹U&#43;202E› took it over to settle it (back office): attempt 2, with fence",
			"&lt;i&gt;ledger&lt;/i&gt; line 77", "The verdict took effect: it was cancelled", "!Attempt 2,",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, page := b.get("/console/records/" + test.digest.String())
			contains(t, page, test.says...)
		})
	}
}

// A step leads to its flow.
func TestStepOfFlow(t *testing.T) {
	t.Parallel()
	w := open(t)
	buy := flow.Define("buy", func(r *flow.Run, in string) (string, error) {
		return flow.Call(r, "charge", in, func(context.Context, string) (string, error) { return "ok", nil })
	})
	flows := must.Get(flow.New(w.guard, nil, buy))
	must.Get(flow.Start(t.Context(), flows, buy, semel.Key{Scope: "shop", Name: "order 7"}, "tea"))
	b := w.logIn(t, aliceToken)
	_, page := b.get("/console/flows")
	_, link, _ := strings.Cut(page, `<a href="/console/records/`)
	digest, _, _ := strings.Cut(link, `"`)
	_, page = b.get("/console/records/" + digest)
	_, link, _ = strings.Cut(page, `1. <a href="`)
	step, _, _ := strings.Cut(link, `"`)
	_, page = b.get(step)
	contains(t, page, `<a href="/console/records/`+digest+`">its flow</a>`)
}

// The command to copy asks about the request of the scope, and a caller's text ends no word of it.
func TestQuestion(t *testing.T) {
	t.Parallel()
	w := open(t)
	b := w.logIn(t, aliceToken)
	ask := semelhttp.ScopeBy(func(*http.Request) string { return "caller" })
	request := must.Get(http.NewRequestWithContext(t.Context(), http.MethodPut, "http://shop.example/orders/7?x", nil))
	evil := request.Clone(t.Context())
	evil.Host = "a';reboot;'"
	for name, test := range map[string]struct{ scope, key, says string }{
		"of HTTP":  {must.Get(ask(request)), "k1", `curl --globoff --header 'Idempotency-Key: "k1"' --url 'shop.example/.well-known/idempotency/status?method=PUT&path=%2Forders%2F7'`},
		"of a job": {"jobs", "k1", `--url 'GATEWAY/.well-known/idempotency/status?method=POST&path=%2FPATH'`},
		"hostile":  {must.Get(ask(evil)), "k'1", `'Idempotency-Key: "k'\''1"' --url 'a'\'';reboot;'\''/.well-known`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, page := b.get("/console/records?" + url.Values{"scope": {test.scope}, "name": {test.key}}.Encode())
			contains(t, page, "No record has")
			w.answer(t, test.scope, test.key, "{}")
			_, page = b.get("/console/records?" + url.Values{"scope": {test.scope}, "name": {test.key}}.Encode())
			contains(t, strings.NewReplacer("&#39;", "'", "&#34;", `"`, "&amp;", "&").Replace(page), test.says)
		})
	}
}
