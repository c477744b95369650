package console_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/flow"
	"github.com/semel-dev/semel/inbox"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/operator"
)

// shelve puts a message into quarantine.
func (w *world) shelve(t *testing.T, m inbox.Message) semel.Digest {
	t.Helper()
	in := must.Get(inbox.New(w.guard, &inbox.Options{Consumer: "billing"}))
	if v := in.Handle(t.Context(), m, func(context.Context, inbox.Message) error { return semel.MarkFinal(errors.New("no such customer")) }); v.Act != inbox.Quarantine {
		t.Fatalf("got %+v", v)
	}
	var digest semel.Digest
	_, err := inbox.List(t.Context(), w.guard, "billing", operator.Search{}, func(h *inbox.Held) error {
		if h.Message.ID == m.ID {
			digest = h.Digest
		}
		return nil
	})
	noError(t, err)
	return digest
}

// A message in quarantine is released once, with a name and a reason in the audit trail.
func TestRelease(t *testing.T) {
	t.Parallel()
	w := open(t)
	digest := w.shelve(t, inbox.Message{
		ID: "m-17", Subject: "orders.paid", Key: []byte("customer-17"), Body: []byte("secret tea"), Header: map[string]string{"trace": "abc"},
		Repeated: map[string][]string{"trace": {"abc", "def"}}, Time: time.Unix(1764291723, 0),
	})
	b := w.logIn(t, aliceToken)
	path := "/console/quarantine/" + digest.String()
	_, page := b.get("/console/quarantine")
	contains(t, page, `href="`+path+`"`, "m-17", "no such customer")
	_, page = b.get(path)
	contains(t, page, "secret tea", "trace", "def", "billing", "orders.paid", "customer-17", "2025-11-28")

	form := url.Values{"form": {hidden(t, page, "form")}, "as": {"release"}, "reason": {" "}}
	status, page := b.post(path, form)
	if status != http.StatusUnprocessableEntity {
		t.Errorf("without a reason: got status %d", status)
	}
	contains(t, page, "say how you know with the reason", `value="release" required checked`)
	form.Set("reason", "the customer is there now")
	_, page = b.post(path, form)
	contains(t, page, "The message is released.", "!Decide as alice")
	status, page = b.post(path, form)
	if status != http.StatusConflict {
		t.Errorf("the second time: got status %d", status)
	}
	contains(t, page, "the message is already released")
	_, page = b.get("/console/audit")
	contains(t, page, "alice", "the customer is there now", "release")
	if h := must.Get(inbox.Find(t.Context(), w.guard, digest)); h.Decision != "released" {
		t.Errorf("the message is %q", h.Decision)
	}
}

// Promise 10: a token that may only look sees no header and no body of a message, and decides on none.
func TestReaderOfQuarantine(t *testing.T) {
	t.Parallel()
	w := open(t)
	digest := w.shelve(t, inbox.Message{ID: "m-17", Key: []byte("secret key"), Body: []byte("secret tea"), Header: map[string]string{"trace": "secret header"}})
	robin := w.logIn(t, robinToken)
	path := "/console/quarantine/" + digest.String()
	_, page := robin.get(path)
	contains(t, page, "m-17", "!secret", "!<textarea", "Your token may only look")
	for _, session := range []struct {
		form string
		says string
	}{{hidden(t, page, "form"), "may only look"}, {"guess", "another session"}} {
		status, page := robin.post(path, url.Values{"form": {session.form}, "as": {"drop"}, "reason": {"x"}})
		if status != http.StatusForbidden {
			t.Errorf("got status %d", status)
		}
		contains(t, page, session.says)
	}
	if h := must.Get(inbox.Find(t.Context(), w.guard, digest)); h.Decision != "" {
		t.Errorf("the message is %q", h.Decision)
	}
}

// A decision that the end of a session interrupts is on the page again after the log-in, and not done.
func TestSessionEndsInQuarantine(t *testing.T) {
	t.Parallel()
	w := open(t)
	digest := w.shelve(t, inbox.Message{ID: "m-17", Body: []byte("tea")})
	b := w.logIn(t, aliceToken)
	path := "/console/quarantine/" + digest.String()
	_, page := b.get(path)
	form := url.Values{"form": {hidden(t, page, "form")}, "as": {"drop"}, "reason": {"a test message"}}
	b.post("/console/logout", url.Values{"form": {hidden(t, page, "form")}})
	_, page = b.post(path, form)
	_, page = b.post("/console/login", url.Values{"token": {aliceToken}, "next": {hidden(t, page, "next")}, "typed": {hidden(t, page, "typed")}})
	contains(t, page, "has not been done yet", "a test message", `value="drop" checked`)
	if h := must.Get(inbox.Find(t.Context(), w.guard, digest)); h.Decision != "" {
		t.Errorf("the message is %q", h.Decision)
	}
	form.Set("form", hidden(t, page, "form"))
	_, page = b.post(path, form)
	contains(t, page, "The message is dropped.")
}

