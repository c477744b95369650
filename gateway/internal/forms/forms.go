package forms

import (
	"context"
	"fmt"
	"hash/maphash"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/gateway/internal/scope"
	"github.com/semel-dev/semel/internal/formguard"
	"github.com/semel-dev/semel/internal/outcomecookie"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/semelhttp"
	"github.com/semel-dev/semel/web"
)

// Path is the path below which the gateway serves scripts, styles and tokens.
const Path = "/.well-known/semel/"

// retryAfter is the pause that a caller is asked for when the store does not answer.
const retryAfter = time.Second

// Gateway is the part of the gateway that forms depend on. It hands over only requests with a
// settled header, which tells the truth about the request's origin.
type Gateway interface {
	// Find returns the routes that a form to the target on the host may meet: its fields, and the headers that a script adds, are not
	// known yet. It returns none where no rule takes the form. Tokens are issued for the label, which routes of one pattern share.
	Find(host string, target *url.URL) (label string, found []*Route)
	// Explain gives the reasons of Find.
	Explain(host string, target *url.URL) []Candidate
	// Nearest returns the path of the rule that was probably meant for a path, "" for none.
	Nearest(path string) string
	// FailBody answers a request whose body could not be read.
	FailBody(w http.ResponseWriter, r *http.Request, err error)
}

// Config holds what forms share with the gateway. All fields but Secrets are required.
type Config struct {
	Rules        []rules.Route
	Secrets      [][]byte // see gateway.Config.FormSecrets
	MaxPageBytes int64
	Guard        *semel.Guard
	Log          *slog.Logger
	Pages        *prometheus.CounterVec // by result
	Tokens       *prometheus.CounterVec // by route and verdict
	Unprotected  *prometheus.CounterVec // what scripts of pages sent without a key, by route and kind
	Notices      *scope.Notices
}

// Route is a route of the gateway.
type Route struct {
	Rule    *rules.Route
	Handler http.Handler
	// Lifetime limits how long after a page was made its forms can be sent.
	Lifetime time.Duration
	// MaxResponse is the length of the longest answer that is recorded.
	MaxResponse int
	// InPage is set when a form of a page leads to the route.
	InPage atomic.Bool
}

// Forms protects the forms and the pages of one gateway. It is safe for concurrent use.
type Forms struct {
	gateway Gateway
	config  *Config
	secrets secrets
	fields  []string // the hidden fields of all rules, each once
	guard   script   // of forms
	page    pageGuard
	scripts http.Handler
	pages   pagePool
	// guessed is set when there is a route that does not say whose a form is.
	guessed bool
	// worded is set when there is a rule with words of its own.
	worded bool
	// unmatched are the forms that no rule takes, and lacking the pages without what rules promise.
	unmatched, lacking seenOnce
	drafts             drafts
}

// New returns nil where no rule has form or page.
func New(g Gateway, c *Config) (*Forms, error) {
	f := &Forms{
		gateway: g, config: c, drafts: drafts{seed: maphash.MakeSeed()}, scripts: http.StripPrefix(strings.TrimSuffix(Path, "/"), web.Handler()),
	}
	for i := range c.Rules {
		if rule := &c.Rules[i]; rule.Form != nil {
			f.guessed = f.guessed || len(rule.Scope) == 0
			f.worded = f.worded || len(rule.Form.Texts.Saving)+len(rule.Form.Texts.Duplicate) > 0
			if !slices.Contains(f.fields, rule.Form.Field) {
				f.fields = append(f.fields, rule.Form.Field)
			}
		}
	}
	if err := f.page.configure(c); err != nil {
		return nil, err
	}
	switch {
	case len(f.fields) > 0:
		if err := f.secrets.configure(c); err != nil {
			return nil, err
		}
		return f, f.guard.load("guard.js")
	case len(f.page.routes) > 0:
		return f, nil
	}
	return nil, nil
}

// attempt holds everything about forms that belongs to one request.
type attempt struct {
	ownCookies
	outcomes []outcomecookie.Outcome
	query    string // of the request with its tokens; "" where there are none in it

	// What tokenKey found.
	principal string          // whose the form is; "" for as the rule says
	guest     bool            // only the token says whose
	name      string          // the key, "" for none
	token     formguard.Token // when there is a name
	looked    bool            // whether the body has been scanned
	tokens    bool            // whether there are any in it
	length    int64           // of the body without them

	// unverified is set for a request with a token that cannot be verified now, and
	// ambiguous for a form that can be read in more than one way.
	unverified, ambiguous bool

	about *http.Request // what a question is about; nil for any other request

	refused []string // the tokens of a form that was refused because none is valid

	// restored is the name of the key whose page is shown again.
	restored string
}

