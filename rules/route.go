package rules

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/rules/yamlfile"
)

// Bounds of what a route may say.
const (
	maxRetention     = 10 * 365 * 24 * time.Hour
	maxWait          = 5 * time.Minute
	maxLease         = time.Hour
	maxMaxRun        = 24 * time.Hour
	minLease         = 100 * time.Millisecond
	maxBodyLimit     = 1 << 40
	maxResponseLimit = 64 << 20
	maxNameBytes     = 100
)

// On5xx says how an answer of 500 or above ends the claim.
type On5xx uint8

// What an answer of 500 or above means.
const (
	Release5xx On5xx = iota // nothing happened: a retry runs; but 502 and 504 are unknown
	Store5xx                // it is the answer: a retry gets it again
	Unknown5xx              // it may have happened
)

// Route says how the requests that it matches are treated. A zero number,
// size or time span means the default.
type Route struct {
	// Name is unique within the file; logs and metrics show it.
	Name string
	// At is the position of the route in the file.
	At Position
	// Match says which requests it is about.
	Match Match
	// Protect is false for requests that pass untouched.
	Protect bool
	// Key says where the key comes from.
	Key Key
	// Payments says that the route was written with preset: payments.
	Payments bool
	// Required refuses requests without a key.
	Required bool
	// Scope lists what distinguishes callers; the first that a request has
	// counts. Empty for the default: Authorization header, else verified
	// client certificate, else session cookie, else anonymous.
	Scope []ScopeSource
	// Policy is the guard's: mode, retention, wait, lease, max run, and what to
	// do about an unknown outcome. Its Reconcile and MaxOutcomeBytes are unset.
	Policy semel.Policy
	// Reconcile is set when Policy.OnUnknown is semel.Reconcile.
	Reconcile *Reconcile
	// Authorize, when set, checks the caller's right before a stored answer is
	// given.
	Authorize *Authorize
	// BodyLimit and ResponseLimit bound the request's and the kept answer's
	// body, in bytes.
	BodyLimit, ResponseLimit int64
	// On5xx says what an answer of 500 or above means.
	On5xx On5xx
	// ReleasedWhen, when set, says which further answers mean that nothing
	// happened.
	ReleasedWhen *ReleasedWhen
	// InFlightStatus is the status of the refusal in-flight: 409 or 503; 0 means 409.
	InFlightStatus int
	// StripeErrors adds to problems what the SDKs of Stripe look for, as semelhttp.Options.StripeErrors does.
	StripeErrors bool
	// FailOpen runs requests unprotected while the store cannot be reached.
	FailOpen bool
	// Form, when set, protects the HTML forms that post to the route.
	Form *Form
	// Page, when set, protects what scripts of the application's pages send to the route.
	Page *Page
	// CanonicalJSON makes JSON bodies the same that differ in white space and
	// in the order of members only.
	CanonicalJSON bool
	// FingerprintHeaders names further request headers whose values make a request
	// another one.
	FingerprintHeaders []string
}

// Default is the route of requests that no rule matches: every POST and PATCH
// that carries an Idempotency-Key header is protected.
func Default() Route {
	return Route{
		Name:    "default",
		Match:   Match{Methods: []string{http.MethodPost, http.MethodPatch}, Path: "/"},
		Protect: true,
		Key:     Key{Header: "Idempotency-Key"},
	}
}

// SessionCookies lists the cookies by which well-known frameworks and applications
// know a session. Where a rule has no scope, the gateway takes for one also a cookie
// whose name ends in _session and does not start with an underscore, such as
// <database>_session of MediaWiki. All that a request has identify its caller
// together. Where a framework gives its cookie a new value with every answer (an encrypted cookie), a caller that
// retries after an answer is another caller: name a steadier source with scope.
func SessionCookies() []string {
	return []string{
		"sessionid",           // Django
		"PHPSESSID",           // PHP
		"JSESSIONID",          // Jakarta Servlet
		"connect.sid",         // Express
		"ASP.NET_SessionId",   // ASP.NET
		".AspNetCore.Session", // ASP.NET Core
		".AspNetCore.Cookies", // ASP.NET Core Identity
		"laravel_session",     // Laravel
		"_session_id",         // Rails
		"SESSION",             // Spring Session
		"DokuWiki",
		"MinifluxSessionID",
		"directus_session_token",
		"ci_session", // CodeIgniter
		"__Host-session",
		"__Secure-session",
		"session", // Flask and others
		"session_id",
		"sid",
	}
}

