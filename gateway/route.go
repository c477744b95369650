package gateway

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/gateway/internal/forms"
	"github.com/semel-dev/semel/gateway/internal/scope"
	"github.com/semel-dev/semel/internal/browserkey"
	"github.com/semel-dev/semel/internal/recent"
	"github.com/semel-dev/semel/outcomelog"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/semelhttp"
)

// envelopeBytes is the room for status and headers in addition to a recorded body.
const envelopeBytes = 64 << 10

// route is one rule at work: the requests it matches go through handler.
type route struct {
	rule    rules.Route
	handler http.Handler
	// middleware is nil for a route that is not protected.
	middleware *semelhttp.Middleware
	status     http.Handler // answers with the outcome of a request
	policy     semel.Policy
	derived    semel.Policy // of derived keys
	// unattended is the policy of the background; its OnUnknown is semel.Reconcile where the rule says so.
	unattended semel.Policy
	// form is the route as the forms see it.
	form forms.Route
	met  atomic.Bool // set when a request matches
}

// routeOf returns a route without protection.
func routeOf(rule rules.Route, handler http.Handler) *route {
	built := &route{rule: rule, handler: handler}
	built.form.Rule, built.form.Handler = &built.rule, handler
	return built
}

// newRoute builds the handler of one rule in front of the proxy.
func (g *Gateway) newRoute(rule rules.Route, proxy http.Handler) (*route, error) {
	if g.forms != nil {
		proxy = g.forms.Strip(proxy)
	}
	if !rule.Protect {
		return routeOf(rule, proxy), nil
	}
	if g.target == nil && len(questions(&rule)) > 0 {
		return nil, fmt.Errorf("gateway: route %q asks the application (authorize, reconcile): name it as the upstream", rule.Name)
	}
	if rule.ReleasedWhen != nil {
		proxy = rememberReleasing(rule.ReleasedWhen, proxy)
	}
	policy := merge(rule.Policy, g.guard.Policy())
	if rule.ResponseLimit > 0 {
		policy.MaxOutcomeBytes = int(rule.ResponseLimit) + envelopeBytes
	}
	if rule.Reconcile != nil {
		policy.Reconcile = (&reconciler{asker: g.newAsker(&rule), rule: rule.Reconcile}).reconcile
	}
	guard, err := g.guard.With(policy)
	if err != nil {
		return nil, fmt.Errorf("gateway: route %q: %w", rule.Name, err)
	}
	options := &semelhttp.Options{
		Key: keySource(&rule), Required: rule.Required, Methods: rule.Match.Methods,
		MaxBodyBytes: rule.BodyLimit, SpoolDir: g.config.SpoolDir, MaxResponseBytes: int(rule.ResponseLimit),
		On5xx: on5xx(rule.On5xx), BufferFlush: true, AbandonAfter: g.config.BodyIdleTimeout, FailOpen: rule.FailOpen,
		InFlightStatus: rule.InFlightStatus, StripeErrors: rule.StripeErrors,
		Fingerprint: semelhttp.FingerprintOptions{CanonicalJSON: rule.CanonicalJSON, Headers: append(conditionHeaders(&rule), rule.FingerprintHeaders...)},
		ScopeText:   strings.Join(scope.Describe(rule.Scope), ", else ") + "; together with method, host and path",
		OnDecision:  g.decided(&rule),
	}
	switch {
	case rule.Authorize != nil:
		options.BeforeReplay = (&authorizer{asker: g.newAsker(&rule), rule: rule.Authorize}).beforeReplay
	case rule.Key.Webhook == nil:
		options.BeforeReplay = provenOnly(rule.Scope)
	}
	from, err := identify(&rule, options, g.notices)
	if err != nil {
		return nil, fmt.Errorf("gateway: route %q: %w", rule.Name, err)
	}
	m, err := semelhttp.New(guard, from, options)
	if err != nil {
		return nil, fmt.Errorf("gateway: route %q: %w", rule.Name, err)
	}
	built := routeOf(rule, nil)
	built.middleware, built.policy, built.status = m, policy, m.StatusHandler()
	handler := m.Handler(proxy)
	if rule.Key.Derive != nil {
		if handler, err = g.deriveHandler(built, from, *options, handler, proxy); err != nil {
			return nil, fmt.Errorf("gateway: route %q: %w", rule.Name, err)
		}
	}
	if handler, err = g.pageHandler(&rule, guard, from, *options, handler, proxy); err != nil {
		return nil, fmt.Errorf("gateway: route %q: %w", rule.Name, err)
	}
	if rule.Form != nil {
		built.form.MaxResponse = policyOf(m).MaxResponseBytes
		if handler, err = g.formHandler(built, guard, from, *options, handler, proxy); err != nil {
			return nil, err
		}
	}
	if len(questions(&rule)) > 0 {
		handler = rememberAttempt(&rule, handler)
	}
	built.handler, built.form.Handler = handler, handler
	return built, g.background(built)
}

