package semelhttp

import (
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/refusal"
)

// A redirect to a sign-in page says what 401 says: nothing happened, come back
// signed in. testdata/vectors/signin.json pins what counts as one, together with
// web/src/sign-in.ts, which has the same expressions.
var (
	// signInPath matches the path of a sign-in page, in lower case.
	signInPath = regexp.MustCompile(`/(wp-?|service)?(log|sign)[-_]?(in|on)(\.(php|aspx?|jspx?|jsf|html?|xhtml|do|action|cgi))?(;[^/]*)?(/|$)` +
		`|^/(sso|saml2?)(/|$)|/(oauth2?|oidc|openid|openid-connect)/(auth|authorize|authorization|start)(/|$)|/sessions?/new/?$`)
	// ownSignInPath is one on the request's own host only: elsewhere it may be a
	// bank's, where a payment is confirmed.
	ownSignInPath = regexp.MustCompile(`^/auth/?$`)
	// signInQuery is a question to an identity provider: SAML or WS-Federation.
	signInQuery = regexp.MustCompile(`(^|&)(samlrequest=|wa=wsignin)`)
	// signInHost is the host of an identity provider.
	signInHost = regexp.MustCompile(`^(login|signin|sign-in|sso)\.`)
	// accountPath matches pages to sign up, sign out or change a password: the
	// sign-in page follows what they did there.
	accountPath = regexp.MustCompile(`(^|/(accounts?|auth|customers?|identity|members?|users?|[a-z][a-z0-9]))/(register|registrations?|sign[-_]?(up|out|off)|log[-_]?(out|off))(\.[a-z]+)?/?$` +
		`|/((re)?set|forgot(ten)?|change|lost|new|recover|update)?[-_]?passwords?[-_]?(reset|change|recovery|forgot(ten)?)?(\.[a-z]+)?(/[^/]*)?/?$`)
)

// redirects reports whether browsers follow an answer with this status.
func redirects(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// leadsToSignIn reports whether location, of a redirect that answers a request
// to the host and path of from, is the address of a sign-in page.
func leadsToSignIn(from *url.URL, location string) bool {
	to, err := from.Parse(location)
	if err != nil {
		return false
	}
	own, path, query := strings.ToLower(from.EscapedPath()), strings.ToLower(to.EscapedPath()), strings.ToLower(to.RawQuery)
	if accountPath.MatchString(own) || path == strings.TrimSuffix(own, "/")+"/new" {
		return false
	}
	asksProvider := strings.Contains("&"+query, "&client_id=") && strings.Contains("&"+query, "&response_type=")
	if asksProvider || signInPath.MatchString(path) || signInQuery.MatchString(query) {
		return true
	}
	if host := strings.ToLower(to.Host); host != strings.ToLower(from.Host) {
		return signInHost.MatchString(host)
	}
	return ownSignInPath.MatchString(path)
}

// signsIn reports whether the answer sends its caller to a sign-in page, and
// whether that is on another host.
func (run *execution) signsIn(status int) (signIn, elsewhere bool) {
	if !redirects(status) {
		return false, false
	}
	for _, f := range run.capture.mem.sent {
		if f.name == "Location" && len(f.values) > 0 {
			asked := run.request.URL
			from := &url.URL{Scheme: "https", Host: run.request.Host, Path: asked.Path, RawPath: asked.RawPath}
			if !leadsToSignIn(from, f.values[0]) {
				return false, false
			}
			to, err := from.Parse(f.values[0])
			return true, err == nil && !strings.EqualFold(to.Host, from.Host)
		}
	}
	return false, false
}

// semelSays reads the answer of a service behind the handler that uses Semel as well, and has not ended the intent. again:
// it is to be asked again under the same key. open: it cannot tell what happened either. Neither is an outcome. Its pages
// for people are known by their header, and so is a problem in a coding that cannot be read. Its server errors count as any
// other, because what passes them on may have acted before; but in-flight with 503 (Options.InFlightStatus) is the same word as
// with 409.
func (c *capture) semelSays(status int) (again, open bool) {
	unavailable := status == http.StatusServiceUnavailable
	if status < http.StatusBadRequest || (status >= http.StatusInternalServerError && !unavailable) {
		return false, false
	}
	header := make(http.Header, 4)
	for _, f := range c.mem.sent {
		switch f.name {
		case "Content-Type", "Content-Encoding", "Link", "Retry-After":
			header[f.name] = f.values
		}
	}
	if isProblem(header) {
		if body, read := c.decoded(header.Get("Content-Encoding")); read {
			told := problemIn(body)
			if unavailable {
				return told.Type == problemInFlightType, false
			}
			again = told.Retryable && strings.HasPrefix(told.Type, refusal.Type)
			return again, !again && told.Type == problemUnknownType
		}
	}
	return !unavailable && header["Retry-After"] != nil && slices.Contains(header["Link"], refusal.PolicyLink(DefaultPolicyURL)), false
}

// decoded returns the beginning of the answer without its coding, which a layer or proxy of the service may have added; read is false
// for a coding that is not known here.
func (c *capture) decoded(name string) (body []byte, read bool) {
	body = c.first(maxProblemBytes)
	coding := codingOf(name)
	if coding == "" || coding == "identity" {
		return body, true
	}
	from := decoder(coding, body)
	if from == nil {
		return nil, false
	}
	body, err := io.ReadAll(io.LimitReader(from, maxProblemBytes+1))
	return body, err == nil
}
