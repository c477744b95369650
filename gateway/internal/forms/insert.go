package forms

import (
	"bytes"
	"cmp"
	"html"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/semel-dev/semel/gateway/internal/forms/rewrite"
	"github.com/semel-dev/semel/internal/formguard"
	"github.com/semel-dev/semel/rules"
)

const (
	// maxPageForms bounds the forms of a page whose ids are remembered, and the
	// actions whose routes are; maxPageAction is the longest of those.
	maxPageForms  = 1024
	maxPageAction = 1 << 10
)

// inserter writes what goes into a page: see docs/forms.md for the markup. It reuses
// the result of one form for the next ones, in the same memory.
type inserter struct {
	page    *pageWriter
	base    *url.URL
	xhtml   bool
	forms   map[string]rewrite.Form       // by id
	targets map[string]target             // where actions lead
	presses map[pressKey]*formguard.Press // nil for a route whose forms have no reader
	out     []byte                        // what was inserted last
	tokens  map[*rewrite.Form]*formTokens // of the forms that are open
	named   map[string]*formTokens        // by the ids of forms
}

// target holds the routes with protection for forms that a form may meet.
type target struct {
	label  string
	routes []*Route
}

// pressKey identifies a press.
type pressKey struct {
	label string
	route *Route
}

func (p *pageWriter) newInserter() *inserter {
	base := *p.request.URL
	base.Scheme, base.Host, base.User, base.Fragment = "http", p.request.Host, nil, ""
	return &inserter{
		page: p, base: &base, forms: map[string]rewrite.Form{}, targets: map[string]target{}, presses: map[pressKey]*formguard.Press{},
		tokens: map[*rewrite.Form]*formTokens{}, named: map[string]*formTokens{},
		xhtml: strings.Contains(strings.ToLower(p.Header().Get("Content-Type")), "xhtml"),
	}
}

// Form implements rewrite.Inserter.
func (in *inserter) Form(form *rewrite.Form) []byte {
	in.remember(form)
	in.out = in.out[:0]
	in.insert(in.target(form.Action, form.Method), in.open(form), form.Ref, form.Inert)
	return in.out
}

// remember keeps of a form what buttons that name it have to know.
func (in *inserter) remember(form *rewrite.Form) {
	if len(form.ID) > 0 && len(in.forms) < maxPageForms {
		in.forms[string(form.ID)] = rewrite.Form{Action: bytes.Clone(form.Action), Method: form.Method, Inert: form.Inert}
	}
}

// Submitter implements rewrite.Inserter. A button gets a token of its own where it leads to another route than its form does.
func (in *inserter) Submitter(s *rewrite.Submitter) []byte {
	form, known := in.formOf(s)
	var own target
	if known {
		own = in.target(form.Action, form.Method)
	} else if !s.HasFormAction || !s.HasFormMethod && len(s.FormID) == 0 {
		return nil
	}
	rt := in.target(s.FormAction, cmp.Or(s.FormMethod, "post")) // without any the form is unknown; a token in a query is removed again
	in.out = in.out[:0]
	if !rt.same(own) {
		in.insert(rt, in.tokensOf(s.FormID, s.Form), s.FormRef, form.Inert)
	}
	if s.Image && len(rt.routes) > 0 {
		in.noteImage(rt.label, rt.routes[0], s)
	}
	return in.out
}

// same reports whether forms to both places get the same tokens.
func (t *target) same(other target) bool {
	return t.label == other.label && slices.Equal(t.routes, other.routes)
}

// noteImage names an image button before it, so that where it is pressed does not count.
func (in *inserter) noteImage(label string, rt *Route, s *rewrite.Submitter) {
	value := formguard.ImagePrefix + asWritten(s.Name)
	if in.press(label, rt) == nil || len(value) > formguard.MaxTokenField {
		return
	}
	in.note(rt, value, s.FormRef)
}

// note inserts a hidden field that tells the gateway something of the form.
func (in *inserter) note(rt *Route, value string, form []byte) {
	in.out = append(in.out, `<input type="hidden"`...)
	in.attribute("name", rt.Rule.Form.Field)
	in.attribute("value", value)
	in.closeField(form)
}

// closeField ends the tag of a hidden field.
func (in *inserter) closeField(form []byte) {
	in.attribute("form", asWritten(form))
	if in.xhtml {
		in.out = append(in.out, " /"...)
	}
	in.out = append(in.out, '>')
}