func (r *reader) routes(n ast.Node) []Route {
	nodes := r.Sequence(n, "routes")
	if len(nodes) > maxRoutes {
		r.Report(yamlfile.At(n), "split the file, or match with wildcards", "routes has %d elements, more than %d", len(nodes), maxRoutes)
		return nil
	}
	routes := make([]Route, 0, len(nodes))
	for _, node := range nodes {
		route := r.route(node)
		i := slices.IndexFunc(routes, func(o Route) bool { return o.Name == route.Name })
		if i >= 0 && route.Name != "" {
			r.Report(route.At, "give every route a name of its own", "route name %q is used on line %d already", route.Name, routes[i].At.Line)
		}
		routes = append(routes, route)
	}
	r.conflicts(routes)
	return routes
}

func (r *reader) route(n ast.Node) Route {
	route := Default()
	route.Name, route.At, route.Match.Path = "", yamlfile.At(n), ""
	p := &route.Policy
	found := r.Mapping(n, "route", []yamlfile.Field{
		{"name", func(n ast.Node) { route.Name = r.name(n) }},
		{"match", func(n ast.Node) { r.match(n, &route) }},
		{"preset", func(n ast.Node) { route.Payments = r.Choice(n, "preset", "payments") == 0 }},
		{"protect", func(n ast.Node) { route.Protect = r.Boolean(n, "protect") }},
		{"key", func(n ast.Node) { route.Key = r.key(n) }},
		{"required", func(n ast.Node) { route.Required = r.Boolean(n, "required") }},
		{"scope", func(n ast.Node) { route.Scope = r.scope(n) }},
		{"mode", func(n ast.Node) { p.Dedup = r.Choice(n, "mode", "idempotent", "dedup") == 1 }},
		{"retention", func(n ast.Node) { p.Retention = r.duration(n, "retention", time.Second, maxRetention) }},
		{"unknown_retention", func(n ast.Node) { p.UnknownRetention = r.duration(n, "unknown_retention", time.Second, maxRetention) }},
		{"wait", func(n ast.Node) { p.Wait = r.wait(n) }},
		{"lease", func(n ast.Node) { p.Lease = r.duration(n, "lease", minLease, maxLease) }},
		{"max_run", func(n ast.Node) { p.MaxRun = r.duration(n, "max_run", minLease, maxMaxRun) }},
		{"body_limit", func(n ast.Node) { route.BodyLimit = r.size(n, "body_limit", maxBodyLimit) }},
		{"response_limit", func(n ast.Node) { route.ResponseLimit = r.size(n, "response_limit", maxResponseLimit) }},
		{"on_5xx", func(n ast.Node) { route.On5xx = On5xx(r.Choice(n, "on_5xx", "release", "store", "unknown")) }}, //nolint:gosec // 0 to 2.
		{"released_when", func(n ast.Node) { route.ReleasedWhen = r.releasedWhen(n) }},
		{"unknown", func(n ast.Node) { r.unknown(n, &route) }},
		{"authorize", func(n ast.Node) { route.Authorize = r.authorize(n) }},
		{"in_flight_status", func(n ast.Node) { route.InFlightStatus = r.inFlightStatus(n) }},
		{"problem_format", func(n ast.Node) {
			route.StripeErrors = r.Choice(n, "problem_format", "problem", "stripe") == 1
		}},
		{"fail_open", func(n ast.Node) { route.FailOpen = r.Boolean(n, "fail_open") }},
		{"canonical_json", func(n ast.Node) { route.CanonicalJSON = r.Boolean(n, "canonical_json") }},
		{"fingerprint_headers", func(n ast.Node) { route.FingerprintHeaders = r.tokens(n, "fingerprint_headers") }},
		{"form", func(n ast.Node) { route.Form = r.form(n) }},
		{"page", func(n ast.Node) { route.Page = r.page(n) }},
	})
	if found != nil {
		r.preset(&route, found)
		r.webhookDefaults(&route, found)
		r.routeComplete(&route, found)
		r.contradictions(&route, found)
	}
	return route
}

