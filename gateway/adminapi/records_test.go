package adminapi_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/flow"
	"github.com/semel-dev/semel/gateway/adminapi"
	"github.com/semel-dev/semel/internal/cli/operatorview"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/internal/verdict"
	"github.com/semel-dev/semel/operator"
	"github.com/semel-dev/semel/semelhttp"
	"github.com/semel-dev/semel/store/memstore"
)

// each runs a test over every store.
func each(t *testing.T, test func(*testing.T, *world)) {
	t.Helper()
	for name, store := range stores() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t, store(t), nil))
		})
	}
}

func names(p page) []string {
	var all []string
	for _, r := range p.Records {
		all = append(all, r.Name+" "+r.State)
	}
	return all
}

// TestList pages through records and filters them.
func TestList(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		t.Helper()
		created := &semelhttp.Response{Status: 201, Header: http.Header{"Location": {"/orders/1"}}, Body: []byte("one")}
		outcome := must.Get(created.MarshalBinary())
		w.settle(t, "shop", "done", semel.StateCompleted, outcome)
		w.settle(t, "shop", "lost", semel.StateUnknown, nil)
		w.settle(t, "bank", "lost", semel.StateUnknown, nil)
		busy := w.claim(t, semel.Key{Scope: "shop", Name: "busy"})
		defer busy.Release("the test is over")
		if _, err := w.records(t).Cancel(t.Context(), operator.Identity{Name: "bob"}, semel.Key{Scope: "shop", Name: "void"}, 0, "by hand"); err != nil {
			t.Fatal(err)
		}
		for query, want := range map[string][]string{
			"":                               {"void cancelled", "busy claimed", "lost unknown", "lost unknown", "done completed"},
			"?state=unknown":                 {"lost unknown", "lost unknown"},
			"?state=unknown&state=cancelled": {"void cancelled", "lost unknown", "lost unknown"},
			"?state=claimed":                 {"busy claimed"},
			"?scope=bank":                    {"lost unknown"},
			"?name=lost&scope=shop":          {"lost unknown"},
			"?name=nobody":                   nil,
		} {
			got := get[page](t, w.send(t, http.MethodGet, "/v1/records"+query, ""))
			if diff := cmp.Diff(want, names(got)); diff != "" || got.Next != "" {
				t.Errorf("%q: next %s, (-want +got)\n%s", query, got.Next, diff)
			}
		}
		trail := get[page](t, w.send(t, http.MethodGet, "/v1/records?scope="+url.QueryEscape(verdict.AuditScope), ""))
		if len(trail.Records) != 1 || trail.Records[0].Scope != verdict.AuditScope {
			t.Errorf("the trail, asked for: got %+v", trail)
		}
		var paged []string
		for next := ""; ; {
			got := get[page](t, w.send(t, http.MethodGet, "/v1/records?limit=2"+next, ""))
			paged = append(paged, names(got)...)
			if got.Next == "" {
				break
			}
			next = "&after=" + got.Next
		}
		if want := []string{"void cancelled", "busy claimed", "lost unknown", "lost unknown", "done completed"}; !cmp.Equal(paged, want) {
			t.Errorf("pages of two: got %q, want %q", paged, want)
		}
		done := get[page](t, w.send(t, http.MethodGet, "/v1/records?state=completed", "")).Records[0]
		if o := done.Outcome; o == nil || o.Status != 201 || o.Location != "/orders/1" || o.Bytes != 3 || !done.Kept {
			t.Errorf("the answer of the completed record: got %+v %+v", done, o)
		}
	})
}

// TestListReadsABoundedNumber stops within a crowd of records that are not
// wanted, and says where to go on (promise 8).
func TestListReadsABoundedNumber(t *testing.T) {
	t.Parallel()
	w := open(t, memstore.New(nil), nil)
	w.settle(t, "shop", "lost", semel.StateUnknown, nil)
	for i := range 2100 {
		w.hold(t, semel.Key{Scope: "shop", Name: fmt.Sprint("busy ", i)}, time.Hour)
	}
	first := get[page](t, w.send(t, http.MethodGet, "/v1/records?state=unknown", ""))
	if len(first.Records) != 0 || first.Next == "" {
		t.Fatalf("the first page: got %d records, next %q; want none, and a next", len(first.Records), first.Next)
	}
	second := get[page](t, w.send(t, http.MethodGet, "/v1/records?state=unknown&after="+first.Next, ""))
	if len(second.Records) != 1 || second.Next != "" {
		t.Errorf("the second page: got %+v", second)
	}
}

