package console_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/flow"
	"github.com/semel-dev/semel/internal/must"
)

// fails leaves an intent that failed for good.
func fails(t *testing.T, g *semel.Guard, name, words string) semel.Digest {
	t.Helper()
	key := semel.Key{Scope: "shop", Name: name}
	if _, err := semel.Do(t.Context(), g, key, semel.Fingerprint{}, func(context.Context) (string, error) {
		return "", semel.MarkFinal(errors.New(words))
	}); err == nil {
		t.Fatal("it succeeded")
	}
	return g.Digest(key)
}

// What failed for good is failed on every page, with its words: bounded, and harmless.
func TestFailed(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.answer(t, "shop", "done", "ok")
	digest := fails(t, w.guard, "declined", "<script>x</script>\x1b[2J\u202e "+strings.Repeat("no ", 3500)+"end of 10 kB")
	b := w.logIn(t, aliceToken)
	for _, path := range []string{"/console/records", "/console/records?state=failed", "/console/records/" + digest.String()} {
		_, page := b.get(path)
		contains(t, page, `<span class="state failed"><i aria-hidden="true">✕</i> failed</span>`, "&lt;script&gt;x", "‹U&#43;001B›[2J‹U&#43;202E›", "!<script>x", "!end of 10 kB")
	}
	_, page := b.get("/console/records/" + digest.String())
	contains(t, page, "it failed for good, and attempts get the error")
	_, page = b.get("/console/records?state=failed")
	contains(t, page, "!state completed")
	_, page = b.get("/console/records?state=completed")
	contains(t, page, "state completed", "!state failed")
}

// A flow that was undone is failed in the list and on its page, at a step that has a name.
func TestFailedFlow(t *testing.T) {
	t.Parallel()
	w := open(t)
	buy := flow.Define("buy", func(r *flow.Run, in string) (string, error) {
		if _, err := flow.Call(r, "insert order", in, func(context.Context, string) (string, error) { return "ok", nil },
			flow.Undo(func(context.Context, string) error { return nil })); err != nil {
			return "", err
		}
		return flow.Call(r, "charge card", in, func(context.Context, string) (string, error) {
			return "", semel.MarkFinal(errors.New("the card is declined"))
		})
	})
	flows := must.Get(flow.New(w.guard, nil, buy))
	if _, err := flow.Start(t.Context(), flows, buy, semel.Key{Scope: "shop", Name: "order 7"}, "tea"); err == nil {
		t.Fatal("the flow succeeded")
	}
	b := w.logIn(t, aliceToken)
	_, list := b.get("/console/flows")
	contains(t, list, "state failed", "failed at charge card: the card is declined", "!state completed")
	_, link, _ := strings.Cut(list, `<a href="/console/records/`)
	digest, _, _ := strings.Cut(link, `"`)
	_, page := b.get("/console/records/" + digest)
	contains(t, page, "Failed at <strong><bdi>charge card</bdi></strong>: <bdi>the card is declined.</bdi> Undone: <strong><bdi>insert order</bdi></strong>.", `class="box failed"`, "undo insert order", "!step 2")
}

// An answer that cannot be decrypted is neither completed nor failed.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	w := open(t)
	sealing := must.Get(semel.New(w.store, &semel.Options{SweepEvery: -1, OutcomeKeys: []semel.OutcomeKey{{ID: "lost", Key: [32]byte{1}}}}))
	defer sealing.Close()
	digest := fails(t, sealing, "declined", "the card is declined")
	b := w.logIn(t, aliceToken)
	for _, path := range []string{"/console/records", "/console/records?state=unreadable", "/console/records/" + digest.String()} {
		_, page := b.get(path)
		contains(t, page, "</i> unreadable</span>", "!state completed", "!declined</bdi>”")
	}
}
