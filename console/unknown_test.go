package console_test

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/must"
)

// picks returns the choices of a page.
func picks(page string) (all []string) {
	for _, part := range strings.Split(page, `name="pick" value="`)[1:] {
		pick, _, _ := strings.Cut(part, `"`)
		all = append(all, pick)
	}
	return all
}

// Promise 3: records that are settled together are settled each on its own and for the attempt that was seen, and the page reports each outcome.
func TestSettleMany(t *testing.T) {
	t.Parallel()
	w := open(t)
	for i := range 4 {
		w.lose(t, "shop", "order "+strconv.Itoa(i), "")
	}
	b := w.logIn(t, aliceToken)
	_, page := b.get("/console/unknown")
	chosen := picks(page)
	if len(chosen) != 4 {
		t.Fatalf("the page has %d choices: %s", len(chosen), page)
	}
	form := url.Values{"form": {hidden(t, page, "form")}, "as": {"released"}, "reason": {"the bank was down"}}
	for name, test := range map[string]struct {
		pick   []string
		as     string
		status int
		says   string
	}{
		"none":      {nil, "released", 422, "choose the records"},
		"many":      {make([]string, 101), "released", 422, "at most 100"},
		"an answer": {chosen, "completed", 422, "choose an outcome for all"},
		"no record": {[]string{"<i>x"}, "released", 200, "it names no record"},
	} {
		form["pick"], form["as"] = test.pick, []string{test.as}
		status, page := b.post("/console/unknown", form)
		if status != test.status {
			t.Errorf("%s: got status %d", name, status)
		}
		contains(t, page, test.says, "!<i>x")
	}

	rerun := must.Get(w.guard.With(semel.Policy{OnUnknown: semel.Rerun})) // another attempt of the last one, meanwhile
	claim, _, err := rerun.Begin(t.Context(), semel.Key{Scope: "shop", Name: "order 3"}, semel.FingerprintOf("x"))
	noError(t, err)
	noError(t, claim.Unknown("second loss"))
	form["pick"], form["as"] = chosen, []string{"released"}
	_, page = b.post("/console/unknown", form)
	contains(t, page, "3 of 4 records settled as released.", "order 0</bdi>: <bdi>released", "the record changed while you looked at it")
	if left := picks(page); len(left) != 1 {
		t.Errorf("the page has %d records, want 1", len(left))
	}
	_, page = b.post("/console/unknown", form) // as a second operator does, with the same page
	contains(t, page, "0 of 4 records settled as released.", "the record is gone")
	_, page = b.get("/console/audit")
	if n := strings.Count(page, "<bdi>the bank was down"); n != 3 {
		t.Errorf("the trail has %d verdicts, want 3", n)
	}
	robin := w.logIn(t, robinToken)
	_, page = robin.get("/console/unknown")
	contains(t, page, "!name=\"pick\"")
	form.Set("form", hidden(t, page, "form"))
	if status, _ := robin.post("/console/unknown", form); status != http.StatusForbidden {
		t.Errorf("a token that may only look: got status %d", status)
	}
}

// Promise 3: a store that goes away in the middle of many verdicts leaves a page that says which were taken.
func TestSettleManyInAStorm(t *testing.T) {
	t.Parallel()
	l := openLively(t)
	for i := range 4 {
		l.lose(t, "shop", "order "+strconv.Itoa(i), "")
	}
	b := l.logIn(t, aliceToken)
	_, page := b.get("/console/unknown")
	chosen := picks(page)
	third := must.Get(semel.ParseDigest(chosen[2][:64]))
	l.store.lost.Store(&third)
	status, page := b.post("/console/unknown", url.Values{"form": {hidden(t, page, "form")}, "as": {"cancelled"}, "reason": {"the bank says no"}, "pick": chosen})
	if status != http.StatusServiceUnavailable {
		t.Errorf("got status %d", status)
	}
	contains(t, page, "2 of 4 were settled before", "order 0</bdi>: <bdi>cancelled", "order 1</bdi>: <bdi>cancelled", "It is not certain whether it was settled", "nothing was done: the store had gone away", "the bank says no")
	if left := picks(page); len(left) != 2 {
		t.Errorf("the page has %d records, want 2", len(left))
	}
}