// deriveHandler derives the keys of requests without one, and gives all others to keyed: a key is
// the caller's own word for its intent. Derived keys are remembered for the window only.
func (g *Gateway) deriveHandler(built *route, from semelhttp.ScopeFunc, options semelhttp.Options, keyed, proxy http.Handler) (http.Handler, error) {
	built.derived = built.policy
	built.derived.Retention = built.rule.Key.Derive.Window
	guard, err := g.guard.With(built.derived)
	if err != nil {
		return nil, err
	}
	options.Key, options.Fingerprint = withQuestions(&built.rule, derivedSource(&built.rule)), semelhttp.FingerprintOptions{Func: derivedFingerprint}
	m, err := semelhttp.New(guard, from, &options)
	if err != nil {
		return nil, err
	}
	built.middleware = m
	derived := m.Handler(proxy)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.Header[semelhttp.DefaultHeader]) > 0 && !browserkey.Added(r.Header.Values) {
			keyed.ServeHTTP(w, r)
			return
		}
		derived.ServeHTTP(w, r)
	}), nil
}

// pageHandler handles requests with a key of the page script, and gives all others to plain. The script keeps a key for one content, by
// its own notion of that: like the key of a form, this key says what counts, and what it leaves out must not make a mismatch.
func (g *Gateway) pageHandler(rule *rules.Route, guard *semel.Guard, from semelhttp.ScopeFunc, options semelhttp.Options, plain, proxy http.Handler) (http.Handler, error) {
	if rule.Page == nil {
		return plain, nil
	}
	options.InFlightStatus = http.StatusConflict // which the script waits for
	options.Fingerprint = semelhttp.FingerprintOptions{Func: func(r *http.Request, _ *semelhttp.Body) (semel.Fingerprint, error) {
		return semel.FingerprintOf("page", rule.Name, r.Method, strings.ToLower(r.Host), r.URL.EscapedPath(), r.URL.RawQuery), nil
	}}
	m, err := semelhttp.New(guard, from, &options)
	if err != nil {
		return nil, err
	}
	header, keys, paged := keyHeader(rule), g.metrics.pageKeys.WithLabelValues(rule.Name), m.Handler(proxy)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if forms.IsPageKey(r.Header[header]) {
			keys.Inc()
			paged.ServeHTTP(w, r)
			return
		}
		plain.ServeHTTP(w, r)
	}), nil
}

// identify sets how the intents of a route are distinguished, and returns their scope.
func identify(rule *rules.Route, o *semelhttp.Options, notices *scope.Notices) (semelhttp.ScopeFunc, error) {
	verifier, err := verifierOf(rule)
	switch {
	case err != nil:
		return nil, err
	case verifier != nil:
		o.Key, o.Fingerprint.Func, o.ScopeText = withQuestions(rule, verifier), verifier.Fingerprint, "the route"
		return verifier.Scope(rule.Name), nil
	}
	from := scope.Func(rule, notices)
	if rule.Form != nil {
		from = forms.Scope(from)
	}
	return from, nil
}

// formHandler handles requests with a form token, and gives all others to plain.
func (g *Gateway) formHandler(built *route, guard *semel.Guard, from semelhttp.ScopeFunc, options semelhttp.Options, plain, proxy http.Handler) (http.Handler, error) {
	lifetime, err := forms.Lifetime(&built.rule, guard.Policy().Retention)
	if err != nil {
		return nil, err
	}
	built.form.Lifetime = lifetime
	options.Key = withQuestions(&built.rule, g.forms.Key(&built.rule, lifetime))
	return g.forms.Handler(&built.rule, guard, from, options, plain, proxy)
}

// merge fills what a rule leaves open from the guard's policy.
func merge(p, base semel.Policy) semel.Policy {
	p.Retention = cmp.Or(p.Retention, base.Retention)
	if p.UnknownRetention == 0 && p.Retention <= base.UnknownRetention {
		p.UnknownRetention = base.UnknownRetention
	}
	p.Wait = cmp.Or(p.Wait, base.Wait)
	p.Lease = cmp.Or(p.Lease, base.Lease)
	p.MaxRun = cmp.Or(p.MaxRun, base.MaxRun)
	p.MaxOutcomeBytes, p.UnknownOnError, p.ReconcileTimeout = base.MaxOutcomeBytes, base.UnknownOnError, base.ReconcileTimeout
	return p
}