type attemptKey struct{}

func attemptOf(ctx context.Context) *attempt {
	a, _ := ctx.Value(attemptKey{}).(*attempt)
	return a
}

// Serve takes from the request what is the gateway's own, and lets the route answer through a writer that knows pages.
func (f *Forms) Serve(w http.ResponseWriter, r *http.Request, found *Route) {
	if len(f.fields) == 0 && f.page.on(r.Host) == "" {
		found.Handler.ServeHTTP(w, r)
		return
	}
	own := f.WithoutCookies(r)
	a := attemptOf(own.Context())
	restore := f.cleanQuery(own, a)
	known := f.known(own)
	if asksForPage(own) || known != nil {
		own.Header = freshPage(own.Header)
		maps.Copy(own.Header, known)
	}
	page := newPageWriter(f, w, own, a, found)
	page.asked = known != nil
	returned := false
	defer func() { page.finish(returned) }()
	if restore != "" && f.restore(page, own, a, restore) {
		returned = true
		return
	}
	found.Handler.ServeHTTP(page, own)
	returned = true
}

// WithoutCookies returns the request without the gateway's own cookies, with what they said.
func (f *Forms) WithoutCookies(r *http.Request) *http.Request {
	a := &attempt{}
	own := r.WithContext(context.WithValue(r.Context(), attemptKey{}, a))
	own.Header, a.ownCookies = takeCookies(r.Header, secure(r))
	a.outcomes = outcomecookie.Parse(a.ownCookies.outcomes)
	return own
}

// cleanQuery takes tokens out of the query, and returns the name of the page that it asks for, if any.
func (f *Forms) cleanQuery(r *http.Request, a *attempt) (restore string) {
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

// leadsTo returns the first route with protection for forms that a form may meet which posts to the target, or nil.
func (f *Forms) leadsTo(host string, target *url.URL) (label string, rt *Route) {
	label, all := f.gateway.Find(host, target)
	for _, found := range all {
		if found.Rule.Form != nil {
			return label, found
		}
	}
	return label, nil
}

// Key returns the source of the keys of a route's forms: their tokens.
func (f *Forms) Key(rule *rules.Route, lifetime time.Duration) semelhttp.KeySource {
	return &tokenKey{forms: f, rule: rule, lifetime: lifetime}
}

// Handler sends requests with a token through the guard to proxy, under the key of
// the options, and all others to plain, which looks for the rule's own keys.
func (f *Forms) Handler(rule *rules.Route, guard *semel.Guard, from semelhttp.ScopeFunc, options semelhttp.Options, plain, proxy http.Handler) (http.Handler, error) {
	options.Required = false
	options.Fingerprint = semelhttp.FingerprintOptions{Func: fingerprint}
	m, err := semelhttp.New(guard, from, &options)
	if err != nil {
		return nil, fmt.Errorf("gateway: route %q: %w", rule.Name, err)
	}
	return m.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch a := attemptOf(r.Context()); {
		case a != nil && a.restored != "":
			a.forgotten(w, r)
		case a != nil && a.ambiguous:
			Refuse(w, r)
		case a != nil && (a.name != "" || a.unverified): // the latter on a route that fails open
			proxy.ServeHTTP(w, r)
		default:
			plain.ServeHTTP(w, r)
		}
	})), nil
}

// Lifetime returns how long a form of the route can be sent.
func Lifetime(rule *rules.Route, retention time.Duration) (time.Duration, error) {
	switch lifetime := rule.Form.Lifetime; {
	case lifetime == 0:
		return retention, nil
	case lifetime > retention:
		return 0, fmt.Errorf("gateway: route %q: its forms can be sent for %v, longer than the retention of %v, after which no record shows whether one was (set a lifetime of at most the retention)", rule.Name, lifetime, retention)
	default:
		return lifetime, nil
	}
}

// ServeOwn answers what lies at the gateway's own path for forms and pages.
func (f *Forms) ServeOwn(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case newTokenPath:
		f.serveNew(w, r)
	case noticeStylePath:
		serveNoticeStyle(w, r)
	case reportPath:
		f.serveReport(w, r)
	default:
		f.scripts.ServeHTTP(w, r)
	}
}

// countPage counts a page by its result.
func (f *Forms) countPage(result string) { f.config.Pages.WithLabelValues(result).Inc() }

// count counts a token of a route.
func (f *Forms) count(route, verdict string) {
	f.config.Tokens.WithLabelValues(route, verdict).Inc()
}
