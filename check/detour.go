package check

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/semel-dev/semel/check/webform"
)

const (
	// giveCredentials says how the caller is named.
	giveCredentials = "give the caller's credentials with --header, or let semel check log in with --as"
	// giveAddress says what to do about a redirect.
	giveAddress = "give that address: semel check follows no redirects of the request"
	// maxDetourPage is the longest page that is searched for a form, in bytes.
	maxDetourPage = 1 << 20
)

var (
	signInPath  = regexp.MustCompile(`(?i)(^|[/._-])(log-?_?in|sign-?_?in|log-?_?on|sso|oauth2?|saml2?|authorize|auth|sessions?/new)([/._-]|$)`)
	returnParam = regexp.MustCompile(`(?i)^(next|return|return_?to|return_?url|redirect|redirect_?(to|uri|url)|continue|back_?to|service|state|from)$`)
)

// detour says that an answer leads elsewhere instead of carrying the request out, and what to do; empty if it does not.
// It may be wrong where a redirect follows success: a count of effects overrules it.
func (p *probe) detour(r reply) string {
	if !r.answered() || r.request == nil {
		return ""
	}
	to, err := r.request.URL.Parse(r.Header.Get("Location"))
	switch {
	case r.Status >= 300 && r.Status < 400 && r.Header.Get("Location") != "" && err == nil:
		return p.redirected(r, to)
	case r.Status == http.StatusOK && p.showsSignIn(r):
		return "that is a page to sign in: " + giveCredentials
	}
	return ""
}

// redirected is detour for a redirect.
func (p *probe) redirected(r reply, to *url.URL) string {
	from := r.request.URL
	same := strings.TrimSuffix(to.Path, "/") == strings.TrimSuffix(from.Path, "/")
	switch {
	case r.in(http.StatusTemporaryRedirect, http.StatusPermanentRedirect) && to.String() == from.String():
		return "it leads to itself, so the service never sees the request: look at the proxy in front of the service"
	case p.signsIn(to):
		return fmt.Sprintf("it leads to a page to sign in, %s: %s", to.Redacted(), giveCredentials)
	case r.in(http.StatusTemporaryRedirect, http.StatusPermanentRedirect), same && (to.Host != from.Host || to.Scheme != from.Scheme || to.Path != from.Path):
		return fmt.Sprintf("it sends the request on to %s: %s", to.Redacted(), giveAddress)
	}
	return ""
}

// signsIn reports whether an address is that of a page to sign in. A form may lead there after success, as after a
// registration, unless the address says where to go on.
func (p *probe) signsIn(to *url.URL) bool {
	if !signInPath.MatchString(to.Path) {
		return false
	}
	if !p.run.config.Profile.Browser {
		return true
	}
	for name := range to.Query() {
		if returnParam.MatchString(name) {
			return true
		}
	}
	return false
}

// showsSignIn reports whether the answer is a page with a form that asks for a password, which the request has none of.
func (p *probe) showsSignIn(r reply) bool {
	body := plain(r.Answer)
	if p.run.config.Page != nil || !strings.Contains(r.Header.Get("Content-Type"), "html") || len(body) > maxDetourPage {
		return false
	}
	page, err := webform.Parse(body, r.request.URL)
	if err != nil {
		return false
	}
	for i := range page.Forms {
		for _, f := range page.Forms[i].Press(page.Base, nil).Fields {
			if f.Kind == "password" {
				return true
			}
		}
	}
	return false
}
