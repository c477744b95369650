package rules

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/semel-dev/semel/internal/rules/template"
	"github.com/semel-dev/semel/internal/rules/yamlfile"
)

// Of a route whose key comes from a verified webhook, unless it says otherwise.
const (
	webhookRetention  = 7 * 24 * time.Hour
	webhookRedelivery = 4 * 24 * time.Hour
	webhookTolerance  = 5 * time.Minute
	webhookBodyLimit  = 1 << 20
	maxWebhookSecrets = 8
	// webhookMargin is the most by which clocks may differ.
	webhookMargin = time.Minute
)

// Webhook takes the key from a delivery whose signature the gateway verifies. A request
// that the sender did not sign is refused; the scope is the route alone.
type Webhook struct {
	Scheme string // standard (Standard Webhooks), stripe or github
	// SecretEnv names the environment variables that hold a secret each, SecretFile the
	// file with one per line. One of the two is set.
	SecretEnv  []string
	SecretFile string
	// Tolerance bounds the distance of a signature's time from now.
	Tolerance time.Duration
	// Event names the event in the signed body: a JSON pointer, or "body". Empty
	// for the default of the scheme.
	Event string
	// Redelivery is the longest time after which the sender may deliver an event again.
	Redelivery time.Duration
}

// pointer returns the place in the body that names the event, or "".
func (w *Webhook) pointer() string {
	switch {
	case strings.HasPrefix(w.Event, "/"):
		return w.Event
	case w.Event == "" && w.Scheme == "stripe":
		return "/id"
	}
	return ""
}

func (r *reader) webhook(n ast.Node) *Webhook {
	schemes := []string{"standard", "stripe", "github"}
	w := &Webhook{Scheme: schemes[0], Tolerance: webhookTolerance, Redelivery: webhookRedelivery}
	found := r.Mapping(n, "webhook", []yamlfile.Field{
		{"scheme", func(n ast.Node) { w.Scheme = schemes[r.Choice(n, "scheme", schemes...)] }},
		{"secret_env", func(n ast.Node) { w.SecretEnv = r.variables(n, "secret_env") }},
		{"secret_file", func(n ast.Node) { w.SecretFile, _ = r.Text(n, "secret_file") }},
		{"tolerance", func(n ast.Node) { w.Tolerance = r.duration(n, "tolerance", time.Second, 24*time.Hour) }},
		{"event", func(n ast.Node) { w.Event = r.event(n) }},
		{"redelivery", func(n ast.Node) { w.Redelivery = r.duration(n, "redelivery", 0, maxRetention) }},
	})
	if found == nil {
		return w
	}
	if found.Has("secret_env") == found.Has("secret_file") {
		r.Report(yamlfile.At(n), "name the variables that hold the secrets with secret_env, or a file with one per line with secret_file",
			"webhook needs one of secret_env and secret_file")
	}
	if w.Scheme == "standard" && found.Has("event") {
		r.Report(found["event"], "remove it", "event does not apply to Standard Webhooks, where the signed webhook-id names the event")
	}
	return w
}

// variables reads the names of environment variables.
func (r *reader) variables(n ast.Node, what string) []string {
	all := r.Texts(n, what)
	for _, name := range all {
		if !variableName.MatchString(name) { // it may be the secret
			r.Report(yamlfile.At(n), "write the name of the variable that holds the secret, such as SHOP_WEBHOOK_SECRET, not the secret",
				"%s is not a name of an environment variable", what)
			return nil
		}
	}
	if len(all) > maxWebhookSecrets {
		r.Report(yamlfile.At(n), "remove those that the sender no longer signs with", "%s has %d elements, more than %d", what, len(all), maxWebhookSecrets)
	}
	return all
}

func (r *reader) event(n ast.Node) string {
	return r.Word(n, "event", func(s string) bool { return s == "body" || template.IsPointer(s) },
		`write the JSON pointer of the event's id, such as /id, or body`, "event %q is neither a JSON pointer nor body")
}

// webhookDefaults fills what a route with a verified webhook leaves open.
func (r *reader) webhookDefaults(route *Route, found yamlfile.Present) {
	if route.Key.Webhook == nil {
		return
	}
	if found.Has("required") && !route.Required {
		r.Report(found["required"], "remove it", "required: false contradicts key.webhook: a request without a signature is refused")
	}
	route.Required = true
	if !found.Has("retention") {
		route.Policy.Retention = webhookRetention
	}
	if !found.Has("body_limit") {
		route.BodyLimit = webhookBodyLimit
	}
}

// webhookContradictions reports what cannot hold together with a verified webhook: only
// what is signed may decide.
func (r *reader) webhookContradictions(route *Route, found yamlfile.Present) {
	w := route.Key.Webhook
	if w == nil {
		return
	}
	for name, fix := range map[string]string{
		"scope":               "remove it: the scope is the route, because credentials and cookies are not signed",
		"canonical_json":      "remove it: the body counts as it was signed",
		"fingerprint_headers": "remove it: headers are not signed",
		"form":                "remove one of the two: webhooks are not sent by forms",
		"page":                "remove one of the two: webhooks are not sent by pages",
	} {
		if found.Has(name) {
			r.Report(found[name], fix, "%s contradicts key.webhook", name)
		}
	}
	if route.Reconcile != nil && route.Reconcile.Background != nil {
		r.Report(found["unknown"], "leave background out: a redelivery asks", "background needs the path of the request, which is not signed, and is not kept")
	}
	if !slices.Contains(route.Match.Methods, http.MethodPost) {
		r.Report(found["match"], "add POST; the others are refused, because the method is not signed", "match has no POST, which all webhooks are")
	}
	for name, p := range map[string]time.Duration{"retention": route.Policy.Retention, "unknown_retention": route.Policy.UnknownRetention} {
		if w.Scheme != "github" && p > 0 && p < 2*w.Tolerance+webhookMargin {
			r.Report(found[name], "raise "+name+", or lower key.webhook.tolerance",
				"%s %v is shorter than twice the tolerance %v and %v: a delivery that is still valid would be forgotten, and run again", name, p, w.Tolerance, webhookMargin)
		}
	}
}
