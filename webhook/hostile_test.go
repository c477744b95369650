package webhook_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/semelhttp"
	"github.com/semel-dev/semel/store/memstore"
	"github.com/semel-dev/semel/webhook"
)

// lines are those of a delivery as it is on the wire; each change is added.
func lines(h http.Header, changes ...string) string {
	var all strings.Builder
	all.WriteString("POST /hooks HTTP/1.1\r\nHost: a.test\r\n")
	for name, values := range h {
		all.WriteString(name + ": " + values[0] + "\r\n")
	}
	for _, change := range changes {
		all.WriteString(change + "\r\n")
	}
	return all.String()
}

// TestHostileBytes (promise 3): a stranger that sends bytes of its own, with parts of a recorded delivery, has no effect; one that is
// signed has it once, however it is written.
func TestHostileBytes(t *testing.T) {
	t.Parallel()
	sized := fmt.Sprintf("Content-Length: %d\r\nConnection: close\r\n\r\n%s", len(body), body)
	chunked := func(text string) string {
		return fmt.Sprintf("Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(text), text)
	}
	large := strings.Repeat("x", 1<<20+1)
	unsigned := standard("Webhook-Signature", "")
	lower := strings.NewReplacer("Webhook-", "webhook-", "Id:", "ID:").Replace(lines(standard()))
	for _, c := range []struct {
		name, text string
		ran        int32
		want       []int
	}{
		{"as it is", lines(standard()) + sized, 1, []int{200}},
		{"in another letter case", lower + sized, 1, []int{200}},
		{"in chunks", lines(standard()) + chunked(body), 1, []int{200}},
		{"more than the bound in chunks", lines(signed("a", signedAt, large)) + chunked(large), 0, []int{413}},
		{"more than the bound, as announced", lines(signed("a", signedAt, large), "Expect: 100-continue", "Content-Length: 9999999999", "Connection: close") + "\r\n", 0, []int{413}},
		{"two signatures", lines(standard(), "webhook-signature: "+macOf) + sized, 0, []int{400}},
		{"two ids", lines(standard(), "WEBHOOK-ID: another") + sized, 0, []int{400}},
		{"two times", lines(standard(), "webhook-timestamp: 1614265330") + sized, 0, []int{400}},
		{"a signature in a trailer", lines(unsigned, "Trailer: Webhook-Signature") +
			fmt.Sprintf("Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n%x\r\n%s\r\n0\r\nWebhook-Signature: %s\r\n\r\n", len(body), body, macOf), 0, []int{401}},
		{"an id on two lines", lines(standard(), "X-A: 1", " "+exampleID) + sized, 1, nil},
		{"a header of a megabyte", lines(standard("Webhook-Signature", strings.Repeat("v1,", 1<<20))) + sized, 0, []int{431}},
		{"a header of many signatures", lines(standard("Webhook-Signature", strings.Repeat("v1, ", 1<<17))) + sized, 0, []int{400}},
		{"a NUL in the id", lines(standard("Webhook-Id", "a\x00")) + sized, 0, []int{400}},
		{"two lengths", lines(standard(), "Content-Length: 0") + sized, 0, []int{400}},
		{
			"a request in the body of one that is refused",
			lines(unsigned, fmt.Sprintf("Content-Length: %d", len(lines(standard())+sized))) + "\r\n" + lines(standard()) + sized + lines(signed("b", signedAt, body)) + sized,
			1,
			[]int{401, 200},
		},
		{
			"several on one connection",
			strings.ReplaceAll(lines(standard())+sized+lines(standard())+sized, "Connection: close\r\n", "") + lines(unsigned) + sized,
			1,
			[]int{200, 200, 401},
		},
		{"a method in another letter case", strings.Replace(lines(standard()), "POST", "post", 1) + sized, 0, []int{405}},
		{"a GET with a body", strings.Replace(lines(standard(), "X-HTTP-Method-Override: POST"), "POST", "GET", 1) + sized, 0, []int{405}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := receive(t, webhook.VerifierOptions{Secrets: []string{whsec}}, nil)
			got := testserver.Exchange(t, r.url, c.text)
			if c.want != nil && !slices.Equal(got, c.want) {
				t.Errorf("answered %v, want %v", got, c.want)
			}
			if ran := r.ran.Load(); ran > c.ran || c.want != nil && ran != c.ran {
				t.Errorf("the handler ran %d times, want %d", ran, c.ran)
			}
		})
	}
}

