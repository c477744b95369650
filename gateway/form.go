package gateway

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/formguard"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/semelhttp"
)

// Forms of web pages, for which a rule says form: the gateway puts a token into
// every page that leads to such a route, takes it for the key when the form comes
// back, and takes it out again before the application sees the request.
//
//	page   ──▶ pageWriter (token, script, notice) ──▶ browser
//	form   ──▶ takeCookies ▸ formKey (token → key, scope) ▸ semelhttp ▸ strip ──▶ upstream
//	answer ──▶ semelhttp (recorded) ▸ pageWriter (outcome cookie, new tokens) ──▶ browser

// forms is what the gateway does about forms. It is safe for concurrent use.
type forms struct {
	gateway *Gateway
	secrets formSecrets
	fields  []string // the hidden fields of all rules, each once
	script  formScript
	pages   pagePool
	// guessed is set when there is a route that does not say whose a form is.
	guessed bool
}

// newForms returns nil where no rule has a form.
func (g *Gateway) newForms() (*forms, error) {
	f := &forms{gateway: g}
	if g.config.Rules != nil {
		for i := range g.config.Rules.Routes {
			if rule := &g.config.Rules.Routes[i]; rule.Form != nil {
				f.guessed = f.guessed || len(rule.Scope) == 0
				if !slices.Contains(f.fields, rule.Form.Field) {
					f.fields = append(f.fields, rule.Form.Field)
				}
			}
		}
	}
	if len(f.fields) == 0 {
		return nil, nil
	}
	if err := f.secrets.open(g); err != nil {
		return nil, err
	}
	return f, f.script.load()
}

// formAttempt is what one request has to do with forms.
type formAttempt struct {
	visitor  string // the visitor cookie, "" for none
	outcomes []outcome
	query    string // of the request with its tokens; "" where there are none in it

	// What formKey found.
	who    string          // whose the form is; "" for as the rule says
	name   string          // the key, "" for none
	token  formguard.Token // when there is a name
	looked bool            // whether somebody has looked into the body
	tokens bool            // whether there are any in it
	length int64           // of the body without them

	// unverified is set for a request with a token that nobody can verify now, and
	// ambiguous for a form that can be read in more than one way.
	unverified, ambiguous bool

	refused []string // the tokens of a form that was refused because none is valid

	// restored is the name of the key whose page is shown again.
	restored string
}

type formAttemptKey struct{}

func formAttemptOf(ctx context.Context) *formAttempt {
	a, _ := ctx.Value(formAttemptKey{}).(*formAttempt)
	return a
}

// serve takes from the request what is the gateway's own, and lets the route
// answer through a writer that knows pages.
func (f *forms) serve(w http.ResponseWriter, r *http.Request, found *route) {
	own := f.withoutCookies(r)
	a := formAttemptOf(own.Context())
	restore := f.cleanQuery(own, a)
	if asksForPage(own) {
		own.Header = freshPage(own.Header)
	}
	page := newPageWriter(f, w, own, a, found)
	returned := false
	defer func() { page.finish(returned) }()
	if restore != "" && f.restore(page, own, a, restore) {
		returned = true
		return
	}
	found.handler.ServeHTTP(page, own)
	returned = true
}

// withoutCookies returns the request without the gateway's own cookies, with what
// they said.
func (f *forms) withoutCookies(r *http.Request) *http.Request {
	a := &formAttempt{}
	own := r.WithContext(context.WithValue(r.Context(), formAttemptKey{}, a))
	var outcomes string
	own.Header, a.visitor, outcomes = takeCookies(r.Header)
	a.outcomes = parseOutcomes(outcomes)
	return own
}