// formOf returns the form that a button belongs to, as far as it has come by, and fills in what the button leaves to it.
func (in *inserter) formOf(s *rewrite.Submitter) (form rewrite.Form, known bool) {
	switch {
	case len(s.FormID) > 0:
		form, known = in.forms[string(s.FormID)]
	case s.Form != nil:
		form, known = *s.Form, true
	}
	if known && !s.HasFormAction {
		s.FormAction = form.Action
	}
	if !s.HasFormMethod {
		s.FormMethod = form.Method
	}
	return form, known
}

// Body implements rewrite.Inserter.
func (in *inserter) Body() []byte {
	p := in.page
	if !p.tells {
		return nil
	}
	p.noticed = true
	return []byte(p.notice().markup(&p.style))
}

// Policy implements rewrite.Inserter. A policy in the page cannot be changed: it allows
// the elements as they are, or they are left out.
func (in *inserter) Policy(content []byte) {
	p, policy := in.page, string(content)
	p.pass.restrict(policy, p.forms.guard.element(p.request.Host))
	p.pagePass.restrict(policy, p.forms.page.element(p.request.Host))
	p.style.restrict(policy, styleElement(p.request.Host))
}

// Head implements rewrite.Inserter. XML may have nothing around the body that a script could be in.
func (in *inserter) Head(closed bool) {
	p := in.page
	p.headed = true
	if !closed && in.xhtml {
		return
	}
	p.out = append(p.out, p.pageScript()...)
	if p.mode == pageHolding {
		p.headEnd = len(p.out)
	}
}

// End implements rewrite.Inserter. Where the head has gone out already, or there is none, the
// scripts go to the end of the body, behind the forms and still before deferred scripts. A piece of
// a page, which a script of the page asked for, has the scripts of that page.
func (in *inserter) End(behind bool) []byte {
	p := in.page
	if behind && in.xhtml { // XML has nothing behind its root
		return nil
	}
	var out []byte
	if p.headed || navigates(p.request) {
		out = p.pageScript()
	}
	if !p.scripted && p.headEnd == 0 && p.wantsScript > 0 {
		out = append(out, p.script()...)
	}
	return out
}

// Base implements rewrite.Inserter.
func (in *inserter) Base(href string) {
	if base, err := in.base.Parse(asBrowsersRead(href)); err == nil {
		in.base = base
		clear(in.targets)
	}
}

// target returns where an action leads.
func (in *inserter) target(action []byte, method string) target {
	if method != "post" || len(in.page.forms.fields) == 0 {
		return target{}
	}
	if found, known := in.targets[string(action)]; known {
		return found
	}
	text := string(action)
	found := in.resolve(text)
	if len(in.targets) < maxPageForms && len(text) <= maxPageAction {
		in.targets[text] = found
	}
	return found
}

func (in *inserter) resolve(action string) target {
	p := in.page
	if path, query, ok := plainAction(action); ok && in.base.Host == p.request.Host && (in.base.Scheme == "http" || in.base.Scheme == "https") {
		return in.leadsTo(&url.URL{Path: path, RawQuery: query})
	}
	to := p.request.URL // an empty action means the page itself, despite a base
	if action = asBrowsersRead(action); action != "" {
		var err error
		if to, err = in.base.Parse(action); err != nil {
			return target{}
		}
		if to.Scheme != "http" && to.Scheme != "https" || !sameHost(p.request, to) {
			return target{}
		}
	}
	return in.leadsTo(&url.URL{Path: to.Path, RawPath: to.RawPath, RawQuery: to.RawQuery})
}

// plainAction returns the path and query of an action that is one from the root and needs
// nothing resolved, as most are. It is false for all others.
func plainAction(action string) (path, query string, ok bool) {
	path, query, _ = strings.Cut(action, "?")
	if !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") {
		return "", "", false
	}
	for i := range len(path) {
		if c := path[i] | 0x20; (c < 'a' || c > 'z') && (path[i] < '0' || path[i] > '9') && !strings.ContainsRune("/-_", rune(path[i])) {
			return "", "", false
		}
	}
	for i := range len(query) {
		if query[i] <= ' ' || query[i] == '#' || query[i] >= 0x7F {
			return "", "", false
		}
	}
	return path, query, true
}

