package gateway

import (
	"cmp"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/texts"
	"github.com/semel-dev/semel/rules"
)

// byDefault is shown of what was left to the default.
const byDefault = "default"

// Route is a rule as operators read it.
type Route struct {
	Name     string
	Requests []string // methods with host and path, and the conditions
	// Unprotected says that its requests pass untouched; the fields below are then empty.
	Unprotected bool
	Key         string // where it comes from
	Scope       string // how callers are distinguished
	Policy      semel.Policy
	// Asks says where the outcome of an unknown request is asked for; empty where it is not.
	Asks string
	// More says what else the rule sets.
	More []string
}

// Setting is one value of the configuration. The value of a secret is only "set".
type Setting struct{ Name, Value string }

// shownRoutes returns the routes as operators read them, the one of requests that no rule matches at the end.
func (g *Gateway) shownRoutes() []Route {
	var all []Route
	for _, rt := range g.router.all {
		all = append(all, shownRoute(rt))
	}
	return append(all, shownRoute(g.router.fallback))
}

func shownRoute(rt *route) Route {
	rule := &rt.rule
	shown := Route{Name: rule.Name, Requests: rule.Match.Patterns(), Unprotected: rt.middleware == nil}
	for _, condition := range shownConditions(rule) {
		shown.Requests = append(shown.Requests, "with "+condition)
	}
	if shown.Unprotected {
		return shown
	}
	published := policyOf(rt.middleware)
	shown.Key, shown.Scope, shown.Policy = published.Key, published.Scope, rt.policy
	shown.Policy.UnknownRetention = cmp.Or(rt.policy.UnknownRetention, max(rt.policy.Retention, semel.DefaultRetention)) // as the guard has it
	if rule.Reconcile != nil {
		shown.Asks = "GET " + rule.Reconcile.Get.String() + "; absence is believed after " + rule.Reconcile.AbsentAfter.String()
		if rule.Reconcile.Background != nil {
			shown.Asks += "; also when no retry arrives"
		}
	}
	also := func(when bool, what string) {
		if when {
			shown.More = append(shown.More, what)
		}
	}
	also(rule.Required, "requests without a key are refused")
	also(rule.FailOpen, "while the store does not answer, requests run without protection")
	also(rule.On5xx == rules.Store5xx, "an answer of 500 or above is recorded")
	also(rule.On5xx == rules.Unknown5xx, "an answer of 500 or above is an unknown outcome")
	also(rule.InFlightStatus == http.StatusServiceUnavailable, "while the first runs, a duplicate is refused with 503")
	also(rule.StripeErrors, "refusals are written for SDKs of Stripe as well")
	also(rule.Form != nil, "forms of its pages get a token")
	also(rule.Page != nil, "page: true: a script in the application's pages gives their requests a key")
	also(rule.Authorize != nil, "the caller's right is checked before a recorded answer is given")
	also(rule.CanonicalJSON, "JSON that differs in white space and the order of members is the same")
	also(len(rule.FingerprintHeaders) > 0, "the headers "+strings.Join(rule.FingerprintHeaders, ", ")+" make a request another one")
	also(true, "bodies of requests up to "+published.MaxBody()+", of recorded answers up to "+published.MaxResponse())
	return shown
}

// shownConditions returns the conditions of a route as people read them.
func shownConditions(rule *rules.Route) []string {
	return texts.Of(rule.Match.Conditions, func(c rules.MatchCondition) string { return c.String() })
}

