package forms

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/semel-dev/semel/gateway/internal/scope"
	"github.com/semel-dev/semel/internal/formguard"
	"github.com/semel-dev/semel/internal/outcomecookie"
	"github.com/semel-dev/semel/rules"
)

// The reader of a form is identified by something that stays the same from the page to
// the form in it: the source that the rule names, else the Authorization header, the
// client certificate, the steady session cookies, or a cookie of the gateway's own. See
// docs/forms.md.

// identity names the reader that a form is made for, or may come from.
type identity struct {
	principal string // "" if only the visitor cookie identifies the reader
	// visitor says that the visitor cookie counts as well as the principal, which is not enough: a stranger can claim one
	// whose credentials are new for each request, and an attacker may have planted a steady session cookie next to one that
	// changes with every answer.
	visitor bool
}

// credentials identifies the caller by the Authorization header or the client certificate.
func credentials(r *http.Request) scope.Caller {
	return scope.Of(r, []rules.ScopeSource{{Header: "Authorization"}, {ClientCertificate: true}})
}

// identify returns the reader by the sources or, without any, by the credentials of the request and these sessions.
func identify(r *http.Request, sessions scope.Sessions, sources []rules.ScopeSource) identity {
	if len(sources) > 0 {
		c := scope.Of(r, sources)
		return identity{c.Principal, c.Claimed}
	}
	c := credentials(r)
	if c.Principal != "" {
		return identity{c.Principal, c.Claimed}
	}
	steady, others := sessions.Steady()
	return identity{steady.Principal(), c.Claimed || others || len(steady) == 0}
}

// with returns the reader with the visitor cookie.
func (id identity) with(visitor string) string {
	if id.principal == "" {
		return visitorIdentity(visitor)
	}
	return id.principal + "\n\n" + visitorIdentity(visitor)
}

// identities returns the readers whom the page of this form may have been made for, the surest first. Everything that
// identifies the reader counts together, because an attacker may have planted a part of it.
func identities(r *http.Request, visitor string, sources []rules.ScopeSource) []string {
	var all []string
	id := identify(r, scope.SessionsOf(r), sources)
	if id.principal != "" && !id.visitor {
		all = append(all, id.principal)
	}
	if visitor != "" && (id.visitor || len(sources) == 0) {
		all = append(all, id.with(visitor))
		if id.principal != "" && len(sources) == 0 { // the page was made before the reader had them
			all = append(all, visitorIdentity(visitor))
		}
	}
	return all
}

func visitorIdentity(visitor string) string { return "visitor\n" + visitor }

// reader is the reader of a page, to whom its forms are bound.
type reader struct {
	request *http.Request
	ownCookies
	set http.Header // the header of the page
}

// identity returns the reader for whom a form of the page is made, and false if nothing identifies the reader.
func (p *reader) identity(sources []rules.ScopeSource) (id identity, ok bool) {
	explicit := len(sources) > 0
	if !explicit && isGuest(p.request, &p.ownCookies) {
		return identity{visitor: true}, true // whatever cookie the page sets may not be taken
	}
	r, sessions := p.request, scope.SessionsOf(p.request)
	if len(p.set["Set-Cookie"]) > 0 {
		r, sessions = p.afterwards(sources)
	}
	id = identify(r, sessions, sources)
	return id, id.principal != "" || id.visitor
}

// afterwards applies the cookies that the page sets to the request's sessions and, if the sources name them, to a copy of
// the request.
func (p *reader) afterwards(sources []rules.ScopeSource) (*http.Request, scope.Sessions) {
	r := p.request.Clone(p.request.Context())
	sessions := scope.SessionsOf(r)
	if sessions == nil {
		sessions = scope.Sessions{}
	}
	for _, line := range p.set["Set-Cookie"] {
		pair, attributes, _ := strings.Cut(line, ";")
		name, value, found := scope.CutCookie(pair)
		if !found {
			continue
		}
		if expired(attributes) {
			value = ""
		}
		sessions.Set(name, value)
		if slices.ContainsFunc(sources, func(s rules.ScopeSource) bool { return s.Cookie == name }) {
			scope.DropCookies(r.Header, func(had, _ string) bool { return had == name })
			r.Header.Add("Cookie", name+"="+value)
		}
	}
	return r, sessions
}

// expired reports whether the attributes of a cookie take it away.
func expired(attributes string) bool {
	past := false
	for attribute := range strings.SplitSeq(attributes, ";") {
		key, value, _ := strings.Cut(attribute, "=")
		value = strings.TrimSpace(value)
		switch strings.ToLower(strings.TrimSpace(key)) {
		case "max-age": // it outranks Expires
			seconds, err := strconv.Atoi(value)
			return err == nil && seconds <= 0
		case "expires":
			at, err := http.ParseTime(value)
			past = err == nil && at.Before(time.Now())
		}
	}
	return past
}

