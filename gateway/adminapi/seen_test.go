package adminapi_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/must"
)

// TestVerdictOnWhatWasSeen refuses a verdict on an attempt that a retry has
// taken over since the operator looked, and shows the record as it is now
// (promise 3).
func TestVerdictOnWhatWasSeen(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		t.Helper()
		digest := w.settle(t, "shop", "lost", semel.StateUnknown, nil)
		path := "/v1/records/" + digest.String()
		seen := w.send(t, http.MethodGet, path, "").header.Get("ETag")
		w.again(t, digest) // a retry executes, and its outcome is unknown

		for what, r := range map[string]reply{
			"resolve": w.verdict(t, http.MethodPost, path+"/resolve", `{"as":"released","reason":"not in the ledger"}`, seen),
			"cancel":  w.verdict(t, http.MethodDelete, path+"?reason=void", "", seen),
			"by key":  w.verdict(t, http.MethodDelete, "/v1/records?scope=shop&name=lost&reason=void", "", seen),
		} {
			refused(t, what, r, 412, "changed", "")
			now := get[record](t, w.send(t, http.MethodGet, path, ""))
			if got := r.record(t); got.Fence != now.Fence || got.State != "unknown" || r.etag(t) != fmt.Sprintf(`"%d-unknown"`, now.Fence) {
				t.Errorf("%s: the refusal shows %+v with ETag %s, want %+v", what, got, r.etag(t), now)
			}
		}
		if entries := w.entries(t); w.lookup(t, digest) != semel.StateUnknown || len(entries) != 0 {
			t.Fatalf("the record is %v after refused verdicts, the trail %+v", w.lookup(t, digest), entries)
		}
		seen = w.send(t, http.MethodGet, path, "").header.Get("ETag")
		got := get[record](t, w.verdict(t, http.MethodPost, path+"/resolve", `{"as":"released","reason":"not in the ledger"}`, seen))
		if got.State != "released" {
			t.Errorf("the verdict on what was seen: got %+v", got)
		}
	})
}

// again lets a retry take the unknown record over, and loses its outcome too.
func (w *world) again(t *testing.T, d semel.Digest) {
	t.Helper()
	before := must.Get(w.store.Lookup(t.Context(), d))
	p := semel.ClaimParams{
		Digest: d, Scope: before.Scope, Name: before.Name, Fingerprint: before.Fingerprint,
		Owner: semel.Owner{9}, Lease: patience, Retention: patience, TakeOver: before.Fence,
	}
	rec, won, err := w.store.Claim(t.Context(), p)
	if err == nil && !won {
		err = errors.New("the takeover was lost")
	}
	if err == nil {
		err = w.store.Settle(t.Context(), d, rec.Fence, semel.Settlement{State: semel.StateUnknown, Retention: patience})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// verdict calls as alice, on the record with this ETag.
func (w *world) verdict(t *testing.T, method, path, body, etag string) reply {
	t.Helper()
	header := []string{"Authorization", "Bearer " + aliceToken, "If-Match", etag}
	if body != "" {
		header = append(header, "Content-Type", "application/json")
	}
	return w.raw(t, method, path, body, header...)
}

// record is that in a refusal.
func (r *reply) record(t *testing.T) record {
	t.Helper()
	return get[struct{ Record record }](t, reply{http.StatusOK, r.header, r.body}).Record
}

// etag is that in a refusal.
func (r *reply) etag(t *testing.T) string {
	t.Helper()
	return get[struct{ ETag string }](t, reply{http.StatusOK, r.header, r.body}).ETag
}

// TestPrecondition holds verdicts to exactly one record that was seen (promise 3).
func TestPrecondition(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		t.Helper()
		digest := w.settle(t, "shop", "lost", semel.StateUnknown, nil)
		path, key := "/v1/records/"+digest.String(), "/v1/records?scope=shop&name=lost&reason=void"
		seen := w.send(t, http.MethodGet, path, "").header.Get("ETag")
		give := map[string]func(header ...string) reply{
			"resolve": func(header ...string) reply {
				return w.raw(t, http.MethodPost, path+"/resolve", released, append(header, "Authorization", "Bearer "+aliceToken, "Content-Type", "application/json")...)
			},
			"cancel": func(header ...string) reply {
				return w.raw(t, http.MethodDelete, path+"?reason=void", "", append(header, "Authorization", "Bearer "+aliceToken)...)
			},
			"by key": func(header ...string) reply {
				return w.raw(t, http.MethodDelete, key, "", append(header, "Authorization", "Bearer "+aliceToken)...)
			},
		}
		for what, verdict := range give {
			r := verdict()
			refused(t, what+" unseen", r, 428, "precondition-required", "")
			if r.record(t).Digest != digest.String() || r.etag(t) != seen {
				t.Errorf("%s unseen: the refusal does not show the record: %s", what, r.body)
			}
			for _, value := range []string{
				"*", "W/" + seen, seen + ", " + seen, seen + `, "9-unknown"`, strings.Trim(seen, `"`), strings.TrimSuffix(seen, `"`), `""`, `"0-unknown"`,
				`"1"`, `"1-"`, `"-unknown"`, `"+1-unknown"`, `"-1-unknown"`, `"99999999999999999999-unknown"`, `"1-released"`, `"1-unknown-"`, "",
			} {
				refused(t, what+" with If-Match "+value, verdict("If-Match", value), 400, "bad-request", "If-Match")
			}
			refused(t, what+" with two lines", verdict("If-Match", seen, "If-Match", seen), 400, "bad-request", "If-Match")
			for _, state := range []string{"claimed", "completed", "cancelled"} {
				refused(t, what+" of what was "+state, verdict("If-Match", strings.Replace(seen, "unknown", state, 1)), 412, "changed", "")
			}
			refused(t, what+" with both", verdict("If-Match", seen, "If-None-Match", "*"), 400, "bad-request", "If-None-Match")
			refused(t, what+" unless it is", verdict("If-None-Match", seen), 400, "bad-request", "If-None-Match")
		}
		refused(t, "by key, of what was absent", give["by key"]("If-None-Match", "*"), 412, "changed", "")
		if entries := w.entries(t); w.lookup(t, digest) != semel.StateUnknown || len(entries) != 0 {
			t.Fatalf("after refused verdicts the record is %v, the trail %+v", w.lookup(t, digest), entries)
		}
		got := w.raw(t, http.MethodDelete, "/v1/records?scope=shop&name=late&reason=void", "", "Authorization", "Bearer "+aliceToken, "If-None-Match", "*")
		if rec := get[record](t, got); rec.State != "cancelled" || got.header.Get("ETag") != fmt.Sprintf(`"%d-cancelled"`, rec.Fence) {
			t.Errorf("what was absent: got %+v with ETag %s", rec, got.header.Get("ETag"))
		}
		r := give["resolve"]("If-Match", seen)
		if get[record](t, r); r.header.Get("ETag") != "" {
			t.Errorf("a record that is gone has the ETag %s", r.header.Get("ETag"))
		}
	})
}

