package gateway_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/internal/webhooksig"
	"github.com/semel-dev/semel/webhook"
)

const whsec = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// hookRules verifies webhooks of each scheme; %s is a file of secrets.
const hookRules = `
version: 1
routes:
  - {name: standard, match: {path: "/standard/{rest...}"}, key: {webhook: {secret_file: %s}}}
  - {name: stripe, match: {path: /stripe}, key: {webhook: {scheme: stripe, secret_file: %[1]s}}}
  - {name: github, match: {path: /github}, key: {webhook: {scheme: github, secret_file: %[1]s}}}
`

func secretFile(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "hooks.secrets")
	must.Succeed(os.WriteFile(name, []byte("bm8gc2VuZGVyIGhhcyB0aGlzIG9uZQ==\n"+whsec+"\n"), 0o600), "write the secrets")
	return name
}

// signedAt is the header of a delivery of Standard Webhooks.
func signedAt(id string, at time.Time, body string) []string {
	signature := webhooksig.Sign(must.Get(webhooksig.DecodeSecret(whsec)), id, at, []byte(body))
	return []string{"Webhook-Id", id, "Webhook-Timestamp", fmt.Sprint(at.Unix()), "Webhook-Signature", signature}
}

func macOf(text string) string {
	mac := hmac.New(sha256.New, []byte(whsec))
	mac.Write([]byte(text))
	return hex.EncodeToString(mac.Sum(nil))
}

// TestWebhooks (promises 2 and 3): deliveries that their sender signed just now reach the upstream, each event once;
// what is not signed does not count, and forged ones are refused.
func TestWebhooks(t *testing.T) {
	t.Parallel()
	var lines safeBuffer
	target, n := counting(t)
	d := open(t, target, func(c *gateway.Config) {
		c.Rules = parse(t, fmt.Sprintf(hookRules, secretFile(t)))
		c.Logger = slog.New(slog.NewTextHandler(&lines, nil))
	})
	now := time.Now()
	stripe := func(body string, at time.Time) []string {
		return []string{"Stripe-Signature", fmt.Sprintf("t=%d,v1=%s", at.Unix(), macOf(fmt.Sprintf("%d.%s", at.Unix(), body)))}
	}
	github := func(body string) []string { return []string{"X-Hub-Signature-256", "sha256=" + macOf(body)} }
	for _, s := range []struct {
		name, path, body string
		header           []string
		status           int
		want             string
	}{
		{"standard", "/standard/a", "{}", signedAt("m1", now, "{}"), 201, "1"},
		{"signed afresh, elsewhere", "/standard/b", "{}", append(signedAt("m1", now.Add(-time.Minute), "{}"), "Host", "b.test", "Authorization", "Bearer x"), 201, "1"},
		{"another id", "/standard/a", "{}", signedAt("m2", now, "{}"), 201, "2"},
		{"forged", "/standard/a", "{} ", signedAt("m3", now, "{}"), 401, "signature-invalid"},
		{"unsigned", "/standard/a", "{}", []string{"Webhook-Id", "m3", "Idempotency-Key", "k"}, 401, "signature-invalid"},
		{"old", "/standard/a", "{}", signedAt("m3", now.Add(-time.Hour), "{}"), 401, "signature-expired"},
		{"two readings", "/standard/a", "{}", append(signedAt("m3", now, "{}"), "Webhook_Id", "m4"), 400, "ambiguous-request"},
		{"too large", "/standard/a", strings.Repeat("x", 1<<20+1), signedAt("m3", now, "{}"), 413, "body-too-large"},
		{"stripe", "/stripe", `{"id":"e1","pending_webhooks":2}`, stripe(`{"id":"e1","pending_webhooks":2}`, now), 201, "3"},
		{"stripe again", "/stripe", `{"id":"e1","pending_webhooks":1}`, stripe(`{"id":"e1","pending_webhooks":1}`, now.Add(time.Second)), 201, "3"},
		{"github", "/github", "{}", append(github("{}"), "X-Github-Delivery", "1"), 201, "4"},
		{"github again", "/github", "{}", append(github("{}"), "X-Github-Delivery", "2"), 201, "4"},
	} {
		check(t, s.name, d.send(t, http.MethodPost, s.path, s.body, s.header...), s.status, s.want)
	}
	wantActed(t, n, 4)
	asked := d.send(t, http.MethodGet, "/.well-known/idempotency/status?method=POST&path=/standard/a", "", "Webhook-Id", "m1", "Idempotency-Key", "m1")
	check(t, "a stranger asks", asked, 400, "status-invalid")
	if text := lines.String(); !strings.Contains(text, "outcome=unverified") || strings.Contains(text, whsec[6:]) {
		t.Errorf("the log: %s", text)
	}
	d.until(t, `semel_requests_total{outcome="unverified",route="standard"} 3`)
}