// cleanQuery takes tokens out of the query, and returns the name of the page that
// it asks for, if any.
func (f *forms) cleanQuery(r *http.Request, a *formAttempt) (restore string) {
	raw := r.URL.RawQuery
	if !strings.Contains(raw, "=") {
		return ""
	}
	whole, restore := takeRestore(raw)
	clean := whole
	for _, field := range f.fields {
		clean = formguard.StripQuery(clean, field)
	}
	if clean != whole {
		a.query = whole
	}
	if clean != raw {
		target := *r.URL
		target.RawQuery = clean
		r.URL = &target
	}
	return restore
}

// asksForPage reports whether the request is a browser's that wants a page.
func asksForPage(r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	if r.Header.Get("Sec-Fetch-Mode") == "navigate" {
		return true
	}
	return slices.ContainsFunc(r.Header["Accept"], func(line string) bool {
		return strings.Contains(line, "text/html") || strings.Contains(line, "application/xhtml+xml")
	})
}

// freshPage asks for all of a page, as it is now, and in a coding that can be
// read: a 304 would bring back a page whose token has been used.
func freshPage(h http.Header) http.Header {
	h = h.Clone()
	for _, name := range []string{"If-None-Match", "If-Modified-Since", "Range", "If-Range"} {
		delete(h, name)
	}
	if lines, ok := h["Accept-Encoding"]; ok {
		if h["Accept-Encoding"] = readableCodings(lines); h["Accept-Encoding"] == nil {
			h["Accept-Encoding"] = []string{"identity"}
		}
	}
	return h
}

// leadsTo returns the route that a form leads to which posts to the target, or
// nil when it has no protection for forms.
func (f *forms) leadsTo(host string, target *url.URL) *route {
	found := f.gateway.router.find(&http.Request{Method: http.MethodPost, Host: host, URL: target})
	if found.rule.Form == nil {
		return nil
	}
	return found
}

// formRoute puts the door for tokens before that of the rule's own keys.
func (g *Gateway) formRoute(rule *rules.Route, lifetime time.Duration, guard *semel.Guard, options semelhttp.Options, plain, proxy http.Handler) (http.Handler, error) {
	source := semelhttp.KeySource(&formKey{forms: g.forms, rule: rule, lifetime: lifetime})
	if asked := questions(rule); len(asked) > 0 {
		source = &attemptSource{KeySource: source, parts: bodyParts(asked)}
	}
	options.Key, options.Required = source, false
	options.Fingerprint = semelhttp.FingerprintOptions{Func: formFingerprint}
	m, err := semelhttp.New(guard, formScope(scopeOf(rule.Scope)), &options)
	if err != nil {
		return nil, fmt.Errorf("gateway: route %q: %w", rule.Name, err)
	}
	return m.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch a := formAttemptOf(r.Context()); {
		case a != nil && a.restored != "":
			a.forgotten(w, r)
		case a != nil && a.ambiguous:
			g.refuseForm(w, r)
		case a != nil && (a.name != "" || a.unverified): // the latter on a route that fails open
			proxy.ServeHTTP(w, r)
		default:
			plain.ServeHTTP(w, r)
		}
	})), nil
}

// formLifetime returns how long a form of the route can be sent.
func formLifetime(rule *rules.Route, retention time.Duration) (time.Duration, error) {
	switch lifetime := rule.Form.Lifetime; {
	case lifetime == 0:
		return retention, nil
	case lifetime > retention:
		return 0, fmt.Errorf("gateway: route %q: its forms can be sent for %v, longer than the retention of %v, after which nobody knows any more whether one was", rule.Name, lifetime, retention)
	default:
		return lifetime, nil
	}
}

// serveOwn answers what lies at the gateway's own path for forms.
func (f *forms) serveOwn(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == newTokenPath {
		f.serveNew(w, r)
		return
	}
	f.script.handler.ServeHTTP(w, r)
}

// countPage counts a page, by what became of it.
func (f *forms) countPage(result string) { f.gateway.metrics.pages.WithLabelValues(result).Inc() }

// count counts a token of a route.
func (f *forms) count(route, verdict string) {
	f.gateway.metrics.formTokens.WithLabelValues(route, verdict).Inc()
}