// TestVerdictOnWhatWasRunning refuses a verdict of an operator who saw the intent
// running, although the attempt is the same: its end was not seen (promise 3).
func TestVerdictOnWhatWasRunning(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		t.Helper()
		claim := w.claim(t, semel.Key{Scope: "shop", Name: "busy"})
		path := "/v1/records/" + claim.Digest().String()
		seen := w.send(t, http.MethodGet, path, "").header.Get("ETag")
		verdict := func() reply {
			return w.verdict(t, http.MethodPost, path+"/resolve", released, seen)
		}
		refused(t, "while it runs", verdict(), 409, "being-executed", "")
		if err := claim.Unknown("reset"); err != nil {
			t.Fatal(err)
		}
		refused(t, "afterwards", verdict(), 412, "changed", "")
		seen = w.send(t, http.MethodGet, path, "").header.Get("ETag")
		get[record](t, w.verdict(t, http.MethodDelete, path+"?reason=void", "", seen))
		seen = w.send(t, http.MethodGet, path, "").header.Get("ETag")
		refused(t, "what is settled", verdict(), 409, "settled", "")
		get[record](t, w.verdict(t, http.MethodDelete, path+"?reason=void", "", seen)) // it is cancelled already
	})
}

// TestConcurrentVerdicts lets operators who saw the same record decide at once:
// one verdict counts, and the trail has no other.
func TestConcurrentVerdicts(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		t.Helper()
		const operators = 8
		digest := w.settle(t, "shop", "lost", semel.StateUnknown, nil)
		path := "/v1/records/" + digest.String() + "/resolve"
		seen := w.send(t, http.MethodGet, "/v1/records/"+digest.String(), "").header.Get("ETag")
		replies := make([]reply, operators)
		var all sync.WaitGroup
		for i := range replies {
			all.Go(func() {
				body := fmt.Sprintf(`{"as":"completed","reason":"operator %d","status":200,"body":"%d"}`, i, i)
				replies[i] = w.verdict(t, http.MethodPost, path, body, seen)
			})
		}
		all.Wait()
		counted := 0
		for i := range replies {
			if replies[i].status == http.StatusOK {
				counted++
				continue
			}
			refused(t, "a verdict that came second", replies[i], 412, "changed", "")
		}
		if entries := w.entries(t); counted != 1 || len(entries) != 1 || w.lookup(t, digest) != semel.StateCompleted {
			t.Errorf("%d verdicts counted, the trail has %+v", counted, entries)
		}
	})
}
