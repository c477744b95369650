package forms

import (
	"bytes"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/semel-dev/semel/internal/formguard"
	"github.com/semel-dev/semel/internal/formguard/rewrite"
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
	forms   map[string]pageForm         // by id
	routes  map[string]*Route           // where actions lead
	presses map[*Route]*formguard.Press // nil for a route whose forms have no reader
	out     []byte                      // what was inserted last
}

// pageForm holds the parts of a form that a button which names it needs.
type pageForm struct {
	action []byte
	method string
	inert  bool
}

func (p *pageWriter) newInserter() *inserter {
	base := *p.request.URL
	base.Scheme, base.Host, base.User, base.Fragment = "http", p.request.Host, nil, ""
	return &inserter{
		page: p, base: &base, forms: map[string]pageForm{}, routes: map[string]*Route{}, presses: map[*Route]*formguard.Press{},
		xhtml: strings.Contains(strings.ToLower(p.Header().Get("Content-Type")), "xhtml"),
	}
}

// Form implements rewrite.Inserter.
func (in *inserter) Form(form *rewrite.Form) []byte {
	in.remember(form)
	return in.insert(in.target(form.Action, form.Method), nil, form.Inert)
}

// remember keeps of a form what buttons that name it have to know.
func (in *inserter) remember(form *rewrite.Form) {
	if len(form.ID) > 0 && len(in.forms) < maxPageForms {
		in.forms[string(form.ID)] = pageForm{action: bytes.Clone(form.Action), method: form.Method, inert: form.Inert}
	}
}

// Submitter implements rewrite.Inserter. A button gets a token of its own where it
// leads to another route than its form does.
func (in *inserter) Submitter(s *rewrite.Submitter) []byte {
	form, known := in.formOf(s)
	action, method := s.FormAction, s.FormMethod
	var own *Route
	if known {
		own = in.target(form.action, form.method)
		if !s.HasFormAction {
			action = form.action
		}
		if !s.HasFormMethod {
			method = form.method
		}
	}
	if !known && (!s.HasFormAction || !s.HasFormMethod && len(s.FormID) == 0) {
		return nil
	}
	if !known && !s.HasFormMethod {
		method = "post" // the form is unknown; a token in a query is removed again
	}
	rt := in.target(action, method)
	in.out = in.out[:0]
	if rt != own {
		in.insert(rt, s.FormID, form.inert)
	}
	if s.Image {
		in.noteImage(rt, s)
	}
	return in.out
}

// noteImage names an image button before it, so that where it is pressed does not count.
func (in *inserter) noteImage(rt *Route, s *rewrite.Submitter) {
	value := formguard.ImagePrefix + string(s.Name)
	if rt == nil || in.press(rt) == nil || len(value) > formguard.MaxTokenField {
		return
	}
	in.out = append(in.out, `<input type="hidden"`...)
	in.attribute("name", rt.Rule.Form.Field)
	in.attribute("value", value)
	in.closeField(s.FormID)
}

// closeField ends the tag of a hidden field.
func (in *inserter) closeField(formID []byte) {
	in.attribute("form", string(formID))
	if in.xhtml {
		in.out = append(in.out, " /"...)
	}
	in.out = append(in.out, '>')
}

// formOf returns the form that a button belongs to, as far as it has come by.
func (in *inserter) formOf(s *rewrite.Submitter) (form pageForm, known bool) {
	switch {
	case len(s.FormID) > 0:
		form, known = in.forms[string(s.FormID)]
	case s.Form != nil:
		form, known = pageForm{action: s.Form.Action, method: s.Form.Method, inert: s.Form.Inert}, true
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
	p.pass.restrict(policy, p.forms.scriptElement(p.request.Host))
	p.style.restrict(policy, styleElement(p.request.Host))
}

// Head implements rewrite.Inserter. XML may have nothing around the body that a script could be in.
func (in *inserter) Head(closed bool) {
	if p := in.page; p.mode == pageHolding && (closed || !in.xhtml) {
		p.headEnd = len(p.out)
	}
}

// End implements rewrite.Inserter. Where the head has gone out already, or there is none, the
// script goes to the end of the body, behind the forms and still before deferred scripts.
func (in *inserter) End(behind bool) []byte {
	p := in.page
	if p.scripted || p.headEnd > 0 || !p.wantsScript || behind && in.xhtml { // XML has nothing behind its root
		return nil
	}
	return p.script()
}

// Base implements rewrite.Inserter.
func (in *inserter) Base(href string) {
	if base, err := in.base.Parse(asBrowsersRead(href)); err == nil {
		in.base = base
		clear(in.routes)
	}
}

// target returns the route with form protection that an action leads to, or nil.
func (in *inserter) target(action []byte, method string) *Route {
	if method != "post" {
		return nil
	}
	if found, known := in.routes[string(action)]; known {
		return found
	}
	text := string(action)
	found := in.resolve(text)
	if len(in.routes) < maxPageForms && len(text) <= maxPageAction {
		in.routes[text] = found
	}
	return found
}

func (in *inserter) resolve(action string) *Route {
	p := in.page
	if path, ok := plainAction(action); ok && in.base.Host == p.request.Host && (in.base.Scheme == "http" || in.base.Scheme == "https") {
		return in.leadsTo(&url.URL{Path: path})
	}
	target := p.request.URL // an empty action is the page itself, whatever the base
	if action = asBrowsersRead(action); action != "" {
		var err error
		if target, err = in.base.Parse(action); err != nil {
			return nil
		}
		if target.Scheme != "http" && target.Scheme != "https" || !sameHost(p.request, target) {
			return nil
		}
	}
	return in.leadsTo(&url.URL{Path: target.Path, RawPath: target.RawPath})
}

// plainAction returns the path of an action that is one from the root and needs
// nothing resolved, as most are. It is false for all others.
func plainAction(action string) (path string, ok bool) {
	path, query, _ := strings.Cut(action, "?")
	if !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") {
		return "", false
	}
	for i := range len(path) {
		if c := path[i] | 0x20; (c < 'a' || c > 'z') && (path[i] < '0' || path[i] > '9') && !strings.ContainsRune("/-_", rune(path[i])) {
			return "", false
		}
	}
	for i := range len(query) {
		if query[i] <= ' ' || query[i] == '#' || query[i] >= 0x7F {
			return "", false
		}
	}
	return path, true
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
		for _, scheme := range []string{"http", "https"} {
			if strings.EqualFold(host, withoutPort(&url.URL{Scheme: scheme, Host: name})) {
				return true
			}
		}
		return false
	}
	if own(r.Host) {
		return true
	}
	forwarded := r.Header.Get("X-Forwarded-Host")
	return forwarded != "" && own(forwarded)
}