// Messages of strangers are text: a body may be binary, huge or a script, and characters that hide are written out.
func TestHostileMessages(t *testing.T) {
	t.Parallel()
	w := open(t)
	const evil = `"><script>alert(1)</script>`
	b := w.logIn(t, aliceToken)
	for name, test := range map[string]struct {
		message inbox.Message
		says    string
	}{
		"script":   {inbox.Message{ID: evil, Subject: evil, Body: []byte(evil), Header: map[string]string{evil: evil}}, "&lt;script"},
		"binary":   {inbox.Message{ID: "binary", Body: []byte{0xff, 0, 1}}, "3 bytes, not text"},
		"one byte": {inbox.Message{ID: "one byte", Body: []byte("x")}, "Its body, 1 byte<"},
		"not text": {inbox.Message{ID: "id", Subject: "\xff\x00"}, "Message in quarantine"},
		"huge":     {inbox.Message{ID: "huge", Body: []byte(strings.Repeat("€", 20_000))}, "€…"},
		"bidi":     {inbox.Message{ID: "invoice\u202Efdp.exe\u200B", Body: []byte("a\u2066\nb")}, "invoice‹U&#43;202E›fdp.exe‹U&#43;200B›"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			digest := w.shelve(t, test.message)
			for _, path := range []string{"/console/quarantine", "/console/quarantine?consumer=" + url.QueryEscape(evil), "/console/quarantine/" + digest.String()} {
				_, page := b.get(path)
				contains(t, page, "!<script>", "!\u202E", "!\u2066", "</html>")
			}
			_, page := b.get("/console/quarantine/" + digest.String())
			contains(t, page, test.says)
			if len(page) > 80<<10 {
				t.Errorf("the page has %d bytes", len(page))
			}
		})
	}
}

// Promise 8: where flows and messages are rare, a page looks at a bounded number of records, and goes on there.
func TestRareRows(t *testing.T) {
	t.Parallel()
	w := open(t)
	for i := range 6500 {
		w.answer(t, "shop", strconv.Itoa(i), "{}")
	}
	b := w.logIn(t, aliceToken)
	for _, path := range []string{"/console/flows", "/console/quarantine"} {
		_, page := b.get(path)
		contains(t, page, "records of the store were looked at.", "!all there are", "</html>")
		_, page = b.get(older(page, path))
		contains(t, page, "all there are")
	}
}

// A long quarantine is shown in pages of at most 50, each message once.
func TestLongQuarantine(t *testing.T) {
	t.Parallel()
	w := open(t)
	const messages = 120
	in := must.Get(inbox.New(w.guard, &inbox.Options{Consumer: "billing"}))
	for i := range messages {
		in.Handle(t.Context(), inbox.Message{ID: "m" + strconv.Itoa(i)}, func(context.Context, inbox.Message) error { return semel.MarkFinal(errors.New("no")) })
	}
	b := w.logIn(t, aliceToken)
	shown, next := 0, "/console/quarantine"
	for pages := 0; next != ""; pages++ {
		if pages > 20 {
			t.Fatal("the list does not end")
		}
		_, page := b.get(next)
		n := strings.Count(page, `<th scope="row"`)
		if n > 50 {
			t.Errorf("a page has %d messages", n)
		}
		shown, next = shown+n, older(page, "/console/quarantine")
	}
	if shown != messages {
		t.Errorf("the pages have %d messages, want %d", shown, messages)
	}
}

// A flow is shown with its steps, in a drawing and in a table, and the parked ones are found.
func TestFlows(t *testing.T) {
	t.Parallel()
	w := open(t)
	const evil = `<script>x</script>`
	buy := flow.Define("buy", func(r *flow.Run, in string) (string, error) {
		for _, name := range []string{"reserve", evil} {
			if _, err := flow.Call(r, name, in, func(context.Context, string) (string, error) { return "ok", nil }); err != nil {
				return "", err
			}
		}
		return flow.Call(r, "charge", in, func(context.Context, string) (string, error) { return "", errors.New("the card service hung up") })
	})
	flows := must.Get(flow.New(w.guard, nil, buy))
	key := semel.Key{Scope: "shop", Name: "order 7"}
	for range 2 {
		if _, err := flow.Start(t.Context(), flows, buy, key, "tea"); err == nil {
			t.Fatal("the flow ended")
		}
	}
	b := w.logIn(t, aliceToken)
	_, page := b.get("/console/flows?parked")
	contains(t, page, "order 7", "buy", "in <bdi>shop</bdi>")
	_, link, _ := strings.Cut(page, `<a href="/console/records/`)
	digest, _, _ := strings.Cut(link, `"`)
	_, page = b.get("/console/records/" + digest)
	contains(t, page, "The steps of this flow", `class="box completed"`, `class="box unknown"`, "reserve", "&lt;script&gt;x", "!<script>", "!step 3", "the card service hung up")
	_, page = b.get("/console/flows")
	contains(t, page, "order 7", "all there are")
}

// Promise 8: flows that are rare are found with few questions to the store, and those that come in crowds are shown 50 at a time.
func TestRareFlows(t *testing.T) {
	t.Parallel()
	l := openLively(t)
	const crowd = 130
	add := func(name string, n int) {
		for i := range n {
			l.lose(t, name, strconv.Itoa(i), "")
		}
	}
	add("shop", 5000)
	b := l.logIn(t, aliceToken)
	before := l.store.questions.Load()
	b.get("/console/flows")
	if n := l.store.questions.Load() - before; n > 20 {
		t.Errorf("the store was asked %d times", n)
	}
	add("semel:flow:buy:old", crowd)
	_, page := b.get("/console/flows")
	shown := strings.Count(page, `<th scope="row"`)
	for next := older(page, "/console/flows"); next != ""; next = older(page, "/console/flows") {
		_, page = b.get(next)
		n := strings.Count(page, `<th scope="row"`)
		if n > 50 {
			t.Errorf("a page has %d flows", n)
		}
		shown += n
	}
	if shown != crowd {
		t.Errorf("the pages have %d flows, want %d", shown, crowd)
	}
}
