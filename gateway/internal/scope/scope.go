// Package scope derives the scope of a request at the gateway.
package scope

import (
	"context"
	"crypto/sha256"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/semelhttp"
)

// anonymous is the principal of requests without any credentials.
const anonymous = "anonymous"

// Caller identifies the sender of a request.
type Caller struct {
	// Principal is only ever hashed; it is empty if nothing identifies the caller.
	Principal string
	// Claimed says that the credentials are new for each request. Only the application can check them, so Principal keeps
	// a repetition from running, and opens no stored answer.
	Claimed bool
	unknown bool   // Authorization has a scheme that is not known
	several string // the names of the session cookies, if there are several
}

// byDefault returns the caller where a rule names no source: by the Authorization header, else the client certificate,
// else the session cookies, else anonymous.
func byDefault(r *http.Request) Caller {
	c := first(r, []rules.ScopeSource{{Header: "Authorization"}, {ClientCertificate: true}})
	if c.Principal != "" {
		return c
	}
	sessions := SessionsOf(r)
	c.Principal, c.several = sessions.Principal(), sessions.several()
	if c.Principal == "" && !c.Claimed {
		c.Principal = "constant\n" + anonymous
	}
	return c
}

// Of returns the caller by the first of the sources that the request has.
func Of(r *http.Request, sources []rules.ScopeSource) Caller {
	if len(sources) == 0 {
		return byDefault(r)
	}
	return first(r, sources)
}

// first skips credentials that are new for each request as a whole. A later source may identify their caller; a constant
// must not, because it would make all of them one.
func first(r *http.Request, sources []rules.ScopeSource) Caller {
	claimed := false
	for i := range sources {
		c := by(r, &sources[i])
		claimed = claimed || c.Claimed
		if c.Principal != "" && (!claimed || sources[i].Constant == "") {
			c.Claimed = claimed
			return c
		}
	}
	return Caller{Claimed: claimed}
}

// by identifies the caller by one source. The principal begins with the kind of the source.
func by(r *http.Request, s *rules.ScopeSource) Caller {
	switch {
	case s.Header == "Authorization":
		if lines := r.Header[s.Header]; strings.TrimSpace(strings.Join(lines, "")) != "" {
			c := authorization(lines)
			return Caller{Principal: c.principal, Claimed: c.signed, unknown: c.unknown}
		}
	case s.Header != "":
		if value := strings.Join(r.Header[s.Header], "\n"); strings.TrimSpace(value) != "" {
			return Caller{Principal: "header " + s.Header + "\n" + value}
		}
	case s.Cookie != "":
		if values := cookieValues(r, s.Cookie); len(values) > 0 {
			return Caller{Principal: cookies(s.Cookie, values)}
		}
	case s.ClientCertificate:
		if r.TLS != nil && len(r.TLS.VerifiedChains) > 0 && len(r.TLS.PeerCertificates) > 0 {
			sum := sha256.Sum256(r.TLS.PeerCertificates[0].Raw)
			return Caller{Principal: "certificate\n" + string(sum[:])}
		}
	case s.Constant != "":
		return Caller{Principal: "constant\n" + s.Constant}
	}
	return Caller{}
}

// allCookies returns the names and values of the request's cookies, without empty values.
func allCookies(r *http.Request) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, line := range r.Header["Cookie"] {
			for pair := range strings.SplitSeq(line, ";") {
				if name, value, _ := CutCookie(pair); value != "" && !yield(name, value) {
					return
				}
			}
		}
	}
}

// cookieValues returns every value of the cookie.
func cookieValues(r *http.Request, name string) (values []string) {
	for key, value := range allCookies(r) {
		if key == name {
			values = append(values, value)
		}
	}
	return values
}