// asBrowsersRead is a URL in an attribute without what browsers leave out of it.
func asBrowsersRead(text string) string {
	text = strings.TrimFunc(text, func(r rune) bool { return r <= ' ' })
	text = strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(text)
	path, query, found := strings.Cut(text, "?")
	path = strings.ReplaceAll(path, `\`, "/")
	if found {
		return path + "?" + query
	}
	return path
}

// sameHost reports whether a target is on the host of the request. A proxy in front
// of the gateway may end TLS, so either scheme is the page's.
func sameHost(r *http.Request, target *url.URL) bool {
	host := withoutPort(target)
	own := func(name string) bool {
		return strings.EqualFold(host, withoutPort(&url.URL{Scheme: "http", Host: name})) || strings.EqualFold(host, withoutPort(&url.URL{Scheme: "https", Host: name}))
	}
	forwarded := r.Header.Get("X-Forwarded-Host")
	return own(r.Host) || forwarded != "" && own(forwarded)
}

// withoutPort returns the host of a URL without a dot at its end and without its scheme's own port.
func withoutPort(u *url.URL) string {
	name, port := strings.TrimSuffix(u.Hostname(), "."), u.Port()
	if port == "" || port == map[string]string{"http": "80", "https": "443"}[u.Scheme] {
		return name
	}
	return name + ":" + port
}

// insert inserts a hidden field for each kind of token that a form needs where it leads: one, unless routes there differ in the field
// or in whose a form is.
func (in *inserter) insert(to target, tokens *formTokens, form []byte, inert bool) {
	for i, rt := range to.routes {
		press := in.press(to.label, rt)
		alike := func(o *Route) bool {
			return o.Rule.Form.Field == rt.Rule.Form.Field && slices.Equal(o.Rule.Scope, rt.Rule.Scope)
		}
		if press == nil || slices.ContainsFunc(to.routes[:i], alike) || tokens.without(rt) {
			continue
		}
		start := len(in.out)
		in.out = append(in.out, `<input type="hidden" name="`...)
		in.out = append(in.out, html.EscapeString(rt.Rule.Form.Field)...)
		in.out = append(in.out, `" value="`...)
		in.out = append(press.Append(in.out), `" autocomplete="off" data-semel-token`...)
		if in.xhtml {
			in.out = append(in.out, `=""`...)
		}
		in.words(&rt.Rule.Form.Texts)
		in.closeField(form)
		script := rt.Rule.Form.Script && !inert
		if script {
			in.page.wantsScript++
		}
		tokens.add(rt, in.out[start:], script)
	}
}

// attribute adds an attribute, whose value is markup, to what is inserted, unless it is empty.
func (in *inserter) attribute(name, value string) {
	if value != "" {
		in.out = append(in.out, " "+name+`="`+value+`"`...)
	}
}

// asWritten returns a value of the page's for double quotes: in the page's charset, whatever that is, and with its references.
func asWritten(raw []byte) string { return strings.ReplaceAll(string(raw), `"`, "&#34;") }

// inASCII returns markup for a text of ours that reads the same in every charset.
func inASCII(text string) string {
	return beyondASCII.ReplaceAllStringFunc(html.EscapeString(text), func(c string) string { return "&#" + strconv.Itoa(int([]rune(c)[0])) + ";" })
}

// words adds the rule's own words for the script.
func (in *inserter) words(texts *rules.FormTexts) {
	if len(texts.Saving) == 0 && len(texts.Duplicate) == 0 {
		return
	}
	lang := noticeFor(in.page.language(), in.page.request.Header["Accept-Language"]).tag.String()
	in.attribute("data-semel-saving", inASCII(rules.TextFor(texts.Saving, lang)))
	in.attribute("data-semel-duplicate", inASCII(rules.TextFor(texts.Duplicate, lang)))
}

// press returns what makes the route's tokens for the reader of the page, or nil.
func (in *inserter) press(label string, rt *Route) *formguard.Press {
	key := pressKey{label, rt}
	if press, known := in.presses[key]; known {
		return press
	}
	var press *formguard.Press
	minter, err := in.page.forms.secrets.minter(in.page.request.Context()) // it was there a moment ago
	if principal := in.page.principal(rt.Rule); principal != "" && err == nil {
		press = in.page.pressOf(minter, label, principal)
	}
	in.presses[key] = press
	return press
}

