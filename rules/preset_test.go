package rules_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/rules"
)

// TestPreset: preset: payments fills what a route leaves open, and what takes its
// promise back is refused.
func TestPreset(t *testing.T) {
	t.Parallel()
	file, err := rules.Parse("rules.yaml", []byte(`
version: 1
routes:
  - {name: bare, match: {path: /a}, preset: payments}
  - name: said
    match: {path: /b}
    preset: payments
    on_5xx: store
    retention: 7d
    in_flight_status: 503
    problem_format: problem
    unknown: {reconcile: {get: "/b/{key}", happened_when: {status: 200}}}
  - name: shared
    match: {path: /c}
    scope: [{constant: shared}]
    unknown: {reconcile: {get: "/c/{key}", happened_when: {status: 200}}}
`))
	if err != nil {
		t.Fatal(err)
	}
	bare, said := file.Routes[0], file.Routes[1]
	if bare.On5xx != rules.Unknown5xx || bare.Policy.Retention != 72*time.Hour || said.On5xx != rules.Store5xx || said.Policy.Retention != 7*24*time.Hour {
		t.Errorf("got %v %v, %v %v", bare.On5xx, bare.Policy.Retention, said.On5xx, said.Policy.Retention)
	}
	if !bare.StripeErrors || bare.InFlightStatus != 0 || said.StripeErrors || said.InFlightStatus != 503 {
		t.Errorf("got %v %d, %v %d", bare.StripeErrors, bare.InFlightStatus, said.StripeErrors, said.InFlightStatus)
	}
	var warnings []string
	for _, w := range file.Warnings() {
		text, _, _ := strings.Cut(w.String(), ":")
		warnings = append(warnings, text+" "+strings.Join(strings.Fields(w.Text)[:4], " "))
	}
	if diff := cmp.Diff([]string{`4 route "bare" has preset:`, `13 route "shared" reconciles, and`}, warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	for setting, want := range map[string]string{
		"on_5xx: release": "on_5xx lets a request run again", "unknown: rerun": "unknown lets", "fail_open: true": "fail_open lets", "preset: payment": `did you mean "payments"?`,
		"in_flight_status: 425": "write 409, or 503", "problem_format: strip": `did you mean "stripe"?`,
	} {
		text := "version: 1\nroutes:\n  - name: a\n    match: {path: /a}\n    " + setting + "\n"
		if !strings.HasPrefix(setting, "preset") {
			text += "    preset: payments\n"
		}
		if _, err := rules.Parse("rules.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "rules.yaml:5:") {
			t.Errorf("%s: got %v, want %q", setting, err, want)
		}
	}
}

// TestForgetful: a route that forgets an intent while a caller may still repeat it is worth a second look, and one that
// remembers it for longer is not.
func TestForgetful(t *testing.T) {
	t.Parallel()
	for settings, want := range map[string]string{
		"retention: 1s, wait: 90s":             "remembers an answer for 1s, and a duplicate waits for 1m30s",
		"retention: 59s":                       "remembers an answer for 59s, and clients retry for 1m0s",
		"retention: 5m, lease: 10m":            "remembers an answer for 5m0s, and a lease lasts for 10m0s",
		"unknown_retention: 2s":                "remembers an unknown outcome for 2s, and clients retry for 1m0s",
		"retention: 1s, unknown_retention: 1s": "write a longer unknown_retention",
		"retention: 1m, wait: 60s":             "",
		"wait: 60s, lease: 1m":                 "",
	} {
		file, err := rules.Parse("semel.yaml", []byte("version: 1\nroutes:\n  - {name: a, match: {path: /a}, "+settings+"}\n"))
		if err != nil {
			t.Fatalf("%s: %v", settings, err)
		}
		var texts []string
		for _, w := range file.Warnings() {
			texts = append(texts, w.Text)
		}
		if all := strings.Join(texts, "\n"); !strings.Contains(all, want) || (want == "") != (all == "") {
			t.Errorf("%s: warned %q, want %q", settings, all, want)
		}
	}
}

// TestWebhookRule: what a route with a verified webhook leaves open has defaults of its own.
func TestWebhookRule(t *testing.T) {
	t.Parallel()
	file, err := rules.Parse("semel.yaml", []byte("version: 1\nroutes:\n  - {name: a, match: {path: /a}, preset: payments, key: {webhook: {scheme: github, secret_env: [A, B], event: /delivery}}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	route := &file.Routes[0]
	want := &rules.Webhook{Scheme: "github", SecretEnv: []string{"A", "B"}, Tolerance: 5 * time.Minute, Event: "/delivery", Redelivery: 4 * 24 * time.Hour}
	if diff := cmp.Diff(route.Key.Webhook, want); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
	if !route.Required || route.Policy.Retention != 7*24*time.Hour || route.BodyLimit != 1<<20 {
		t.Errorf("required %v, retention %v, body limit %d", route.Required, route.Policy.Retention, route.BodyLimit)
	}
}