// TestListLooksAtABoundedNumber looks for one record among so many that no call
// may look at all of them (promise 8).
func TestListLooksAtABoundedNumber(t *testing.T) {
	t.Parallel()
	w := open(t, memstore.New(nil), nil)
	for i := range 2*semel.MaxListExamined + 100 {
		w.hold(t, semel.Key{Scope: "shop", Name: fmt.Sprint("busy ", i)}, time.Hour)
	}
	found, examined, pages := 0, 0, 0
	for next := ""; ; next = "&after=" + next {
		got := get[page](t, w.send(t, http.MethodGet, "/v1/records?name=busy+0"+next, ""))
		if got.Examined > semel.MaxListExamined {
			t.Errorf("one call looked at %d records, want at most %d", got.Examined, semel.MaxListExamined)
		}
		found, examined, pages = found+len(got.Records), examined+got.Examined, pages+1
		if next = got.Next; next == "" {
			break
		}
	}
	if found != 1 || examined < 2*semel.MaxListExamined || pages < 3 {
		t.Errorf("%d pages found the record %d times among %d", pages, found, examined)
	}
}

// TestShow shows one record.
func TestShow(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		t.Helper()
		digest := w.settle(t, "shop", "lost", semel.StateUnknown, nil)
		for _, path := range []string{"/v1/records/" + digest.String(), "/v1/records/" + strings.ToUpper(digest.String())} {
			r := w.send(t, http.MethodGet, path, "")
			got := get[record](t, r)
			if got.Digest != digest.String() || got.State != "unknown" || got.Scope != "shop" || got.Note != "the upstream hung up" {
				t.Errorf("got %s", r.body)
			}
			checkHeader(t, path, r)
		}
		if head := w.send(t, http.MethodHead, "/v1/records/"+digest.String(), ""); head.status != http.StatusOK || head.body != "" {
			t.Errorf("HEAD: got %d %q", head.status, head.body)
		}
		refused(t, "an absent record", w.send(t, http.MethodGet, "/v1/records/"+semel.Key{Scope: "a", Name: "b"}.Digest().String(), ""), 404, "not-found", "")
		refused(t, "a part of a digest", w.send(t, http.MethodGet, "/v1/records/"+digest.String()[:12], ""), 400, "bad-request", "digest")
	})
}

// TestCancel leaves tombstones for intents that have and have not arrived, and
// one entry in the trail for each (promise 3).
func TestCancel(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		t.Helper()
		lost := w.settle(t, "shop", "lost", semel.StateUnknown, nil)
		done := w.settle(t, "shop", "done", semel.StateCompleted, []byte("x"))
		key := semel.Key{Scope: "shop", Name: "late"}
		for range 2 { // the second time changes nothing
			for _, path := range []string{
				"/v1/records?scope=shop&name=late&reason=order+8+is+void",
				"/v1/records/" + lost.String() + "?reason=order+8+is+void",
			} {
				got := get[record](t, w.send(t, http.MethodDelete, path, ""))
				if got.State != "cancelled" || got.Note != "order 8 is void" {
					t.Errorf("%s: got %+v", path, got)
				}
			}
		}
		if _, _, err := w.guard.Begin(t.Context(), key, semel.FingerprintOf("x")); err == nil || !strings.Contains(err.Error(), "cancelled") {
			t.Errorf("the late original: got %v, want it refused", err)
		}
		r := w.send(t, http.MethodDelete, "/v1/records/"+done.String()+"?reason=x", "")
		refused(t, "a completed record", r, 409, "settled", "")
		if !strings.Contains(r.body, `"state":"completed"`) {
			t.Errorf("the refusal does not tell the state: %s", r.body)
		}
		refused(t, "an absent digest", w.send(t, http.MethodDelete, "/v1/records/"+w.guard.Digest(semel.Key{Scope: "a", Name: "b"}).String()+"?reason=x", ""), 404, "not-found", "")

		busy := w.claim(t, semel.Key{Scope: "shop", Name: "busy"})
		r = w.send(t, http.MethodDelete, "/v1/records?scope=shop&name=busy&reason=x", "")
		refused(t, "a running intent", r, 409, "being-executed", "")
		if r.header.Get("Retry-After") == "" {
			t.Errorf("a running intent: no Retry-After in %v", r.header)
		}
		if err := busy.Complete(nil, nil); err != nil {
			t.Errorf("its holder cannot end it: %v", err)
		}
		entries := w.entries(t)
		if len(entries) != 2 {
			t.Fatalf("got %d entries in the trail, want 2: %+v", len(entries), entries)
		}
		for i := range entries {
			if e := entries[i]; e.Operator.Name != "alice" || e.Operator.Via != "admin API 127.0.0.1" || e.As != semel.StateCancelled || e.Reason != "order 8 is void" {
				t.Errorf("the entry: got %+v", e)
			}
		}
	})
}

