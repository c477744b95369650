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
	"github.com/semel-dev/semel/rules"
)

// The reader of a form is identified by something that stays the same from the page to
// the form in it: the source that the rule names, else the Authorization header, the
// client certificate, a steady session cookie, or a cookie of the gateway's own. See
// docs/forms.md.

// steadySources identify a reader where the rule names none. The cookies are those of
// [rules.SessionCookies] whose value stays the same for as long as the session does. The
// others get a new value with every answer.
func steadySources() []rules.ScopeSource {
	return []rules.ScopeSource{
		{Header: "Authorization"},
		{ClientCertificate: true},
		{Cookie: "sessionid"},
		{Cookie: "PHPSESSID"},
		{Cookie: "JSESSIONID"},
		{Cookie: "connect.sid"},
		{Cookie: "ASP.NET_SessionId"},
		{Cookie: "SESSION"},
	}
}

// identities returns whom a form that the request sends may have been made for,
// the surest first. With sources, the first of them that the request has, alone.
func identities(r *http.Request, visitor string, sources []rules.ScopeSource) []string {
	if len(sources) > 0 {
		for i := range sources {
			if who := scope.Principal(r, &sources[i]); who != "" {
				return withEach([]string{who}, r, sources[i].Cookie)
			}
		}
		return nil
	}
	var all []string
	for _, source := range steadySources() {
		if who := scope.Principal(r, &source); who != "" {
			all = withEach(append(all, who), r, source.Cookie)
		}
	}
	if visitor != "" {
		all = append(all, visitorIdentity(visitor))
	}
	return all
}

// withEach adds the values of a cookie one by one, where there are several: a
// page is made for one, and may be sent with another one as well.
func withEach(all []string, r *http.Request, cookie string) []string {
	if cookie == "" {
		return all
	}
	values := strings.Split(scope.CookieValues(r, cookie), "\n")[1:]
	if len(values) < 2 || len(values) > maxCookieValues {
		return all
	}
	for _, value := range values {
		all = append(all, cookieIdentity(cookie, value))
	}
	return all
}

// maxCookieValues bounds the values of one cookie that are tried one by one.
const maxCookieValues = 4

func cookieIdentity(name, value string) string { return "cookie " + name + "\n" + value }
func visitorIdentity(visitor string) string    { return "visitor\n" + visitor }

// reader is the reader of a page, to whom its forms are bound.
type reader struct {
	request *http.Request
	ownCookies
	set http.Header // the header of the page
}

// identity returns the reader for whom a form of the page is made, or "" for one who
// is yet to be given a visitor cookie. ok is false if nothing identifies the reader.
func (p *reader) identity(sources []rules.ScopeSource) (who string, ok bool) {
	explicit := len(sources) > 0
	if !explicit && isGuest(p.request, &p.ownCookies) {
		return "", true // whatever cookie the page sets may not be taken
	}
	if !explicit {
		sources = steadySources()
	}
	for i := range sources {
		source := &sources[i]
		if source.Cookie != "" {
			if value, gone, set := setCookie(p.set, source.Cookie); set {
				if gone {
					continue
				}
				return cookieIdentity(source.Cookie, value), true
			}
		}
		if who := scope.Principal(p.request, source); who != "" {
			return who, true
		}
	}
	switch {
	case explicit:
		return "", false
	case p.visitor != "":
		return visitorIdentity(p.visitor), true
	}
	return "", true
}

// setCookie returns the value that an answer gives to a cookie, or that it takes
// it away. The last line that names it counts.
func setCookie(h http.Header, name string) (value string, gone, set bool) {
	for _, line := range slices.Backward(h["Set-Cookie"]) {
		pair, attributes, _ := strings.Cut(line, ";")
		key, value, found := scope.CutCookie(pair)
		if !found || key != name {
			continue
		}
		return value, value == "" || expired(attributes), true
	}
	return "", false, false
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
	return own.visitor == "" && !own.ignored && len(r.Header["Cookie"]) == 0 && len(identities(r, "", nil)) == 0
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