// withoutPort returns the host of a URL without a dot at its end and without its
// scheme's own port.
func withoutPort(u *url.URL) string {
	name, port := strings.TrimSuffix(u.Hostname(), "."), u.Port()
	if port == "" || port == map[string]string{"http": "80", "https": "443"}[u.Scheme] {
		return name
	}
	return name + ":" + port
}

// insert returns the hidden field for a form that leads to the route. A nil route
// leads nowhere.
func (in *inserter) insert(rt *Route, formID []byte, inert bool) []byte {
	if rt == nil {
		return nil
	}
	press := in.press(rt)
	if press == nil {
		return nil
	}
	in.out = append(in.out[:0], `<input type="hidden" name="`...)
	in.out = append(in.out, html.EscapeString(rt.Rule.Form.Field)...)
	in.out = append(in.out, `" value="`...)
	in.out = append(press.Append(in.out), `" autocomplete="off" data-semel-token`...)
	if in.xhtml {
		in.out = append(in.out, `=""`...)
	}
	in.words(&rt.Rule.Form.Texts)
	in.closeField(formID)
	in.page.wantsScript = in.page.wantsScript || rt.Rule.Form.Script && !inert
	return in.out
}

// attribute adds an attribute to what is inserted, unless it is empty.
func (in *inserter) attribute(name, value string) {
	if value != "" {
		in.out = append(in.out, " "+name+`="`+inASCII(value)+`"`...)
	}
}

// inASCII returns markup for a text that reads the same in every charset. Bytes that are not UTF-8 are the page's own, and stay.
func inASCII(text string) string {
	return beyondASCII.ReplaceAllStringFunc(html.EscapeString(text), func(c string) string { return "&#" + strconv.Itoa(int([]rune(c)[0])) + ";" })
}

// words adds the rule's own words for the script.
func (in *inserter) words(texts *rules.FormTexts) {
	if len(texts.Saving) == 0 && len(texts.Duplicate) == 0 {
		return
	}
	lang := noticeFor(in.page.language(), in.page.request.Header["Accept-Language"]).tag.String()
	in.attribute("data-semel-saving", rules.TextFor(texts.Saving, lang))
	in.attribute("data-semel-duplicate", rules.TextFor(texts.Duplicate, lang))
}

// press returns what makes the route's tokens for the reader of the page, or nil.
func (in *inserter) press(rt *Route) *formguard.Press {
	if press, known := in.presses[rt]; known {
		return press
	}
	var press *formguard.Press
	minter, err := in.page.forms.secrets.minter(in.page.request.Context()) // it was there a moment ago
	if principal := in.page.principal(rt.Rule); principal != "" && err == nil {
		press = in.page.pressOf(minter, rt.Rule.Name, principal)
	}
	in.presses[rt] = press
	return press
}

// pressOf returns what makes tokens for the reader; those for a guest lead back to
// it.
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

var beyondASCII = regexp.MustCompile(`[\x{80}-\x{FFFC}\x{FFFE}-\x{10FFFF}]`)

// htmlLanguage finds the language of a page in its first bytes.
var htmlLanguage = regexp.MustCompile(`(?i)<html\s[^>]*?\b(?:xml:)?lang\s*=\s*["']?([A-Za-z][A-Za-z0-9-]{0,34})`)

// language returns that of the page, as far as it is known by now, or "".
func (p *pageWriter) language() string {
	if found := htmlLanguage.FindSubmatch(p.head); found != nil {
		return string(found[1])
	}
	return p.Header().Get("Content-Language")
}