// TestResolve gives every verdict, and the next attempt gets what it says.
func TestResolve(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body  string
		state semel.State
		check func(*testing.T, record, *semelhttp.Response)
	}{
		"released":  {`{"as":"released","reason":"not in the ledger"}`, semel.StateAbsent, nil},
		"cancelled": {`{"as":"cancelled","reason":"not in the ledger","retention":"48h"}`, semel.StateCancelled, nil},
		"text": {
			`{"as":"completed","reason":"not in the ledger","status":201,"content_type":"application/json","location":"/orders/7","body":"{\"é\":1}"}`,
			semel.StateCompleted, func(t *testing.T, rec record, r *semelhttp.Response) {
				t.Helper()
				if string(r.Body) != `{"é":1}` || r.Status != 201 || r.Header.Get("Location") != "/orders/7" || r.Header.Get("Content-Type") != "application/json" || !rec.Kept {
					t.Errorf("got %+v %s", rec, r.Body)
				}
			},
		},
		"bytes": {
			`{"as":"completed","reason":"not in the ledger","status":200,"body_base64":"AP8B"}`,
			semel.StateCompleted, func(t *testing.T, _ record, r *semelhttp.Response) {
				t.Helper()
				if string(r.Body) != "\x00\xff\x01" {
					t.Errorf("got %q", r.Body)
				}
			},
		},
		"empty": {
			`{"as":"completed","reason":"not in the ledger","status":200,"body":""}`,
			semel.StateCompleted, func(t *testing.T, rec record, r *semelhttp.Response) {
				t.Helper()
				if len(r.Body) != 0 || r.BodyOmitted || !rec.Kept {
					t.Errorf("got %+v", r)
				}
			},
		},
		"unknown body": {
			`{"as":"completed","reason":"not in the ledger","status":201,"location":"/orders/7","no_body":true}`,
			semel.StateCompleted, func(t *testing.T, rec record, r *semelhttp.Response) {
				t.Helper()
				if rec.Kept || !r.BodyOmitted || !rec.Outcome.BodyOmitted {
					t.Errorf("got %+v %+v", rec, r)
				}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, w *world) {
				t.Helper()
				digest := w.settle(t, "shop", "lost", semel.StateUnknown, nil)
				path := "/v1/records/" + digest.String() + "/resolve"
				rec := get[record](t, w.send(t, http.MethodPost, path, c.body))
				if got := w.lookup(t, digest); got != c.state {
					t.Errorf("the record is %v, want %v", got, c.state)
				}
				if c.check != nil {
					stored := must.Get(w.store.Lookup(t.Context(), digest))
					response, err := semelhttp.ParseResponse(stored.Outcome)
					if err != nil {
						t.Fatal(err)
					}
					c.check(t, rec, response)
				}
				entries := w.entries(t)
				if len(entries) != 1 || entries[0].Operator.Name != "alice" || entries[0].Act != "resolve" || entries[0].Digest != digest {
					t.Errorf("the trail: got %+v", entries)
				}
				second := w.send(t, http.MethodPost, path, c.body)
				if c.state == semel.StateAbsent {
					refused(t, "a second verdict", second, 404, "not-found", "")
				} else {
					refused(t, "a second verdict", second, 409, "settled", "")
				}
				if n := len(w.entries(t)); n != 1 {
					t.Errorf("after a refused verdict the trail has %d entries, want 1", n)
				}
				if log := w.log.String(); !strings.Contains(log, "operator=alice") || strings.Contains(log, "ledger") || strings.Contains(log, aliceToken) {
					t.Errorf("the log: %s", log)
				}
			})
		})
	}
}