// Func returns the scope of the rule's requests: their caller, together with method, host and path.
func Func(rule *rules.Route, notices *Notices) semelhttp.ScopeFunc {
	name, sources := rule.Name, rule.Scope
	return func(r *http.Request) (string, error) {
		c := Of(r, sources)
		notices.about(name, &c)
		if c.Principal == "" && c.Claimed {
			return "", &semelhttp.UnverifiedError{
				Problem: semelhttp.Problem{
					Name: "key-invalid", Page: "sign-in", Title: "The key has no owner", Status: http.StatusBadRequest, Detail: unowned,
				},
				Err: fmt.Errorf("%w: the credentials in Authorization change with every request", semel.ErrScopeMissing),
			}
		}
		return For(r, c.Principal)
	}
}

// unowned is the detail for a request whose credentials are new as a whole.
const unowned = "Nothing was done. The credentials in Authorization change with every request, and nothing else says who sends it, so a repetition could not be recognised. " +
	"The operator can name a header, a cookie or a client certificate that identifies callers with scope in the rules file."

// For returns the scope of the request for its principal.
func For(r *http.Request, principal string) (string, error) {
	if principal != "" {
		principal += Tenant(r)
	}
	return semelhttp.ScopeBy(func(*http.Request) string { return principal })(r)
}

// Tenant returns what a proxy was asked for that the gateway was not, another host or a prefix of the path: the application may
// choose a tenant by that. "" for none.
func Tenant(r *http.Request) (tenant string) {
	if asked := hostsAsked(r); asked != "" {
		tenant = "\n\nasked for " + asked
	}
	if prefix := strings.Join(r.Header["X-Forwarded-Prefix"], ", "); strings.Trim(prefix, "/ ") != "" {
		tenant += "\n\nbelow " + prefix
	}
	return tenant
}

// hostsAsked returns the hosts that proxies were asked for, other than the gateway's own; "" for none.
func hostsAsked(r *http.Request) string {
	hosts := []string{strings.ToLower(strings.Join(r.Header["X-Forwarded-Host"], ", "))}
	for rest := strings.Join(r.Header["Forwarded"], ","); rest != ""; {
		var name, value string
		name, rest, _ = strings.Cut(rest, "=")
		value, rest = parameter(rest, ",;")
		if strings.EqualFold(strings.TrimLeft(name, " \t,;"), "host") {
			hosts = append(hosts, strings.ToLower(value))
		}
	}
	var others []string
	for _, host := range hosts {
		if host != "" && host != strings.ToLower(r.Host) && !slices.Contains(others, host) {
			others = append(others, host)
		}
	}
	return strings.Join(others, "\n")
}

// Notices warn about the callers of a route, once for each reason.
type Notices struct {
	Log   *slog.Logger
	given sync.Map
}

// about warns where only a rule can say what identifies callers.
func (n *Notices) about(route string, c *Caller) {
	if c.unknown {
		n.once(route, "a scheme of Authorization is not known: if its credentials change with every request, repetitions are not recognised (name what identifies callers with scope)")
	}
	n.several(route, c.several)
}

// AboutSessions warns of several session cookies in a request for a form.
func (n *Notices) AboutSessions(route string, r *http.Request) {
	n.several(route, SessionsOf(r).several()) //nolint:contextcheck // a warning outlives the request
}

func (n *Notices) several(route, names string) {
	if names != "" {
		n.once(route, "a request has several session cookies, which count together: a caller who gets one more is another caller (name the application's own with scope)",
			slog.String("cookies", names))
	}
}

func (n *Notices) once(route, text string, about ...slog.Attr) {
	if _, given := n.given.LoadOrStore(route+"\n"+text, true); !given {
		n.Log.LogAttrs(context.Background(), slog.LevelWarn, text, append([]slog.Attr{slog.String("route", route)}, about...)...) //nolint:sloglint // each caller has a constant
	}
}

// DropCookies removes cookies from a header. The others stay as they were, byte for byte.
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
// Set-Cookie line, so that scopes, tokens and [DropCookies] agree about them.
func CutCookie(pair string) (name, value string, found bool) {
	name, value, found = strings.Cut(pair, "=")
	return strings.Trim(name, " \t"), strings.Trim(value, " \t"), found
}

// Describe tells callers what identifies them.
func Describe(sources []rules.ScopeSource) []string {
	if len(sources) == 0 {
		return []string{"header Authorization", "client certificate", "session cookies", anonymous}
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
