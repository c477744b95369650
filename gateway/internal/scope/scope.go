// Package scope derives the scope of a request at the gateway.
package scope

import (
	"context"
	"crypto/sha256"
	"fmt"
	"iter"
	"log/slog"
	"maps"
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

// credentials identify the caller of an Authorization header.
type credentials struct {
	principal string // the part that stays the same in all requests of the caller; "" if there is none
	signed    bool   // they are new for each request, so principal is a claim that only the application can check
	unknown   bool   // [schemeOf] does not know the scheme, and principal is the whole header
}

// authorization reads the lines of an Authorization header. Schemes have no letter case (RFC 9110, section 11.1).
func authorization(lines []string) credentials {
	whole := credentials{principal: "header Authorization\n" + strings.Join(lines, "\n")}
	for _, line := range lines {
		name, rest, found := strings.Cut(line, " ")
		scheme, stable := schemeOf(name)
		switch {
		case !found:
		case scheme == "":
			whole.unknown = true
		case stable == nil:
			if len(lines) == 1 {
				whole.principal = "header Authorization\n" + scheme + " " + rest
			}
		case len(lines) > 1: // applications differ in which they read
			return credentials{signed: true}
		default:
			return credentials{principal: stableParts(scheme, rest, stable), signed: true}
		}
	}
	return whole
}

// schemeOf returns the usual spelling of a scheme, or "" if it is not known. For a scheme whose credentials are new for
// each request it also returns the parameters that stay the same; the first of them must be present.
func schemeOf(name string) (scheme string, stable []string) {
	switch strings.ToLower(name) {
	case "basic":
		return "Basic", nil
	case "bearer":
		return "Bearer", nil
	case "dpop":
		return "DPoP", nil // the token; the proof is in another header
	case "token":
		return "Token", nil
	case "digest":
		return "Digest", []string{"username", "realm"}
	case "oauth":
		return "OAuth", []string{"oauth_consumer_key", "oauth_token"}
	case "hawk":
		return "Hawk", []string{"id"}
	case "aws4-hmac-sha256":
		return "AWS4-HMAC-SHA256", []string{"credential"}
	case "aws4-ecdsa-p256-sha256":
		return "AWS4-ECDSA-P256-SHA256", []string{"credential"}
	case "negotiate", "ntlm", "kerberos", "scram-sha-1", "scram-sha-256", "hoba", "mutual", "privatetoken", "concealed":
		return strings.ToLower(name), []string{}
	}
	return "", nil
}

// stableParts returns the parameters that stay the same, or "" if the first of them is missing or any occurs twice.
func stableParts(scheme, text string, stable []string) string {
	parameters := map[string]string{}
	for text = strings.TrimSpace(text); text != ""; {
		var name, value string
		name, text, _ = strings.Cut(text, "=")
		name = strings.ToLower(strings.TrimLeft(name, " \t,"))
		value, text = parameter(text, ",")
		if _, twice := parameters[name]; twice {
			return ""
		}
		parameters[name] = value
	}
	if len(stable) == 0 || parameters[stable[0]] == "" {
		return ""
	}
	var principal strings.Builder
	principal.WriteString("claim " + scheme)
	for _, name := range stable {
		value := parameters[name]
		if name == "credential" { // the access key, without its date and region
			value, _, _ = strings.Cut(value, "/")
		}
		principal.WriteString("\n" + name + "=" + value)
	}
	return principal.String()
}

// parameter reads the value at the start of the text, quoted or not, and returns what follows the next of the characters that
// end it.
func parameter(text, ends string) (value, rest string) {
	text = strings.TrimLeft(text, " \t")
	if !strings.HasPrefix(text, `"`) {
		value, rest = cutAny(text, ends)
		return strings.TrimRight(value, " \t"), rest
	}
	var out strings.Builder
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			_, rest = cutAny(text[i+1:], ends)
			return out.String(), rest
		case c == '\\' && i+1 < len(text):
			i++
			out.WriteByte(text[i])
		default:
			out.WriteByte(c)
		}
	}
	return out.String(), ""
}

// cutAny cuts the text at the first of the characters.
func cutAny(text, ends string) (before, after string) {
	if i := strings.IndexAny(text, ends); i >= 0 {
		return text[:i], text[i+1:]
	}
	return text, ""
}

// Sessions holds the session cookies of a request by name. All values of a name count, because applications differ in
// whether the first or the last is the session. They count as they came, because applications also read values that
// net/http drops, and their callers must not all be anonymous.
type Sessions map[string][]string

// SessionsOf returns the session cookies of a request.
func SessionsOf(r *http.Request) Sessions {
	var all Sessions
	for name, value := range allCookies(r) {
		if !isSession(name) {
			continue
		}
		if all == nil {
			all = Sessions{}
		}
		all[name] = append(all[name], value)
	}
	return all
}

// Set applies a cookie that an answer sets; without a value the answer takes it away.
func (s Sessions) Set(name, value string) {
	switch {
	case !isSession(name):
	case value == "":
		delete(s, name)
	default:
		s[name] = []string{value}
	}
}

// Principal returns the caller by all sessions together, or "": an attacker may have planted any of them in the caller's
// browser, and nothing shows which one the application goes by.
func (s Sessions) Principal() string {
	names := slices.Sorted(maps.Keys(s))
	switch len(names) {
	case 0:
		return ""
	case 1:
		return cookies(names[0], s[names[0]])
	}
	var principal strings.Builder
	principal.WriteString("cookies " + strings.Join(names, ", "))
	for _, name := range names {
		principal.WriteString("\n\n" + cookies(name, s[name]))
	}
	return principal.String()
}

// several lists the names where there is more than one.
func (s Sessions) several() string {
	if len(s) < 2 {
		return ""
	}
	return strings.Join(slices.Sorted(maps.Keys(s)), ", ")
}

// Steady returns the cookies whose value lasts as long as the session, and whether there were others, which get a new
// value with every answer.
func (s Sessions) Steady() (steady Sessions, others bool) {
	steady = maps.Clone(s)
	maps.DeleteFunc(steady, func(name string, _ []string) bool { return !isSteady(name) })
	return steady, len(steady) < len(s)
}

func cookies(name string, values []string) string {
	return "cookie " + name + "\n" + strings.Join(values, "\n")
}

func isSession(name string) bool {
	return slices.Contains(rules.SessionCookies(), name) || len(name) > len(mediaWiki) && strings.HasSuffix(name, mediaWiki) && name[0] != '_'
}

// mediaWiki ends the name of a session cookie that begins with the name of a database.
const mediaWiki = "_session"

func isSteady(name string) bool {
	switch name {
	case "sessionid", "PHPSESSID", "JSESSIONID", "connect.sid", "ASP.NET_SessionId", "SESSION", "DokuWiki", "MinifluxSessionID":
		return true
	}
	return false
}