// TestResolveStep: a parked flow goes on with the result that an operator gives for its step.
func TestResolveStep(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		t.Helper()
		buy := flow.Define("buy", func(r *flow.Run, item string) (string, error) {
			return flow.Call(r, "charge", item, func(context.Context, string) (string, error) { return "", errors.New("no answer") })
		})
		flows := must.Get(flow.New(w.guard, nil, buy))
		start := func() (string, error) {
			return flow.Start(t.Context(), flows, buy, semel.Key{Scope: "ada", Name: "order-1"}, "tea")
		}
		_, err := start()
		parked, ok := errors.AsType[*flow.Parked](err)
		if !ok {
			t.Fatalf("got %v, want a parked flow", err)
		}
		path := "/v1/records/" + parked.Digest.String() + "/resolve"
		large := `{"as":"completed","reason":"x","result":"` + strings.Repeat("x", semel.DefaultMaxOutcomeBytes) + `"}`
		refused(t, "a result over the bound", w.send(t, http.MethodPost, path, large), 413, "body-too-large", "result")
		if rec := get[record](t, w.send(t, http.MethodPost, path, `{"as":"completed","reason":"the service shows it","result":"ch_17"}`)); !rec.Kept {
			t.Errorf("got %+v, want the result kept", rec)
		}
		if got, err := start(); err != nil || got != "ch_17" {
			t.Errorf("got %q, %v, want the operator's result", got, err)
		}
	})
}

// TestResolveLapsed resolves what a crashed holder left.
func TestResolveLapsed(t *testing.T) {
	t.Parallel()
	w := open(t, memstore.New(nil), nil)
	key := semel.Key{Scope: "shop", Name: "crashed"}
	w.hold(t, key, time.Millisecond)
	path := "/v1/records/" + key.Digest().String()
	until(t, func() bool { return get[record](t, w.send(t, http.MethodGet, path, "")).State == "unknown" })
	if got := get[page](t, w.send(t, http.MethodGet, "/v1/records?state=unknown", "")); len(got.Records) != 1 {
		t.Errorf("lapsed claims in the list of unknown records: got %+v", got)
	}
	seen := w.send(t, http.MethodGet, path, "").header.Get("ETag")
	running := w.verdict(t, http.MethodPost, path+"/resolve", released, strings.Replace(seen, "unknown", "claimed", 1))
	refused(t, "what was seen as it ran", running, 412, "changed", "")
	get[record](t, w.send(t, http.MethodPost, path+"/resolve", `{"as":"cancelled","reason":"order 8 is void"}`))
	if got := w.lookup(t, key.Digest()); got != semel.StateCancelled {
		t.Errorf("got %v", got)
	}
}

// TestAudit pages through the trail.
func TestAudit(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		t.Helper()
		if got := get[trail](t, w.send(t, http.MethodGet, "/v1/audit", "")); got.Entries == nil || len(got.Entries) != 0 {
			t.Errorf("an empty trail: got %+v", got)
		}
		for i := range 5 {
			get[record](t, w.send(t, http.MethodDelete, fmt.Sprintf("/v1/records?scope=shop&name=order+%d&reason=void", i), ""))
		}
		var all []string
		for next := ""; ; {
			got := get[trail](t, w.send(t, http.MethodGet, "/v1/audit?limit=2"+next, ""))
			for _, e := range got.Entries {
				all = append(all, e.Operator+" "+e.Act+" "+e.Name+" "+e.Before+" "+e.As)
			}
			if got.Next == "" {
				break
			}
			next = "&after=" + got.Next
		}
		var want []string
		for i := range 5 {
			want = append(want, fmt.Sprintf("alice cancel order %d absent cancelled", 4-i))
		}
		if diff := cmp.Diff(want, all); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}

// TestHiddenKeys finds an intent by a key that the store does not know.
func TestHiddenKeys(t *testing.T) {
	t.Parallel()
	w := openGuard(t, memstore.New(nil), &semel.Options{SweepEvery: -1, HideKeys: true, Secrets: [][]byte{[]byte("0123456789abcdef")}}, nil)
	got := get[record](t, w.send(t, http.MethodDelete, "/v1/records?scope=shop&name=late&reason=void", ""))
	if got.Scope != "" || got.Name != "" || got.Digest != w.guard.Digest(semel.Key{Scope: "shop", Name: "late"}).String() {
		t.Errorf("got %+v", got)
	}
}

// TestVerdictOutlivesItsCaller hangs up while the store takes its time: the
// verdict is given in full.
func TestVerdictOutlivesItsCaller(t *testing.T) {
	t.Parallel()
	slow := &slowStore{Store: memstore.New(nil), begun: make(chan struct{}), goOn: make(chan struct{})}
	w := open(t, slow, func(o *adminapi.Options) { o.Calls.Every = time.Nanosecond })
	digest := w.settle(t, "shop", "lost", semel.StateUnknown, nil)
	seen := w.send(t, http.MethodGet, "/v1/records/"+digest.String(), "").header.Get("ETag")
	slow.digest = digest
	ctx, hangUp := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		req, err := http.NewRequestWithContext(ctx, http.MethodDelete, w.url+"/v1/records/"+digest.String()+"?reason=void", nil)
		if err == nil {
			req.Header.Set("Authorization", "Bearer "+aliceToken)
			req.Header.Set("If-Match", seen)
			var res *http.Response
			if res, err = w.client.Do(req); err == nil {
				res.Body.Close()
			}
		}
		gone <- err
	}()
	<-slow.begun
	hangUp()
	if err := <-gone; err == nil {
		t.Fatal("the caller got an answer")
	}
	close(slow.goOn)
	until(t, func() bool { return w.lookup(t, digest) == semel.StateCancelled })
}