// TestWebhookSecrets: a gateway without its secrets does not start, and its errors do not show them.
func TestWebhookSecrets(t *testing.T) {
	t.Parallel()
	open := filepath.Join(t.TempDir(), "open")
	must.Succeed(os.WriteFile(open, []byte(whsec), 0o644), "write a file that others can read")
	short := filepath.Join(t.TempDir(), "short")
	must.Succeed(os.WriteFile(short, []byte("c2hvcnQ=\n"), 0o600), "write a short secret")
	for key, want := range map[string]string{
		"secret_env: SEMEL_TEST_NO_SUCH_SECRET": "SEMEL_TEST_NO_SUCH_SECRET, which holds the secret of a webhook, is empty",
		"secret_file: /no/such/file":            "no such file",
		"secret_file: " + open:                  "chmod 600",
		"secret_file: " + short:                 "has 5 bytes, at least 16 are needed",
	} {
		_, err := gateway.New(&gateway.Config{Upstream: "http://127.0.0.1:1", Store: store(t), Rules: parse(t, "version: 1\nroutes:\n  - {name: a, match: {path: /a}, key: {webhook: {"+key+"}}}\n")})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "c2hvcnQ") || !strings.Contains(err.Error(), `route "a"`) {
			t.Errorf("%s: got %v, want %s", key, err, want)
		}
	}
}

// TestShortWebhookRetention: the log warns about events that are forgotten before their sender gives up.
func TestShortWebhookRetention(t *testing.T) {
	t.Parallel()
	for retention, warns := range map[string]bool{"retention: 3d": true, "retention: 4d": false, "wait: 1s": false} {
		file := parse(t, "version: 1\nroutes:\n  - {name: a, match: {path: /a}, "+retention+", key: {webhook: {secret_env: A}}}\n")
		if got := bytes.Contains(fmt.Append(nil, file.Warnings()), []byte("key.webhook.redelivery")); got != warns {
			t.Errorf("%s: warned %v, want %v", retention, got, warns)
		}
	}
}

// TestWebhookDefaults: a rule that says nothing and a webhook.Verifier with its zero options have the same bounds.
func TestWebhookDefaults(t *testing.T) {
	t.Parallel()
	rule := parse(t, "version: 1\nroutes:\n  - {name: a, match: {path: /a}, key: {webhook: {secret_env: A}}}\n").Routes[0]
	hook := rule.Key.Webhook
	now := time.Unix(1614265330, 0)
	verifier := func(o webhook.VerifierOptions) *webhook.Verifier {
		o.Secrets, o.Now = []string{whsec}, func() time.Time { return now }
		return must.Get(webhook.NewVerifier(&o))
	}
	header := func(at time.Time, body string) http.Header {
		h, pairs := http.Header{}, signedAt("m1", at, body)
		for i := 0; i < len(pairs); i += 2 {
			h.Set(pairs[i], pairs[i+1])
		}
		return h
	}
	for late, want := range map[time.Duration]error{hook.Tolerance: nil, hook.Tolerance + time.Second: webhook.ErrTimestamp} {
		for _, at := range []time.Time{now.Add(-late), now.Add(late)} {
			if err := verifier(webhook.VerifierOptions{}).Verify(header(at, "{}"), []byte("{}")); !errors.Is(err, want) {
				t.Errorf("signed at %v: got %v, want %v", at.Sub(now), err, want)
			}
		}
	}
	var log bytes.Buffer
	warned := func(retention time.Duration) bool {
		log.Reset()
		verifier(webhook.VerifierOptions{Retention: retention, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		return log.Len() > 0
	}
	if warned(hook.Redelivery) || !warned(hook.Redelivery-time.Second) {
		t.Errorf("the rule's redelivery is %v, the verifier's another: %s", hook.Redelivery, &log)
	}
	guard := must.Get(semel.New(store(t), &semel.Options{SweepEvery: -1}))
	t.Cleanup(func() { _ = guard.Close() })
	door := must.Get(verifier(webhook.VerifierOptions{}).Handler(guard, "a", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), nil))
	for bytes, want := range map[int]int{int(rule.BodyLimit): 200, int(rule.BodyLimit) + 1: 413} {
		body := strings.Repeat("x", bytes)
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(body))
		r.Header = header(now, body)
		w := httptest.NewRecorder()
		door.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("a body of %d bytes: got %d, want %d", bytes, w.Code, want)
		}
	}
	rec := must.Get(guard.Lookup(t.Context(), semel.Key{Scope: "webhook:a", Name: "m1"}))
	if left := rec.RetentionLeft(); left > rule.Policy.Retention || left < rule.Policy.Retention-time.Hour {
		t.Errorf("the event is remembered for %v, the rule's retention is %v", left, rule.Policy.Retention)
	}
}
