// Package crossorigin lets pages of other origins read answers that the application did not give (CORS): it remembers, in bounded
// memory, what the application last said to an origin about a method and an address, and never grants more.
package crossorigin

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
)

const (
	// maxAnswers are remembered, and as many older ones.
	maxAnswers = 4096
	// maxQuestionBytes bounds what an answer is remembered under, and each of its fields.
	maxQuestionBytes = 2 << 10
)

// The headers of an answer that belong to the page that asked.
const (
	allowOrigin      = "Access-Control-Allow-Origin"
	allowCredentials = "Access-Control-Allow-Credentials"
	exposeHeaders    = "Access-Control-Expose-Headers"
	timingOrigin     = "Timing-Allow-Origin"
	resourcePolicy   = "Cross-Origin-Resource-Policy"
)

// ForOrigin reports whether a header of an answer, its name canonical, is for the origin that asked.
func ForOrigin(name string) bool {
	return name == timingOrigin || strings.HasPrefix(name, "Access-Control-")
}

// Memory holds an application's words to pages of other origins. The zero value is ready for use. It is safe for concurrent use.
type Memory struct {
	// Ask, when set, finds out what the application says where nothing is remembered, by the preflight that a browser would
	// send. It returns nil if the application does not answer.
	Ask func(*http.Request) http.Header
	// Tenant, when set, returns what in addition to the host says which site was asked; "" for nothing.
	Tenant func(*http.Request) string

	mu            sync.Mutex // guards the fields below
	recent, older map[question]grant
}

// question names a request, about which the application may say something else to each origin.
type question struct{ method, site, path, origin string }

// grant holds the headers by which the application allowed an origin to read.
type grant struct {
	origin, credentials, expose, timing, policy string
	preflight                                   bool // the answer to a preflight said it
}

// Page is a page of another origin that sends a request. A nil *Page is any other sender.
type Page struct {
	memory    *Memory
	request   *http.Request
	about     question
	preflight bool
}

// Of returns the page of another origin that sent the request, or nil.
func (m *Memory) Of(r *http.Request) *Page {
	lines := r.Header["Origin"]
	if len(lines) != 1 || lines[0] == "" {
		return nil
	}
	if _, host, found := strings.Cut(lines[0], "://"); found && strings.EqualFold(host, r.Host) {
		return nil
	}
	site := strings.ToLower(r.Host)
	if m.Tenant != nil {
		site += m.Tenant(r)
	}
	p := &Page{memory: m, request: r, about: question{r.Method, site, r.URL.EscapedPath(), lines[0]}}
	if asked := r.Header["Access-Control-Request-Method"]; r.Method == http.MethodOptions && len(asked) == 1 {
		p.about.method, p.preflight = asked[0], true
	}
	if len(p.about.method)+len(p.about.site)+len(p.about.path)+len(p.about.origin) > maxQuestionBytes {
		return nil
	}
	return p
}

type pageKey struct{}

// With returns a context that knows the page.
func (p *Page) With(ctx context.Context) context.Context {
	return context.WithValue(ctx, pageKey{}, p)
}

// From returns the page that the context knows, or nil.
func From(ctx context.Context) *Page {
	p, _ := ctx.Value(pageKey{}).(*Page)
	return p
}

// About returns the page as the sender of another request.
func (p *Page) About(r *http.Request) *Page {
	if p == nil {
		return nil
	}
	return p.memory.Of(r)
}

// Learn remembers what the application answered; status is 0 if it is not known. A failure counts only if it grants something:
// whatever answers then often knows nothing of origins.
func (p *Page) Learn(status int, header http.Header) {
	if p == nil {
		return
	}
	g := p.read(header)
	g.preflight = p.preflight
	if g.origin == "" && !p.preflight && (status == 0 || status >= http.StatusBadRequest) {
		return
	}
	p.memory.mu.Lock()
	defer p.memory.mu.Unlock()
	if known, ok := p.memory.find(p.about); ok && p.preflight && !known.preflight {
		return // an answer says more than a preflight
	}
	p.memory.keep(p.about, g)
}

// read returns what the header of an answer grants the origin.
func (p *Page) read(h http.Header) grant {
	var g grant
	if lines := h[allowOrigin]; len(lines) == 1 && (lines[0] == "*" || lines[0] == p.about.origin) {
		g.origin, g.credentials = lines[0], h.Get(allowCredentials)
		g.expose = strings.Join(h[exposeHeaders], ", ")
	}
	for item := range strings.SplitSeq(strings.Join(h[timingOrigin], ","), ",") {
		if item = strings.TrimSpace(item); item == "*" || item == p.about.origin {
			g.timing = item
		}
	}
	g.policy = h.Get(resourcePolicy)
	if len(g.credentials)+len(g.expose)+len(g.policy) > maxQuestionBytes {
		return grant{}
	}
	return g
}

func (m *Memory) find(q question) (grant, bool) {
	g, ok := m.recent[q]
	if !ok {
		g, ok = m.older[q]
	}
	return g, ok
}

func (m *Memory) keep(q question, g grant) {
	if m.recent == nil || len(m.recent) >= maxAnswers {
		m.recent, m.older = map[question]grant{}, m.recent
	}
	m.recent[q] = g
}

// known returns what the application said, and asks it where that is not known.
func (p *Page) known() grant {
	p.memory.mu.Lock()
	g, ok := p.memory.find(p.about)
	p.memory.mu.Unlock()
	if ok || p.memory.Ask == nil {
		return g
	}
	header := p.memory.Ask(p.request)
	if header == nil {
		return grant{}
	}
	asked := *p
	asked.preflight = true
	asked.Learn(0, header)
	return asked.read(header)
}

// Allow adds to an answer that the application did not give what it would have said to the page, and lets the page read the
// named headers. Headers that are there already stay.
func (p *Page) Allow(h http.Header, names ...string) {
	if p == nil {
		return
	}
	AddVary(h, "Origin")
	if len(h[allowOrigin]) == 0 {
		g := p.known()
		set(h, allowOrigin, g.origin)
		set(h, allowCredentials, g.credentials)
		set(h, exposeHeaders, g.expose)
		set(h, timingOrigin, g.timing)
		set(h, resourcePolicy, g.policy)
	}
	Expose(h, names...)
}

func set(h http.Header, name, value string) {
	if value != "" {
		h[name] = []string{value}
	}
}

// Expose lets the page that may read the answer read the named headers as well.
func Expose(h http.Header, names ...string) {
	if h.Get(allowOrigin) == "" {
		return
	}
	exposed := strings.Join(h[exposeHeaders], ", ")
	if strings.TrimSpace(exposed) == "*" && h.Get(allowCredentials) != "true" {
		return
	}
	for _, name := range names {
		if !lists(exposed, name) {
			exposed = strings.TrimPrefix(exposed+", "+name, ", ")
		}
	}
	set(h, exposeHeaders, exposed)
}

// lists reports whether a comma-separated list has the name.
func lists(text, name string) bool {
	for item := range strings.SplitSeq(text, ",") {
		if strings.EqualFold(strings.TrimSpace(item), name) {
			return true
		}
	}
	return false
}

// AddVary says that an answer depends on the named header of the request.
func AddVary(h http.Header, name string) {
	if all := strings.Join(h["Vary"], ","); !lists(all, name) && !lists(all, "*") {
		h["Vary"] = append(slices.Clip(h["Vary"]), name)
	}
}