// settings returns the configuration for operators, without secrets.
func (c *Config) settings() []Setting {
	span := func(d time.Duration) string {
		if d <= 0 {
			return "none"
		}
		return d.String()
	}
	file := "none"
	if c.Rules != nil {
		file = c.Rules.Name
	}
	log := "not kept"
	if c.OutcomeLog != nil {
		log = "kept for " + strings.TrimSuffix(c.OutcomeLog.Retention().String(), "0m0s")
	}
	all := []Setting{
		{Name: "Upstream", Value: c.Upstream},
		{Name: "Store", Value: text(c.StoreName)},
		{Name: "Rules", Value: file},
		{Name: "Outcome log", Value: log},
		{Name: "Key required", Value: yes(c.KeyRequired)},
		{Name: "Address for callers", Value: c.Listen},
		{Name: "Address for operators", Value: c.AdminListen},
		{Name: "Certificate", Value: text(c.CertFile)},
		{Name: "Private key", Value: set(c.KeyFile != "")},
		{Name: "Authorities of client certificates", Value: text(c.ClientCAFile)},
		{Name: "TLS to the upstream", Value: set(c.UpstreamTLS != nil)},
		{Name: "Trusted proxies", Value: text(strings.Join(texts.Of(c.TrustedProxies, netip.Prefix.String), ", "))},
		{Name: "Rewrite host", Value: yes(c.RewriteHost)},
		{Name: "Dial timeout", Value: span(c.DialTimeout)},
		{Name: "Answer timeout", Value: span(c.AnswerTimeout)},
		{Name: "Upstream idle timeout", Value: span(c.UpstreamIdleTimeout)},
		{Name: "Read header timeout", Value: span(c.ReadHeaderTimeout)},
		{Name: "Body idle timeout", Value: span(c.BodyIdleTimeout)},
		{Name: "Idle timeout", Value: span(c.IdleTimeout)},
		{Name: "Drain delay", Value: span(c.DrainDelay)},
		{Name: "Drain timeout", Value: span(c.DrainTimeout)},
		{Name: "Longest header", Value: strconv.Itoa(c.MaxHeaderBytes) + " bytes"},
		{Name: "Longest page that is searched for forms", Value: strconv.FormatInt(c.MaxPageBytes, 10) + " bytes"},
		{Name: "Directory for large bodies", Value: text(c.SpoolDir)},
		{Name: "Secrets of forms", Value: secrets(len(c.FormSecrets))},
		{Name: "Background reconciliation every", Value: cmp.Or(shownSpan(c.Background.Every), byDefault)},
	}
	return append(all, guardSettings(&c.Guard)...)
}

// guardSettings are those of the guard, apart from its policy, which the routes show.
func guardSettings(o *semel.Options) []Setting {
	number := func(n int) string {
		if n == 0 {
			return byDefault
		}
		return strconv.Itoa(n)
	}
	return []Setting{
		{Name: "Secrets of digests", Value: secrets(len(o.Secrets))},
		{Name: "Keys of recorded answers", Value: secrets(len(o.OutcomeKeys))},
		{Name: "Hide keys", Value: yes(o.HideKeys)},
		{Name: "Live claims", Value: number(o.LiveClaims)},
		{Name: "Live claims of a scope", Value: number(o.LiveClaimsPerScope)},
		{Name: "Records of a scope", Value: number(o.RecordsPerScope)},
		{Name: "Waiters", Value: number(o.Waiters)},
		{Name: "Waiters of a scope", Value: number(o.WaitersPerScope)},
		{Name: "Waiters of a key", Value: number(o.WaitersPerKey)},
		{Name: "Queue to the store", Value: number(o.StoreQueue)},
		{Name: "Store timeout", Value: cmp.Or(shownSpan(o.StoreTimeout), byDefault)},
		{Name: "Sweep every", Value: cmp.Or(shownSpan(o.SweepEvery), byDefault)},
	}
}

func shownSpan(d time.Duration) string {
	switch {
	case d < 0:
		return "never"
	case d == 0:
		return ""
	}
	return d.String()
}

// text returns a value, or says that it is not set.
func text(value string) string { return cmp.Or(value, "not set") }

func yes(value bool) string {
	if value {
		return "yes"
	}
	return "no"
}

func set(value bool) string { return map[bool]string{true: "set", false: "not set"}[value] }

// secrets says how many there are.
func secrets(n int) string {
	if n > 1 {
		return strconv.Itoa(n) + " set"
	}
	return set(n == 1)
}
