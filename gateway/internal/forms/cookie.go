package forms

import (
	"net/http"
	"slices"
	"strings"

	"github.com/semel-dev/semel/gateway/internal/scope"
	"github.com/semel-dev/semel/internal/outcomecookie"
)

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