// A guest is a reader whom nothing identifies: the request has no credentials and no
// cookie. It is given the visitor cookie; a browser that takes
// none, or sends none from a frame in another site's page, comes back with nothing
// but its form. The token then leads back to the visitor that the page was made for,
// which is the same reader with the cookie and without it: what was sent with the
// one is a repetition with the other.

// isGuest reports whether nothing in the request identifies its reader. The
// gateway's own cookies are not in its header any more: they are in own.
func isGuest(r *http.Request, own *ownCookies) bool {
	return own.visitor == "" && !own.ignored && len(r.Header["Cookie"]) == 0 && credentials(r) == scope.Caller{}
}

// guests returns the readers for whom a token may have been made if nothing but the
// token identifies them. There are none where the rule has a scope of its own, where
// anything else in the request identifies its reader, and where a page of another
// site may have sent the request: an attacker could have a victim send the
// attacker's token, and then read the answer.
func (f *Forms) guests(r *http.Request, a *attempt, rule *rules.Route, minter *formguard.Minter, token string) []string {
	if len(rule.Scope) > 0 || !isGuest(r, &a.ownCookies) || !fromThisSite(r) {
		return nil
	}
	names := minter.GuestsOf(token)
	for i, name := range names {
		names[i] = visitorIdentity(name)
	}
	return names
}

// fromThisSite reports whether a page of this site sent the request, as far as a
// browser says. A program says nothing.
func fromThisSite(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "same-origin", "none":
		return true
	case "": // a browser says nothing of it over plain http
	default:
		return false
	}
	text := r.Header.Get("Origin")
	if text == "" {
		return true
	}
	origin, err := url.Parse(text)
	return err == nil && (origin.Scheme == "http" || origin.Scheme == "https") && sameHost(r, origin)
}

// The cookies of the gateway's own. The upstream sees neither.
const (
	// visitorCookie identifies visitors without a session of their own. Over TLS it
	// has the prefix that lets only this host set it: not a subdomain, and not an
	// attacker on the path of plain http.
	visitorCookie       = "semel_visitor"
	secureVisitorCookie = "__Host-" + visitorCookie
	// outcomeCookie tells the page the outcome of the last forms. Scripts read it
	// under one name; the gateway decides nothing by it, so it needs no prefix.
	outcomeCookie = outcomecookie.Name

	idDigits = 22 // of a token's 16 bytes in base64url
)

// visitorName is the name of the visitor cookie, secure where the browser speaks
// TLS. The other name is not read there, because another host may have set it.
func visitorName(secure bool) string {
	if secure {
		return secureVisitorCookie
	}
	return visitorCookie
}

// ownCookies are the values of the gateway's own cookies in a request.
type ownCookies struct {
	visitor  string // "" for none
	outcomes string
	// ignored says that there was a visitor cookie under the name that is not read
	// here: another host may have set it, so the request is not a guest's.
	ignored bool
}

// takeCookies returns the header without the gateway's own cookies, and their
// values; what is left stays as it was, byte for byte. The header is a copy where
// something was taken.
func takeCookies(h http.Header, secure bool) (rest http.Header, own ownCookies) {
	if !slices.ContainsFunc(h["Cookie"], func(line string) bool { return strings.Contains(line, "semel_") }) {
		return h, own
	}
	rest = h.Clone()
	scope.DropCookies(rest, func(name, value string) bool {
		switch name {
		case visitorName(secure):
			own.visitor = value
		case visitorCookie, secureVisitorCookie:
			own.ignored = true
		case outcomeCookie:
			own.outcomes = value
		default:
			return false
		}
		return true
	})
	if !isID(own.visitor) {
		own.visitor = "" // not one of ours
	}
	return rest, own
}

// dropOwnCookies takes out of an answer what the application says about cookies of
// the gateway's own: it has never seen one.
func dropOwnCookies(h http.Header) {
	own := func(line string) bool {
		name, _, _ := strings.Cut(line, "=")
		name, _, _ = strings.Cut(name, ";")
		name = strings.Trim(name, " \t")
		return name == visitorCookie || name == secureVisitorCookie || name == outcomeCookie
	}
	if !slices.ContainsFunc(h["Set-Cookie"], own) {
		return
	}
	if h["Set-Cookie"] = slices.DeleteFunc(slices.Clone(h["Set-Cookie"]), own); len(h["Set-Cookie"]) == 0 {
		delete(h, "Set-Cookie")
	}
}

// visitorLine is the Set-Cookie line of a visitor.
func visitorLine(visitor string, secure bool) string {
	return (&http.Cookie{ //nolint:gosec // Secure where the page is.
		Name: visitorName(secure), Value: visitor, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: secure,
	}).String()
}

// isID reports whether s looks like 16 bytes in base64url.
func isID(s string) bool { return len(s) == idDigits && outcomecookie.IsID(s) }