func on5xx(v rules.On5xx) semelhttp.On5xx {
	switch v {
	case rules.Store5xx:
		return semelhttp.StoreOn5xx
	case rules.Unknown5xx:
		return semelhttp.UnknownOn5xx
	case rules.Release5xx:
	}
	return semelhttp.ReleaseOn5xx
}

// keySource returns where the rule says that the key comes from. A key that is derived is for requests without one.
func keySource(rule *rules.Route) semelhttp.KeySource {
	k := &rule.Key
	var source semelhttp.KeySource
	switch {
	case k.JSONPointer != "":
		source = semelhttp.FromJSONPointer(k.JSONPointer)
	case k.FormField != "":
		source = semelhttp.FromFormField(k.FormField)
	case k.WebhookID:
		source = semelhttp.FromWebhookID()
	default:
		source = semelhttp.FromHeader(cmp.Or(k.Header, semelhttp.DefaultHeader))
	}
	return withQuestions(rule, source)
}

func derivedSource(rule *rules.Route) semelhttp.KeySource {
	d, route := rule.Key.Derive, ""
	if len(rule.Match.Conditions) > 0 {
		route = rule.Name
	}
	return &wishSource{semelhttp.Derived(semelhttp.DerivedKey{Fields: d.Fields, Cookies: d.Cookies, Headers: d.Headers}), route}
}

// wishSource makes the query, and the route where conditions lead to it, part of a derived key: the same form sent to another
// query or route is another wish.
type wishSource struct {
	semelhttp.KeySource
	route string
}

// Key implements semelhttp.KeySource.
func (s *wishSource) Key(r *http.Request, body *semelhttp.Body) (string, bool, error) {
	name, found, err := s.KeySource.Key(r, body)
	if err == nil && found && r.URL.RawQuery != "" {
		sum := sha256.Sum256([]byte(r.URL.RawQuery))
		name += "?" + hex.EncodeToString(sum[:16])
	}
	if err == nil && found && s.route != "" {
		sum := sha256.Sum256([]byte(s.route))
		name += "#" + hex.EncodeToString(sum[:16])
	}
	return name, found, err
}

// conditionHeaders returns the headers of the route's conditions: the same key with another value there is another request.
func conditionHeaders(rule *rules.Route) (names []string) {
	for i := range rule.Match.Conditions {
		if c := &rule.Match.Conditions[i]; c.In == "header" {
			names = append(names, c.Name)
		}
	}
	return names
}

// derivedFingerprint is that of requests whose key is derived: the key says
// already what counts, and what it leaves out must not make a mismatch.
func derivedFingerprint(*http.Request, *semelhttp.Body) (semel.Fingerprint, error) {
	return semel.FingerprintOf("derived"), nil
}

// newRouter builds all routes of the rules, and the one for everything else.
func (g *Gateway) newRouter(proxy http.Handler) (*router, error) {
	rule := rules.Default()
	rule.Required, rule.Policy = g.config.KeyRequired, g.guard.Policy()
	fallback, err := g.newRoute(rule, proxy)
	if err != nil {
		return nil, err
	}
	rt := &router{fallback: fallback}
	defer func() { rt.lenient = newLenient(rt) }()
	if g.config.Rules == nil || len(g.config.Rules.Routes) == 0 {
		return rt, nil
	}
	var all patterns
	for _, rule := range g.config.Rules.Routes {
		built, err := g.newRoute(rule, proxy)
		if err != nil {
			return nil, err
		}
		rt.all = append(rt.all, built)
		for _, pattern := range rule.Match.Patterns() {
			all.add(pattern, built)
		}
	}
	for _, pattern := range all.names {
		at := newGroup(all.routes[pattern])
		if err := errors.Join(rt.add(pattern, at), g.reads(at)); err != nil {
			return nil, fmt.Errorf("gateway: route %q: %w", at.routes[0].rule.Name, err)
		}
	}
	rt.layer()
	return rt, nil
}

// plainHost returns the host as rules spell it: small letters, no dot at the end.
func plainHost(host string) string {
	name, port, found := strings.Cut(host, ":")
	plain := strings.TrimSuffix(strings.ToLower(name), ".")
	if plain == name {
		return host
	}
	name = plain
	if found {
		return name + ":" + port
	}
	return name
}

// plainPath returns an escaped path with its dots written out, for which applications take them too.
func plainPath(raw string) string {
	return strings.ReplaceAll(strings.ReplaceAll(raw, "%2e", "."), "%2E", ".")
}

