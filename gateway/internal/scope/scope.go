// Package scope derives the scope of a request at the gateway.
package scope

import (
	"crypto/sha256"
	"net/http"
	"strings"

	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/semelhttp"
)

// anonymous is the principal of requests without any credentials.
const anonymous = "anonymous"

// Of returns the function that says whose key a request carries: the
// first source that the request has, together with method, host and path.
// Without sources: the Authorization header, else the client certificate, else
// a well-known session cookie, else anonymous.
func Of(sources []rules.ScopeSource) semelhttp.ScopeFunc {
	if len(sources) == 0 {
		sources = []rules.ScopeSource{{Header: "Authorization"}, {ClientCertificate: true}}
		for _, name := range rules.SessionCookies() {
			sources = append(sources, rules.ScopeSource{Cookie: name})
		}
		sources = append(sources, rules.ScopeSource{Constant: anonymous})
	}
	return semelhttp.ScopeBy(func(r *http.Request) string {
		for i := range sources {
			if who := Principal(r, &sources[i]); who != "" {
				return who
			}
		}
		return ""
	})
}

// Principal returns what identifies the caller by one source, after the kind
// of the source, or "". It goes no further than into a digest.
func Principal(r *http.Request, s *rules.ScopeSource) string {
	switch {
	case s.Header != "":
		if value := strings.Join(r.Header[s.Header], "\n"); strings.TrimSpace(value) != "" {
			return "header " + s.Header + "\n" + value
		}
	case s.Cookie != "":
		if values := CookieValues(r, s.Cookie); values != "" {
			return "cookie " + s.Cookie + values
		}
	case s.ClientCertificate:
		if r.TLS != nil && len(r.TLS.VerifiedChains) > 0 && len(r.TLS.PeerCertificates) > 0 {
			sum := sha256.Sum256(r.TLS.PeerCertificates[0].Raw)
			return "certificate\n" + string(sum[:])
		}
	case s.Constant != "":
		return "constant\n" + s.Constant
	}
	return ""
}

// CookieValues returns every value of the cookie, each after a line feed. All of
// them count, because applications differ in whether the first or the last is
// the session. They count as they came, because applications read values too
// that net/http drops, and their callers must not all be anonymous.
func CookieValues(r *http.Request, name string) string {
	var values strings.Builder
	for _, line := range r.Header["Cookie"] {
		for pair := range strings.SplitSeq(line, ";") {
			if key, value, _ := CutCookie(pair); value != "" && key == name {
				values.WriteString("\n" + value)
			}
		}
	}
	return values.String()
}

// DropCookies takes cookies that are not the application's out of a header. What is left stays
// as it was, byte for byte.
func DropCookies(h http.Header, drop func(name, value string) bool) {
	dropped := false
	var lines []string
	for _, line := range h["Cookie"] {
		var kept []string
		for pair := range strings.SplitSeq(line, ";") {
			if name, value, _ := CutCookie(pair); drop(name, value) {
				dropped = true
			} else {
				kept = append(kept, pair)
			}
		}
		if len(kept) > 0 {
			lines = append(lines, strings.TrimLeft(strings.Join(kept, ";"), " "))
		}
	}
	switch {
	case !dropped:
	case len(lines) == 0:
		delete(h, "Cookie")
	default:
		h["Cookie"] = lines
	}
}

// CutCookie reads the name and the value of a cookie, in a request and in a
// Set-Cookie line: scopes, tokens and what is taken out agree about them.
func CutCookie(pair string) (name, value string, found bool) {
	name, value, found = strings.Cut(pair, "=")
	return strings.Trim(name, " \t"), strings.Trim(value, " \t"), found
}

// Describe says the same to callers.
func Describe(sources []rules.ScopeSource) []string {
	if len(sources) == 0 {
		return []string{"header Authorization", "client certificate", "session cookie", anonymous}
	}
	var out []string
	for _, s := range sources {
		switch {
		case s.Header != "":
			out = append(out, "header "+s.Header)
		case s.Cookie != "":
			out = append(out, "cookie "+s.Cookie)
		case s.ClientCertificate:
			out = append(out, "client certificate")
		default:
			out = append(out, "everybody")
		}
	}
	return out
}
