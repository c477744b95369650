package webhook_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/internal/webhooksig"
	"github.com/semel-dev/semel/webhook"
)

// FuzzHeaders: whatever a stranger writes into the headers of a signature, a delivery counts as signed only if they hold what the
// sender's secret makes of id, time and body, in the one form in which they are signed; everything else is one of the three refusals.
func FuzzHeaders(f *testing.F) {
	f.Add(exampleID, fmt.Sprint(signedAt), macOf, body)
	f.Add(exampleID, fmt.Sprint(signedAt), "v1,x v1a,"+edOf[4:]+" "+macOf, body)
	f.Add(exampleID, " 1614265330", macOf+",", body)
	f.Add("a.1", "01614265330", strings.Repeat("v1, ", 9), "")
	f.Add("", fmt.Sprintf("t=%d,v1=%s", signedAt, sum(stripeSecret, fmt.Sprintf("%d.%s", signedAt, body))), "sha256="+sum(githubSecret, body), body)
	f.Add("\x00", "t=1,t=2,v0=,v1", "sha256=", "\xff")
	f.Add("id", "t=1614265330,v1=A6FFA3,v1==,,=", "SHA256=00", body)
	now := func() time.Time { return time.Unix(signedAt, 0) }
	standardV := must.Get(webhook.NewVerifier(&webhook.VerifierOptions{Secrets: []string{whpk, whsec}, Now: now}))
	stripeV := must.Get(webhook.NewVerifier(&webhook.VerifierOptions{Scheme: webhook.Stripe, Secrets: []string{stripeSecret}, Now: now}))
	githubV := must.Get(webhook.NewVerifier(&webhook.VerifierOptions{Scheme: webhook.GitHub, Secrets: []string{githubSecret}, Now: now}))
	f.Fuzz(func(t *testing.T, id, at, signature, text string) {
		check := func(v *webhook.Verifier, h http.Header, signed func() bool) {
			t.Helper()
			err := v.Verify(h, []byte(text))
			if err != nil && !errors.Is(err, webhook.ErrSignature) && !errors.Is(err, webhook.ErrTimestamp) && !errors.Is(err, webhook.ErrMalformed) {
				t.Errorf("%v: %v is not one of the three", h, err)
			}
			if (err == nil) != signed() {
				t.Errorf("%v: got %v", h, err)
			}
		}
		check(standardV, http.Header{"Webhook-Id": {id}, "Webhook-Timestamp": {at}, "Webhook-Signature": {signature}}, func() bool {
			seconds := recent(at)
			words := strings.Fields(signature)
			if seconds < 0 || id == "" || strings.Contains(id, ".") || len(words) > 8 {
				return false
			}
			mac := webhooksig.Sign(must.Get(webhooksig.DecodeSecret(whsec)), id, time.Unix(seconds, 0), []byte(text))
			for _, word := range words {
				if word == mac || word == edOf && id == exampleID && at == fmt.Sprint(signedAt) && text == body {
					return true
				}
			}
			return false
		})
		check(stripeV, http.Header{"Stripe-Signature": {at}}, func() bool {
			var times, macs []string
			for pair := range strings.SplitSeq(at, ",") {
				if value, found := strings.CutPrefix(pair, "t="); found || pair == "t" {
					times = append(times, value)
				}
				if value, found := strings.CutPrefix(pair, "v1="); found || pair == "v1" {
					macs = append(macs, value)
				}
			}
			return len(times) == 1 && recent(times[0]) >= 0 && len(macs) <= 8 && oneIs(macs, sum(stripeSecret, times[0]+"."+text))
		})
		check(githubV, http.Header{"X-Hub-Signature-256": {signature}}, func() bool {
			value, found := strings.CutPrefix(signature, "sha256=")
			return found && oneIs([]string{value}, sum(githubSecret, text))
		})
	})
}

// recent returns the seconds of a time that is in the tolerance and in its one spelling; -1 for another.
func recent(at string) int64 {
	for seconds := int64(signedAt - 300); seconds <= signedAt+300; seconds++ {
		if fmt.Sprint(seconds) == at {
			return seconds
		}
	}
	return -1
}

// oneIs reports whether one of the signatures in hexadecimal digits, of either case, is the wanted one.
func oneIs(signatures []string, want string) bool {
	for _, s := range signatures {
		if raw, err := hex.DecodeString(s); err == nil && hex.EncodeToString(raw) == want {
			return true
		}
	}
	return false
}
