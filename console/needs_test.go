package console_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/flow"
	"github.com/semel-dev/semel/inbox"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/semelhttp"
)

// buy is a flow that ends according to its input.
func buy() *flow.Definition[string, string] {
	return flow.Define("buy", func(r *flow.Run, in string) (string, error) {
		_, err := flow.Call(r, "reserve", in, func(context.Context, string) (string, error) { return "ok", nil },
			flow.Undo(func(context.Context, string) error { return nil }))
		if err != nil {
			return "", err
		}
		return flow.Call(r, "charge card", in, func(context.Context, string) (string, error) {
			switch in {
			case "declined":
				return "", semel.MarkFinal(errors.New("the card is declined"))
			case "lost":
				return "", errors.New("the card service hung up")
			}
			return "", semel.MarkReleased(errors.New("the card service is full"))
		})
	})
}

// start runs the flow, which does not end, or fails.
func (w *world) start(t *testing.T, in string) {
	t.Helper()
	def := buy()
	if _, err := flow.Start(t.Context(), must.Get(flow.New(w.guard, nil, def)), def, semel.Key{Scope: "shop", Name: "order-" + in}, in); err == nil {
		t.Fatal("the flow completed")
	}
}

// open follows the link of a page that names the text.
func (b *browser) open(from, text string) string {
	b.t.Helper()
	_, page := b.get(from)
	before, _, found := strings.Cut(page, "<bdi>"+text)
	at := strings.LastIndex(before, `href="`)
	if !found || at < 0 {
		b.t.Fatalf("%s has no link to %s: %s", from, text, page)
	}
	link, _, _ := strings.Cut(before[at+len(`href="`):], `"`)
	_, page = b.get(link)
	return page
}

// requestScope is the scope of a caller's POST of orders.
func requestScope() string {
	ask := semelhttp.ScopeBy(func(*http.Request) string { return "caller" })
	return must.Get(ask(must.Get(http.NewRequest(http.MethodPost, "http://shop.example/orders", nil)))) //nolint:noctx // it is not sent.
}

// The overview counts records that wait for a verdict: no flow that goes on with its next attempt, and for a parked one its step alone.
func TestNeeds(t *testing.T) {
	t.Parallel()
	w := open(t)
	b := w.logIn(t, aliceToken)
	_, page := b.get("/console/")
	contains(t, page, "Nothing needs you.", "!need you", `!class="count"`)
	w.start(t, "later")
	_, page = b.get("/console/")
	contains(t, page, "Nothing needs you.", `!class="count"`)
	oldest := w.lose(t, "shop", "k", "")
	w.start(t, "lost")
	_, page = b.get("/console/")
	contains(t, page, `<data value="2">2</data> requests need you; the oldest is`, `href="/console/records/`+oldest.String()+`">Settle the oldest`,
		"1 flow is parked", `Unknown <span class="count">2</span>`, `Flows <span class="count">1</span>`)
	_, page = b.get("/console/unknown")
	if n := strings.Count(page, `<th scope="row"`); n != 2 {
		t.Errorf("the page has %d records, want 2: %s", n, page)
	}
	_, page = b.get("/console/next")
	contains(t, page, "Record "+oldest.String()[:12])
}

// The page of a flow begins with the step that waits, or with the error and the steps that were undone.
func TestFlowStates(t *testing.T) {
	t.Parallel()
	w := open(t)
	for _, in := range []string{"declined", "lost", "later"} {
		w.start(t, in)
	}
	b := w.logIn(t, aliceToken)
	_, page := b.get("/console/flows")
	contains(t, page, `class="state failed"`, `class="state parked"`, `class="state waiting"`, "the card is declined")
	page = b.open("/console/flows", "order-declined")
	contains(t, page, "Failed at <strong><bdi>charge card</bdi></strong>: <bdi>the card is declined.</bdi>", "Undone: <strong><bdi>reserve</bdi></strong>", `class="box failed"`, "!Settle")
	page = b.open("/console/flows", "order-later")
	contains(t, page, "This flow is open", "!Waiting for you", `class="state waiting"`)
	page = b.open("/console/flows", "order-lost")
	contains(t, page, "Waiting for you: <strong><bdi>charge card</bdi></strong>", "<summary>Settle the flow itself", `class="box unknown"`)
	_, link, _ := strings.Cut(page, `<a class="button main" href="`)
	step, _, _ := strings.Cut(link, `"`)
	_, page = b.get(step)
	contains(t, page, "the flow goes on with the result below", "!name=\"status\"", `name="result"`)
	form := url.Values{"form": {hidden(t, page, "form")}, "seen": {hidden(t, page, "seen")}, "as": {"completed"}, "reason": {"it is at the bank"}}
	status, page := b.post(step, form)
	if status != http.StatusUnprocessableEntity {
		t.Errorf("without a result: got status %d", status)
	}
	contains(t, page, "needs the result")
	form.Set("result", `"ch_17"`)
	_, page = b.post(step, form)
	contains(t, page, "The verdict was taken.")
	def := buy()
	got, err := flow.Start(t.Context(), must.Get(flow.New(w.guard, nil, def)), def, semel.Key{Scope: "shop", Name: "order-lost"}, "lost")
	if err != nil || got != "ch_17" {
		t.Errorf("the flow went on to %q, error %v", got, err)
	}
}