// TestEveryByteIsSigned (promise 3): with any one byte of the body, the id or the time changed, a delivery of any scheme is refused.
func TestEveryByteIsSigned(t *testing.T) {
	t.Parallel()
	v := must.Get(webhook.NewVerifier(&webhook.VerifierOptions{Secrets: []string{whsec, whpk}, Now: clock(signedAt)}))
	for _, signature := range []string{macOf, edOf} {
		for i := range body {
			for bit := range 8 {
				changed := []byte(body)
				changed[i] ^= 1 << bit
				if v.Verify(standard("Webhook-Signature", signature), changed) == nil {
					t.Errorf("%.4s: bit %d of byte %d is not signed", signature, bit, i)
				}
			}
		}
		for _, cut := range []string{body[1:], body[:len(body)-1], body + "\n", "\n" + body, ""} {
			if v.Verify(standard("Webhook-Signature", signature), []byte(cut)) == nil {
				t.Errorf("%.4s: %q is signed", signature, cut)
			}
		}
		for i := range exampleID {
			if v.Verify(standard("Webhook-Signature", signature, "Webhook-Id", exampleID[:i]+"x"+exampleID[i+1:]), []byte(body)) == nil && exampleID[i] != 'x' {
				t.Errorf("%.4s: byte %d of the id is not signed", signature, i)
			}
		}
	}
}

// TestReplaysWithinTwoTolerances (promise 2): a stranger that records a delivery whose sender's clock is ahead can replay it for twice
// the tolerance; the event is remembered for longer, by a store whose clock goes another way.
func TestReplaysWithinTwoTolerances(t *testing.T) {
	t.Parallel()
	var stored claimtest.Clock
	r := &receiver{store: memstore.New(&memstore.Options{Now: stored.Now})}
	guard := must.Get(semel.New(r.store, &semel.Options{SweepEvery: -1, Policy: semel.Policy{Retention: time.Minute, UnknownRetention: time.Minute}}))
	t.Cleanup(func() { _ = guard.Close() })
	const tolerance = 5 * time.Minute
	v := must.Get(webhook.NewVerifier(&webhook.VerifierOptions{
		Secrets: []string{whsec}, Tolerance: tolerance, Retention: 2*tolerance + time.Minute, Now: func() time.Time { return time.Unix(r.now.Load(), 0) },
	}))
	handler := must.Get(v.Handler(guard, "payments", http.HandlerFunc(func(http.ResponseWriter, *http.Request) { r.ran.Add(1) }), &semelhttp.Options{}))
	r.serve(t, handler)
	for _, c := range []struct {
		after, drift time.Duration
		status       int
	}{{0, 0, 200}, {tolerance, 0, 200}, {2 * tolerance, 0, 200}, {2 * tolerance, time.Minute - time.Second, 200}, {2*tolerance + time.Second, 0, 401}} {
		r.now.Store(signedAt - int64(tolerance/time.Second) + int64(c.after/time.Second)) // it was signed ahead of its time
		stored.Advance(c.after + c.drift)
		if got := r.deliver(t, http.MethodPost, "/", body, standard()); got.status != c.status {
			t.Errorf("after %v: got %+v, want %d", c.after, got, c.status)
		}
		stored.Advance(-c.after - c.drift)
	}
	r.wantRan(t, 1)
	if _, err := webhook.NewVerifier(&webhook.VerifierOptions{Secrets: []string{whsec}, Tolerance: tolerance, Retention: 2 * tolerance}); err == nil {
		t.Error("a retention of twice the tolerance is accepted: at its last moment a recorded delivery runs again")
	}
}

// TestRetiredSecret: what a secret signed that was removed is refused, although its event is known and it is recent.
func TestRetiredSecret(t *testing.T) {
	t.Parallel()
	r := receive(t, webhook.VerifierOptions{Secrets: []string{"whsec_" + strings.Repeat("AAAA", 8), whpk}}, nil)
	if got := r.deliver(t, http.MethodPost, "/", body, standard("Webhook-Signature", edOf)); got.status != http.StatusOK {
		t.Errorf("signed by the present one: got %+v", got)
	}
	if got := r.deliver(t, http.MethodPost, "/", body, standard()); got.problem != "signature-invalid" {
		t.Errorf("signed by the former one: got %+v", got)
	}
	r.wantRan(t, 1)
}