func (r *reader) name(n ast.Node) string {
	name, ok := r.Text(n, "name")
	if !ok {
		return ""
	}
	switch {
	case len(name) > maxNameBytes:
		r.Report(yamlfile.At(n), "shorten it", "name has %d bytes, more than %d", len(name), maxNameBytes)
	case name == Default().Name:
		r.Report(yamlfile.At(n), "choose another one", "name %q belongs to requests that no route matches", name)
	case strings.ContainsFunc(name, func(c rune) bool { return c < ' ' || c == 0x7F }):
		r.Report(yamlfile.At(n), "write it with visible characters", "name %q holds control characters", name)
	default:
		return name
	}
	return ""
}

// wait reads how long a duplicate waits; 0 is an answer of its own.
func (r *reader) wait(n ast.Node) time.Duration {
	before := r.Count()
	d := r.duration(n, "wait", 0, maxWait)
	if d == 0 && r.Count() == before {
		return semel.NoWait
	}
	return d
}

// inFlightStatus reads the status of the refusal in-flight.
func (r *reader) inFlightStatus(n ast.Node) int {
	before := r.Count()
	status := r.Integer(n, "in_flight_status", http.StatusConflict, http.StatusServiceUnavailable)
	if r.Count() == before && status != http.StatusConflict && status != http.StatusServiceUnavailable {
		r.Report(yamlfile.At(n), "write 409, or 503 for clients that know no problem documents", "in_flight_status is %d", status)
	}
	return status
}

// routeComplete reports what a route lacks.
func (r *reader) routeComplete(route *Route, found yamlfile.Present) {
	if !found.Has("name") {
		r.Report(route.At, "add a name that logs and metrics can show, such as name: payments", "a route has no name")
	}
	if !found.Has("match") {
		r.Report(route.At, "add match with a path", "route %q matches nothing", route.Name)
	}
}

// contradictions reports settings that cannot hold together.
func (r *reader) contradictions(route *Route, found yamlfile.Present) {
	if !route.Protect {
		for _, name := range slices.Sorted(maps.Keys(found)) {
			if name != "name" && name != "match" && name != "protect" {
				r.Report(found[name], "remove it, or remove protect: false", "%q says nothing in a route that is not protected", name)
			}
		}
		return
	}
	p := &route.Policy
	at := func(name string) Position { return found[name] }
	if p.MaxRun > 0 && p.Lease > p.MaxRun {
		r.Report(at("lease"), "make lease shorter than max_run; it is renewed while a request runs", "lease %v is longer than max_run %v", p.Lease, p.MaxRun)
	}
	if p.Dedup && found.Has("response_limit") {
		r.Report(at("response_limit"), "remove it, or write mode: idempotent", "response_limit says nothing in mode dedup, which keeps no answer")
	}
	if p.Dedup && route.On5xx == Store5xx {
		r.Report(at("on_5xx"), "write release or unknown, or mode: idempotent", "on_5xx: store says nothing in mode dedup, which keeps no answer")
	}
	if route.Key.FormField != "" && route.CanonicalJSON {
		r.Report(at("canonical_json"), "remove it, or take the key from a header or a json_pointer", "canonical_json says nothing about forms, where the key comes from")
	}
	if route.Key.Derive != nil && found.Has("fingerprint_headers") {
		r.Report(at("fingerprint_headers"), "name the headers in key.derive.headers", "fingerprint_headers says nothing where the key is derived")
	}
	r.formContradictions(route, found)
	r.pageContradictions(route, found)
	r.webhookContradictions(route, found)
	for name, templates := range route.templates() {
		r.placeholders(route, templates, at(name))
	}
}
