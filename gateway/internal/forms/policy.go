package forms

import (
	"encoding/base64"
	"fmt"
	"html"
	"net/http"
	"slices"
	"strings"

	"github.com/semel-dev/semel/web"
)

const policyHeader = "Content-Security-Policy"

// elementPass holds what an element needs so that the policies of its page allow it.
type elementPass struct {
	allowed   bool
	nonce     string
	integrity string
	// lines are the policies of the page as they must be for that; nil for as
	// they are.
	lines []string
}

// pageElement is one that policies judge.
type pageElement struct {
	// directives name the sources of such elements, the closest first; the second
	// is written where default-src was the closest.
	directives [3]string
	source     string // its address, a host with a path; "" where a policy cannot name it
	hash       string // of its content, "" where policies do not go by it
}

// allowElement finds out how the policies of a page can let the element count. All
// policies of all lines hold at once. Policies that only report are left alone.
func allowElement(policies []string, e *pageElement) elementPass {
	pass := elementPass{allowed: true}
	changed := false
	for _, line := range policies {
		policies := strings.Split(line, ",")
		for i, policy := range policies {
			changedPolicy, ok := pass.allow(policy, e)
			if !ok {
				return elementPass{}
			}
			changed = changed || changedPolicy != policy
			policies[i] = changedPolicy
		}
		pass.lines = append(pass.lines, strings.Join(policies, ","))
	}
	if !changed {
		pass.lines = nil
	}
	return pass
}

// allowIn changes the policies of a header so that they let the element count, where they can.
func allowIn(h http.Header, e *pageElement) {
	if pass := allowElement(h[policyHeader], e); pass.lines != nil {
		h[policyHeader] = pass.lines
	}
}

// restrict takes back what a policy inside the page, which stays as it is, does not allow.
func (p *elementPass) restrict(policy string, e *pageElement) {
	changed, ok := p.allow(policy, e)
	p.allowed = p.allowed && ok && changed == policy
}

// allow returns the policy with what the element needs.
func (p *elementPass) allow(policy string, e *pageElement) (string, bool) {
	directives := strings.Split(policy, ";")
	at, name := governing(directives, &e.directives)
	if at < 0 {
		return policy, true
	}
	sources := strings.Fields(directives[at])[1:]
	nonce, source := nonceOf(sources), e.source
	switch {
	case nonce != "" && (p.nonce == "" || p.nonce == nonce):
		p.nonce = nonce
		return policy, true
	case e.hash != "" && (nonce != "" || contains(sources, "'strict-dynamic'")): // hosts do not count, or another policy's nonce does
		p.integrity = e.hash
		source = "'" + e.hash + "'"
	case contains(sources, "'self'") || contains(sources, "*"):
		return policy, true
	case source == "":
		return "", false
	}
	sources = slices.DeleteFunc(sources, func(s string) bool { return strings.EqualFold(s, "'none'") })
	list := " " + strings.Join(append(sources, source), " ")
	if name == e.directives[2] { // which is about more than these elements
		return strings.TrimRight(policy, "; ") + "; " + e.directives[1] + list, true
	}
	space := directives[at][:len(directives[at])-len(strings.TrimLeft(directives[at], " \t"))]
	directives[at] = space + name + list
	return strings.Join(directives, ";"), true
}

// governing returns the directive by which elements are judged, and its name in
// small letters; -1 for none. The first of a name counts.
func governing(directives []string, names *[3]string) (at int, name string) {
	for _, name := range names {
		for i, d := range directives {
			if words := strings.Fields(d); len(words) > 0 && strings.EqualFold(words[0], name) {
				return i, name
			}
		}
	}
	return -1, ""
}

// nonceOf returns the nonce among the sources, or "".
func nonceOf(sources []string) string {
	const prefix = "'nonce-"
	for _, s := range sources {
		if len(s) > len(prefix)+1 && strings.EqualFold(s[:len(prefix)], prefix) && strings.HasSuffix(s, "'") {
			if nonce := s[len(prefix) : len(s)-1]; isNonce(nonce) {
				return nonce
			}
		}
	}
	return ""
}

// isNonce reports whether the text has the characters of a nonce.
func isNonce(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("+/=-_", c)
	})
}

func contains(sources []string, keyword string) bool {
	return slices.ContainsFunc(sources, func(s string) bool { return strings.EqualFold(s, keyword) })
}

// styleElement is the style sheet of the notice.
func styleElement(host string) *pageElement {
	return &pageElement{
		directives: [3]string{"style-src-elem", "style-src", "default-src"}, source: policySource(host, noticeStylePath),
	}
}

// policySource is a path of the gateway's as a source in a policy: without a
// scheme, so that it means that of the page, whatever proxy is in front of the
// gateway. "" where a policy cannot name the host.
func policySource(host, path string) string {
	if host == "" || strings.ContainsFunc(host, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '.' && c != '-' && c != ':'
	}) {
		return ""
	}
	return host + path
}

// script is one of the gateway's scripts as pages name it.
type script struct {
	path string
	url  string
	hash string // as in a policy, without quotes
}

func (s *script) load(name string) error {
	asset, ok := web.File(name)
	if !ok {
		return fmt.Errorf("gateway: the script %s is not embedded (run scripts/test-web --write)", name)
	}
	s.path = Path + name
	s.url = s.path + "?v=" + asset.Version()
	s.hash = "sha256-" + base64.StdEncoding.EncodeToString(asset.SHA256[:])
	return nil
}

// element is the script as policies judge it.
func (s *script) element(host string) *pageElement {
	return &pageElement{
		directives: [3]string{"script-src-elem", "script-src", "default-src"}, source: policySource(host, s.path), hash: s.hash,
	}
}

// markup is the script element for a page with this pass, with further attributes.
func (s *script) markup(pass *elementPass, attributes string) string {
	if !pass.allowed {
		return ""
	}
	out := `<script src="` + s.url + `"` + attributes
	if pass.nonce != "" {
		out += ` nonce="` + html.EscapeString(pass.nonce) + `"`
	}
	if pass.integrity != "" {
		out += ` integrity="` + pass.integrity + `"`
	}
	return out + `></script>`
}