// pressOf returns what makes tokens for the reader; those for a guest lead back to it.
func (p *pageWriter) pressOf(minter *formguard.Minter, route, principal string) *formguard.Press {
	if p.fresh != "" && principal == visitorIdentity(p.fresh) && isGuest(p.request, &p.reader.ownCookies) {
		return minter.PressFor(p.fresh, route, principal)
	}
	return minter.Press(route, principal)
}

// newVisitor gives the reader a name, and has it set as a cookie.
func (p *pageWriter) newVisitor() {
	if minter, err := p.forms.secrets.minter(p.request.Context()); err == nil { // it was there a moment ago
		p.fresh = minter.NewGuest()
	}
}

// principal returns the reader for whom a form is made, "" for none.
func (p *pageWriter) principal(rule *rules.Route) string {
	id, ok := p.reader.identity(rule.Scope)
	switch {
	case !ok:
		return ""
	case !id.visitor:
		return id.principal
	case p.reader.visitor != "":
		return id.with(p.reader.visitor)
	case p.fresh == "" && !p.sent: // else it is too late for a cookie
		p.newVisitor()
	}
	if p.fresh == "" {
		return ""
	}
	return id.with(p.fresh)
}

var beyondASCII = regexp.MustCompile(`[^\x00-\x7F]`)

// htmlLanguage finds the language of a page in its first bytes.
var htmlLanguage = regexp.MustCompile(`(?i)<html\s[^>]*?\b(?:xml:)?lang\s*=\s*["']?([A-Za-z][A-Za-z0-9-]{0,34})`)

// language returns that of the page, as far as it is known by now, or "".
func (p *pageWriter) language() string {
	if found := htmlLanguage.FindSubmatch(p.head); found != nil {
		return string(found[1])
	}
	return p.Header().Get("Content-Language")
}

// Bounds of the unmatched forms that the log names, in all, and that one page is
// searched for.
const (
	maxUnmatched     = 256
	maxUnmatchedPage = 64
)

// seenOnce holds what is logged once.
type seenOnce struct {
	mu   sync.Mutex // guards the field below
	seen map[string]bool
}

// first reports whether the name is new, and whether it is the last one to be logged.
func (u *seenOnce) first(name string) (first, last bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.seen[name] || len(u.seen) >= maxUnmatched {
		return false, false
	}
	if u.seen == nil {
		u.seen = map[string]bool{}
	}
	u.seen[name] = true
	return true, len(u.seen) == maxUnmatched
}

// leadsTo returns where a form of the page leads. A form that posts to the application and that no rule takes is logged, once.
func (in *inserter) leadsTo(url *url.URL) target {
	p := in.page
	f := p.forms
	label, all := f.gateway.Find(p.request.Host, url)
	none := func(rt *Route) bool { return rt.Rule.Form == nil }
	found := all
	if slices.ContainsFunc(all, none) {
		found = slices.DeleteFunc(slices.Clone(all), none)
	}
	for _, rt := range found {
		if !rt.InPage.Load() {
			rt.InPage.Store(true)
		}
		if p.leads == nil {
			p.leads = rt
		}
	}
	switch {
	case len(found) > 0:
		return target{label, found}
	case len(all) > 0: // rules without form take it
		return target{}
	}
	if p.unmatched++; p.unmatched > maxUnmatchedPage {
		return target{}
	}
	action := likePath(url.Path)
	if first, last := f.unmatched.first(action); first {
		attrs := []slog.Attr{slog.String("action", action), slog.String("page", likePath(p.request.URL.Path))}
		if near := f.gateway.Nearest(url.Path); near != "" {
			attrs = append(attrs, slog.String("nearest", near))
		}
		if last {
			attrs = append(attrs, slog.String("note", "further forms are not named"))
		}
		f.config.Log.LogAttrs(p.request.Context(), slog.LevelWarn, "a form is taken by no rule, so sending it twice is not safe (write a rule with form: true for it, or with protect: false to keep it so)", attrs...)
	}
	return target{}
}

// likePath returns a path with segments that look like ids, or are long, as
// wildcards: what a log may hold, and what stays the same from page to page.
func likePath(path string) string {
	const longest = 40
	segments := strings.Split(path, "/")
	for i, segment := range segments {
		if len(segment) > longest || strings.ContainsAny(segment, "0123456789") || strings.ContainsFunc(segment, func(r rune) bool { return r <= ' ' }) {
			segments[i] = "{…}"
		}
		if i == 12 {
			return strings.Join(segments[:i], "/") + "/…"
		}
	}
	return strings.Join(segments, "/")
}