// cleanPath returns the escaped path by which the route was found: ServeMux looks at it without empty and dot segments.
func cleanPath(escaped string) string {
	plain := plainPath(escaped)
	clean := path.Clean("/" + plain)
	if strings.HasSuffix(plain, "/") && clean != "/" {
		clean += "/"
	}
	return clean
}

// noticeReruns returns what says once, for a route on which a failure releases, that an intent ran again after one: where the
// application can fail after its effect, that was a second effect. It remembers failed intents in bounded memory.
func (g *Gateway) noticeReruns(rule *rules.Route) func(context.Context, *semelhttp.Decision) {
	if rule.On5xx != rules.Release5xx {
		return func(context.Context, *semelhttp.Decision) {}
	}
	var once sync.Once
	return func(ctx context.Context, d *semelhttp.Decision) {
		if !d.Executed {
			return
		}
		if failed := g.failed.Load(); failed != nil && failed.Has(d.Digest) {
			once.Do(func() {
				g.log.LogAttrs(ctx, slog.LevelWarn, "a request that had failed was executed again: on_5xx: release takes a failure for \"nothing happened\"; "+
					"if the application can fail after its effect, write preset: payments or on_5xx: unknown (said once for each route)",
					slog.String("route", rule.Name), slog.Int("status", d.Status))
			})
		}
		if d.Outcome == outcomelog.Released && d.Status >= http.StatusInternalServerError && d.Status != http.StatusBadGateway && d.Status != http.StatusGatewayTimeout {
			// A released 502 or 504 is the gateway's own: nothing was sent.
			if g.failed.Load() == nil {
				g.failed.CompareAndSwap(nil, new(recent.Set))
			}
			g.failed.Load().Add(d.Digest)
		}
	}
}

// formsView is the gateway as package forms sees it. It implements forms.Gateway.
type formsView struct{ g *Gateway }

// Find implements forms.Gateway. The routes of one pattern share tokens: which of them a form meets is seen when it is sent. They have
// the name of the loosest, which stays when a stricter one is added.
func (v formsView) Find(host string, target *url.URL) (label string, found []*forms.Route) {
	r := &http.Request{Method: http.MethodPost, Host: host, URL: target}
	at := v.g.router.group(r)
	if at == nil {
		return "", nil
	}
	label = at.routes[len(at.routes)-1].rule.Name
	if len(at.conditions) == 0 {
		return label, at.alone
	}
	for _, rt := range v.g.router.possible(r, ofForm) {
		if rt != v.g.router.fallback {
			found = append(found, &rt.form)
		}
	}
	return label, found
}

func (v formsView) Explain(host string, target *url.URL) []forms.Candidate {
	return v.g.router.explain(&http.Request{Method: http.MethodPost, Host: host, URL: target}, ofForm)
}

func (v formsView) Nearest(path string) string { return nearestPath(v.g.router.all, path) }

func (v formsView) FailBody(w http.ResponseWriter, r *http.Request, err error) {
	v.g.fail(w, r, &failure{class: failureCallerCancelled, err: err})
}

func (g *Gateway) formsConfig() *forms.Config {
	c := &forms.Config{
		Secrets: g.config.FormSecrets, MaxPageBytes: g.config.MaxPageBytes, Guard: g.guard, Log: g.log,
		Pages: g.metrics.pages, Tokens: g.metrics.formTokens, Unprotected: g.metrics.pageUnprotected, Notices: g.notices,
	}
	if g.config.Rules != nil {
		c.Rules = g.config.Rules.Routes
	}
	return c
}

// States of a [PageForm] that can be sent twice: no rule takes it, or one without form; one does if its fields are as the rule wants
// them; it asks for a password, and its rule gives it no token.
const (
	FormUnprotected = forms.Unprotected
	FormDepends     = forms.Depends
	FormPassword    = forms.Password
)

// Readers of a page that a form's Reader names where nothing of the application's identifies them.
const (
	ReaderNone    = forms.ReaderNone
	ReaderVisitor = forms.ReaderVisitor
)

// PageForm is a form of a page, or a button of one that leads elsewhere than it.
type PageForm = forms.PageForm

// PageForms lists the forms of a page as the gateway would treat them. The request is the one that got the page, header and body
// are those of its answer, without content coding. Of a page that is longer than the config's MaxPageBytes it lists the forms
// that the gateway would see. The error says why the gateway passes a page on as it is, or that its forms cannot be read.
func (g *Gateway) PageForms(r *http.Request, header http.Header, body io.Reader) ([]PageForm, error) {
	r = r.Clone(r.Context())
	(&forwarding{trusted: g.config.TrustedProxies}).settle(r)
	return forms.Inspect(formsView{g}, g.formsConfig(), r, header, body)
}
