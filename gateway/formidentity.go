package gateway

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/semel-dev/semel/rules"
)

// Whose a form is, is said by something that stays the same from the page to the
// form that it holds: that which the rule names, else the Authorization header,
// the client certificate, a steady session cookie, or a cookie of the gateway's
// own. See docs/forms.md.

// steadyCookies are those of [rules.SessionCookies] whose value stays the same for
// as long as the session does. The others get a new value with every answer.
func steadyCookies() []string {
	return []string{"sessionid", "PHPSESSID", "JSESSIONID", "connect.sid", "ASP.NET_SessionId", "SESSION"}
}

// identities returns whom a form that the request sends may have been made for,
// the surest first. With sources, the first of them that the request has, alone.
func identities(r *http.Request, visitor string, sources []rules.ScopeSource) []string {
	if len(sources) > 0 {
		for i := range sources {
			if who := principal(r, &sources[i]); who != "" {
				return withEach([]string{who}, r, sources[i].Cookie)
			}
		}
		return nil
	}
	var all []string
	for _, source := range []rules.ScopeSource{{Header: "Authorization"}, {ClientCertificate: true}} {
		if who := principal(r, &source); who != "" {
			all = append(all, who)
		}
	}
	for _, name := range steadyCookies() {
		if who := principal(r, &rules.ScopeSource{Cookie: name}); who != "" {
			all = withEach(append(all, who), r, name)
		}
	}
	if visitor != "" {
		all = append(all, visitorIdentity(visitor))
	}
	return all
}

// withEach adds the values of a cookie one by one, where there are several: a
// page is made for one, and may be sent with another one beside it.
func withEach(all []string, r *http.Request, cookie string) []string {
	if cookie == "" {
		return all
	}
	values := strings.Split(cookieValues(r, cookie), "\n")[1:]
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

// reader is who reads a page: what its forms are bound to.
type reader struct {
	request *http.Request
	visitor string      // the visitor cookie's value, or ""
	set     http.Header // the header of the page
}

// identity returns whom a form of the page is made for, "" when only the visitor
// cookie can say so and there is none, and whether it can be said at all.
func (p *reader) identity(sources []rules.ScopeSource) (who string, ok bool) {
	explicit := len(sources) > 0
	if !explicit {
		sources = []rules.ScopeSource{{Header: "Authorization"}, {ClientCertificate: true}}
		for _, name := range steadyCookies() {
			sources = append(sources, rules.ScopeSource{Cookie: name})
		}
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
		if who := principal(p.request, source); who != "" {
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
		key, value, found := cutCookie(pair)
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