// A form has the fields of its record: for a message no status, and for a request no result.
func TestKindOfForm(t *testing.T) {
	t.Parallel()
	w := open(t)
	handle := func(context.Context, inbox.Message) error { return semel.MarkUnknown(errors.New("the bank hung up")) }
	in := must.Get(inbox.New(w.guard, &inbox.Options{Consumer: "billing"}))
	m := inbox.Message{ID: "m-18", Body: []byte("tea")}
	in.Handle(t.Context(), m, handle)
	request := w.lose(t, requestScope(), "k", "")
	b := w.logIn(t, aliceToken)
	_, page := b.get("/console/records/" + request.String())
	contains(t, page, `name="status"`, `!name="result"`, "Look in the application")
	_, page = b.get("/console/")
	contains(t, page, ">1</data> request needs you", "1 message waits for you", `Quarantine <span class="count">1</span>`)
	path := "/console/records/" + w.guard.Digest(semel.Key{Scope: "semel:inbox:billing", Name: "m-18"}).String()
	_, page = b.get(path)
	contains(t, page, `!name="status"`, `!name="result"`, "the message is not handled again")
	_, page = b.post(path, url.Values{"form": {hidden(t, page, "form")}, "seen": {hidden(t, page, "seen")}, "as": {"completed"}, "reason": {"it is booked"}})
	contains(t, page, "The verdict was taken.", "Next unknown")
	ran := false
	in.Handle(t.Context(), m, func(context.Context, inbox.Message) error { ran = true; return nil })
	if ran {
		t.Error("the message was handled again")
	}
}

// A word leads to its record at once, to several, or to a page without any.
func TestFindWord(t *testing.T) {
	t.Parallel()
	w := open(t)
	digest := w.answer(t, requestScope(), "order-17", "{}")
	for i := range 3 { // of the same first digits
		p := semel.ClaimParams{Scope: "shop", Name: "twin", Lease: time.Minute, Retention: time.Hour}
		p.Digest[0], p.Digest[1], p.Digest[2], p.Digest[3], p.Digest[31], p.Owner[0] = 0x6c, 0x5b, 0x31, 0x30, byte(i), 1
		_, _, err := w.store.Claim(t.Context(), p)
		noError(t, err)
	}
	b := w.logIn(t, aliceToken)
	text := digest.String()
	for _, word := range []string{text, text[:12] + "…", strings.ToUpper(text[:4] + "-" + text[4:8]), text[:4] + " " + text[4:8], "order-17", " order-17 "} {
		_, page := b.get("/console/find?q=" + url.QueryEscape(word))
		contains(t, page, "Record "+text[:12])
	}
	for _, word := range []string{"6C5B-3130", "6c5b-3l3o", "twin"} {
		_, page := b.get("/console/find?q=" + url.QueryEscape(word))
		if n := strings.Count(page, `<th scope="row"`); n != 3 {
			t.Errorf("%s finds %d records, want 3: %s", word, n, page)
		}
	}
	_, page := b.get("/console/find?q=6C5Z-3130")
	contains(t, page, "A reference has eight digits", "Nothing has it")
	_, page = b.get("/console/find?q=" + url.QueryEscape(`"><script>`))
	contains(t, page, "!<script>", "Nothing has it")
	_, page = b.get("/console/find?q=" + strings.Repeat("x", 300))
	contains(t, page, "Type a reference")
}
