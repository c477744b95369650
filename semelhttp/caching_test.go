package semelhttp_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/semelhttp"
	"github.com/semel-dev/semel/store/memstore"
)

// TestCaches: no cache gives the answer to one key to another, keeps a refusal,
// or takes a replay for fresher than the original.
func TestCaches(t *testing.T) {
	t.Parallel()
	var moved atomic.Int64
	records := memstore.New(&memstore.Options{Now: func() time.Time { return time.Now().Add(time.Duration(moved.Load())) }})
	d := newDoor(t, doorOptions{store: records})
	server := d.serve(t, func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "public, max-age=3600")
		h.Set("Content-Location", "/invoices")
		for _, line := range r.Header["X-Vary"] {
			h.Add("Vary", line)
		}
		if age := r.Header.Get("X-Age"); age != "" {
			h.Set("Age", age)
		}
		w.WriteHeader(http.StatusCreated)
	})
	for name, test := range map[string]struct {
		header    []string
		live, age string
		vary      []string
	}{
		"plain":             {nil, "", "1801", []string{"Idempotency-Key"}},
		"varies already":    {[]string{"X-Vary", "Accept, idempotency-key"}, "", "1801", []string{"Accept, idempotency-key"}},
		"varies otherwise":  {[]string{"X-Vary", "Accept", "X-Vary", "Cookie"}, "", "1801", []string{"Accept", "Cookie", "Idempotency-Key"}},
		"varies altogether": {[]string{"X-Vary", "*"}, "", "1801", []string{"*"}},
		"old already":       {[]string{"X-Age", "100"}, "100", "1901", []string{"Idempotency-Key"}},
		"nobody knows":      {[]string{"X-Age", "-1"}, "-1", "2147483647", []string{"Idempotency-Key"}},
		"overflow":          {[]string{"X-Age", "2147483647"}, "2147483647", "2147483647", []string{"Idempotency-Key"}},
	} {
		moved.Store(0)
		first := ask(t, server, name, "x", test.header...)
		moved.Store(int64(30*time.Minute + time.Millisecond))
		second := ask(t, server, name, "x", test.header...)
		if first.word() != "executed" || second.word() != "replayed" {
			t.Errorf("%s: got %v, %v", name, first.header, second.header)
		}
		if got := first.header.Get("Age"); got != test.live {
			t.Errorf("%s: the first answer has the age %q, want %q", name, got, test.live)
		}
		// The clock is between full seconds, so one more may have begun.
		if got := second.header.Get("Age"); got != test.age && got != test.age[:3]+"2" {
			t.Errorf("%s: the replay has the age %q, want %q", name, got, test.age)
		}
		for _, got := range []*reply{first, second} {
			if diff := cmp.Diff(test.vary, got.header["Vary"]); diff != "" {
				t.Errorf("%s: Vary (-want +got):\n%s", name, diff)
			}
			if got.header.Get("Cache-Control") != "public, max-age=3600" {
				t.Errorf("%s: Cache-Control is %q", name, got.header["Cache-Control"])
			}
		}
	}
	refusal := ask(t, server, "plain", "y")
	wantProblem(t, refusal, http.StatusUnprocessableEntity, "key-reused")
	if got := refusal.header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("a refusal says Cache-Control: %s", got)
	}
	if diff := cmp.Diff([]string{"Idempotency-Key", "Accept, Accept-Language"}, refusal.header["Vary"]); diff != "" {
		t.Errorf("a refusal, Vary (-want +got):\n%s", diff)
	}
}

// wrapped is a key source around another.
type wrapped struct{ semelhttp.KeySource }

func (w wrapped) Unwrap() semelhttp.KeySource { return w.KeySource }

// TestVaryNamesTheSource: Vary names the header that holds the key, and none
// where the key lies in the body.
func TestVaryNamesTheSource(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		source semelhttp.KeySource
		want   string
	}{
		"webhook": {semelhttp.FromWebhookID(), "Webhook-Id"},
		"wrapped": {wrapped{semelhttp.FromHeader("x-key")}, "X-Key"},
		"body":    {semelhttp.FromFormField("token"), ""},
	} {
		d := newDoor(t, doorOptions{Options: semelhttp.Options{Key: test.source}, policy: semel.Policy{}})
		server := d.serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) })
		got := ask(t, server, "", "token=1", "Webhook-Id", "1", "X-Key", "1", "Content-Type", "application/x-www-form-urlencoded")
		if got.word() != "executed" || strings.Join(got.header["Vary"], "|") != test.want {
			t.Errorf("%s: got %v, want Vary: %s", name, got.header, test.want)
		}
	}
}
