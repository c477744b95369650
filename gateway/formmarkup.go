package gateway

import (
	"html"
	"net/url"
	"regexp"
	"strings"

	"github.com/semel-dev/semel/formguard"
	"github.com/semel-dev/semel/formguard/rewrite"
	"github.com/semel-dev/semel/rules"
)

// maxPageForms bounds the forms of a page whose ids are remembered.
const maxPageForms = 1024

// inserter is what goes into a page: see docs/forms.md for the markup.
type inserter struct {
	page   *pageWriter
	base   *url.URL
	xhtml  bool
	forms  map[string]*rewrite.Form
	minter *formguard.Minter
}

func (p *pageWriter) newInserter() *inserter {
	base := *p.request.URL
	base.Scheme, base.Host, base.User, base.Fragment = "http", p.request.Host, nil, ""
	minter, _ := p.forms.secrets.minter(p.request.Context()) // it was there a moment ago
	return &inserter{
		page: p, base: &base, forms: map[string]*rewrite.Form{}, minter: minter,
		xhtml: strings.Contains(strings.ToLower(p.Header().Get("Content-Type")), "xhtml"),
	}
}

// Form implements rewrite.Inserter.
func (in *inserter) Form(form *rewrite.Form) []byte {
	if form.ID != "" && len(in.forms) < maxPageForms {
		in.forms[form.ID] = form
	}
	rt := in.target(form.Action, form.Method)
	if rt == nil {
		return nil
	}
	token := in.token(&rt.rule)
	if token == "" {
		return nil
	}
	return []byte(in.field(rt.rule.Form, token, "") + in.scriptOnce(rt.rule.Form, form.Inert))
}

// Submitter implements rewrite.Inserter. A button gets a token of its own where it
// leads to another route than its form does.
func (in *inserter) Submitter(s *rewrite.Submitter) []byte {
	form := s.Form
	if s.FormID != "" {
		form = in.forms[s.FormID] // nil for one that comes later
	}
	action, method := s.FormAction, s.FormMethod
	var own *route
	if form != nil {
		own = in.target(form.Action, form.Method)
		if !s.HasFormAction {
			action = form.Action
		}
		if !s.HasFormMethod {
			method = form.Method
		}
	}
	if form == nil && (!s.HasFormAction || !s.HasFormMethod && s.FormID == "") {
		return nil
	}
	if form == nil && !s.HasFormMethod {
		method = "post" // nobody knows; a token in a query is taken out again
	}
	rt := in.target(action, method)
	if rt == nil || rt == own {
		return nil
	}
	token := in.token(&rt.rule)
	if token == "" {
		return nil
	}
	inert := form != nil && form.Inert
	return []byte(in.field(rt.rule.Form, token, s.FormID) + in.scriptOnce(rt.rule.Form, inert))
}

// Body implements rewrite.Inserter.
func (in *inserter) Body() []byte {
	p := in.page
	if !p.tells {
		return nil
	}
	p.noticed = true
	return []byte(noticeFor(p.language(), p.request.Header["Accept-Language"]).markup())
}

// Base implements rewrite.Inserter.
func (in *inserter) Base(href string) {
	if base, err := in.base.Parse(asBrowsersRead(href)); err == nil {
		in.base = base
	}
}

// target returns the route with form protection that an action leads to, or nil.
func (in *inserter) target(action, method string) *route {
	if method != "post" {
		return nil
	}
	p := in.page
	page := *p.request.URL // an empty action is the page itself, whatever the base
	target := &page
	if action = asBrowsersRead(action); action != "" {
		var err error
		if target, err = in.base.Parse(action); err != nil {
			return nil
		}
		if target.Scheme != "http" && target.Scheme != "https" || !p.sameHost(target) {
			return nil
		}
	}
	return p.forms.leadsTo(p.request.Host, &url.URL{Path: target.Path, RawPath: target.RawPath})
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

// sameHost reports whether a target lies on the host of the page. What stands in
// front of the gateway may end TLS, so either scheme is the page's.
func (p *pageWriter) sameHost(target *url.URL) bool {
	host := withoutPort(target)
	own := func(name string) bool {
		for _, scheme := range []string{"http", "https"} {
			if strings.EqualFold(host, withoutPort(&url.URL{Scheme: scheme, Host: name})) {
				return true
			}
		}
		return false
	}
	if own(p.request.Host) {
		return true
	}
	forwarded := p.request.Header.Get("X-Forwarded-Host")
	return forwarded != "" && (&forwarding{trusted: p.forms.gateway.config.TrustedProxies}).trusts(p.request.RemoteAddr) && own(forwarded)
}

// withoutPort is the host of a URL without its scheme's own port.
func withoutPort(u *url.URL) string {
	port := map[string]string{"http": ":80", "https": ":443"}[u.Scheme]
	return strings.TrimSuffix(plainHost(u.Host), port)
}

// token returns a new token for the reader of the page, or "".
func (in *inserter) token(rule *rules.Route) string {
	who := in.page.who(rule)
	if who == "" || in.minter == nil {
		return ""
	}
	return in.minter.Mint(rule.Name, who)
}

// who returns whom a form is made for, "" when nobody can tell.
func (p *pageWriter) who(rule *rules.Route) string {
	who, ok := p.reader.identity(rule.Scope)
	switch {
	case !ok:
		return ""
	case who != "":
		return who
	case p.fresh == "" && p.sent:
		return "" // too late for a cookie
	case p.fresh == "":
		p.fresh = newVisitor()
	}
	return visitorIdentity(p.fresh)
}

// field is the hidden field.
func (in *inserter) field(form *rules.Form, token, formID string) string {
	out := `<input type="hidden" name="` + html.EscapeString(form.Field) + `" value="` + token + `" autocomplete="off" data-semel-token`
	if in.xhtml {
		out += `=""`
	}
	if formID != "" {
		out += ` form="` + html.EscapeString(formID) + `"`
	}
	if in.xhtml {
		return out + " />"
	}
	return out + ">"
}

// scriptOnce is the script element, behind the first field of a form that wants it.
func (in *inserter) scriptOnce(form *rules.Form, inert bool) string {
	p := in.page
	if p.scripted || inert || !form.Script {
		return ""
	}
	markup := p.forms.script.markup(&p.pass)
	p.scripted = true
	if markup == "" {
		p.forms.countPage(pageNoScript)
	}
	return markup
}

// htmlLanguage finds the language of a page in its first bytes.
var htmlLanguage = regexp.MustCompile(`(?i)<html\s[^>]*?\b(?:xml:)?lang\s*=\s*["']?([A-Za-z][A-Za-z0-9-]{0,34})`)

// language returns that of the page, as far as it is known by now, or "".
func (p *pageWriter) language() string {
	if found := htmlLanguage.FindSubmatch(p.head); found != nil {
		return string(found[1])
	}
	return p.Header().Get("Content-Language")
}