// slowStore holds the takeover of one record until the test releases it, or the
// caller has gone.
type slowStore struct {
	semel.Store

	digest      semel.Digest
	begun, goOn chan struct{}
}

func (s *slowStore) Unwrap() semel.Store { return s.Store }

func (s *slowStore) Claim(ctx context.Context, p semel.ClaimParams) (semel.Record, bool, error) {
	if p.Digest == s.digest && p.TakeOver != 0 {
		close(s.begun)
		select {
		case <-s.goOn:
		case <-ctx.Done():
			return semel.Record{}, false, ctx.Err()
		}
	}
	return s.Store.Claim(ctx, p)
}

// until waits until it is so.
func until(t *testing.T, so func() bool) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !so() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatal("it does not come to be so")
		}
	}
}

// TestEscapes takes what only looks like half a character.
func TestEscapes(t *testing.T) {
	t.Parallel()
	w := open(t, memstore.New(nil), nil)
	digest := w.settle(t, "shop", "lost", semel.StateUnknown, nil)
	got := get[record](t, w.send(t, http.MethodPost, "/v1/records/"+digest.String()+"/resolve", `{"as":"cancelled","reason":"\ud83d\ude00 \u00e9 \\ud800 \"\\"}`))
	if want := "😀 é \\ud800 \"\\"; got.Note != want {
		t.Errorf("got %q, want %q", got.Note, want)
	}
}

// TestFailed: what failed for good is failed, with its words; an answer that cannot be decrypted is unreadable. A verdict on
// either finds it settled, under the word of an older release as well.
func TestFailed(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		t.Helper()
		w.settle(t, "shop", "done", semel.StateCompleted, must.Get(semel.OutcomeOf("ok")))
		fail := func(g *semel.Guard, name string) semel.Digest {
			key := semel.Key{Scope: "shop", Name: name}
			_, _ = semel.Do(t.Context(), g, key, semel.Fingerprint{}, func(context.Context) (string, error) {
				return "", semel.MarkFinal(errors.New("the card is declined " + strings.Repeat("no ", 4000)))
			})
			return g.Digest(key)
		}
		digest := fail(w.guard, "declined")
		sealing := must.Get(semel.New(w.store, &semel.Options{SweepEvery: -1, OutcomeKeys: []semel.OutcomeKey{{ID: "lost", Key: [32]byte{1}}}}))
		defer sealing.Close()
		fail(sealing, "hidden")
		for query, want := range map[string][]string{
			"":                                 {"hidden unreadable", "declined failed", "done completed"},
			"?state=failed":                    {"declined failed"},
			"?state=completed":                 {"done completed"},
			"?state=unreadable":                {"hidden unreadable"},
			"?state=failed&state=completed":    {"declined failed", "done completed"},
			"?state=failed&scope=shop&limit=1": {"declined failed"},
		} {
			if diff := cmp.Diff(want, names(get[page](t, w.send(t, http.MethodGet, "/v1/records"+query, "")))); diff != "" {
				t.Errorf("%q (-want +got)\n%s", query, diff)
			}
		}
		path := "/v1/records/" + digest.String()
		r := w.send(t, http.MethodGet, path, "")
		one := get[operatorview.Record](t, r)
		if one.Failure == nil || !strings.HasPrefix(one.Failure.Error, "the card is declined no") || len(one.Failure.Error) > 1024 {
			t.Errorf("got %+v", one.Failure)
		}
		for _, word := range []string{"failed", "completed"} { // the second is the word of the release before
			tag := strings.Replace(r.header.Get("ETag"), "failed", word, 1)
			answer := w.raw(t, http.MethodPost, path+"/resolve", `{"as":"released","reason":"test"}`, "If-Match", tag, "Authorization", "Bearer "+aliceToken, "Content-Type", "application/json")
			if answer.status != http.StatusConflict || !strings.Contains(answer.body, `"state":"failed"`) {
				t.Errorf("a verdict on %s: got %d %s", tag, answer.status, answer.body)
			}
		}
	})
}
