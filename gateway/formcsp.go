package gateway

import (
	"net/http"
	"slices"
	"strings"
)

const policyHeader = "Content-Security-Policy"

// scriptPass is what a page's script element needs to be allowed to run.
type scriptPass struct {
	allowed   bool
	nonce     string
	integrity string
	// lines are the policies of the page as they must be for that; nil for as
	// they are.
	lines []string
}

// allowScript finds out how the policies of a page can let the script run, which
// lies at source, a host with a path, and has the hash. All policies of all lines
// hold at once. Policies that only report are left alone.
func allowScript(h http.Header, source, hash string) scriptPass {
	pass := scriptPass{allowed: true}
	changed := false
	for _, line := range h[policyHeader] {
		policies := strings.Split(line, ",")
		for i, policy := range policies {
			mended, ok := pass.allow(policy, source, hash)
			if !ok {
				return scriptPass{}
			}
			changed = changed || mended != policy
			policies[i] = mended
		}
		pass.lines = append(pass.lines, strings.Join(policies, ","))
	}
	if !changed {
		pass.lines = nil
	}
	return pass
}

// allow returns the policy with what the script needs.
func (p *scriptPass) allow(policy, source, hash string) (string, bool) {
	directives := strings.Split(policy, ";")
	at, name := governing(directives)
	if at < 0 {
		return policy, true
	}
	sources := strings.Fields(directives[at])[1:]
	nonce := nonceOf(sources)
	switch {
	case nonce != "" && (p.nonce == "" || p.nonce == nonce):
		p.nonce = nonce
		return policy, true
	case nonce != "" || contains(sources, "'strict-dynamic'"): // hosts do not count, or another policy's nonce does
		p.integrity = hash
		source = "'" + hash + "'"
	case contains(sources, "'self'") || contains(sources, "*"):
		return policy, true
	case source == "":
		return "", false
	}
	sources = slices.DeleteFunc(sources, func(s string) bool { return strings.EqualFold(s, "'none'") })
	directive := strings.Join(append([]string{name}, append(sources, source)...), " ")
	if name == "default-src" { // which is about more than scripts
		return strings.TrimRight(policy, "; ") + "; script-src" + strings.TrimPrefix(directive, name), true
	}
	space := directives[at][:len(directives[at])-len(strings.TrimLeft(directives[at], " \t"))]
	directives[at] = space + directive
	return strings.Join(directives, ";"), true
}

// governing returns the directive by which script elements are judged, and its
// name in small letters; -1 for none. The first of a name counts.
func governing(directives []string) (at int, name string) {
	for _, name := range []string{"script-src-elem", "script-src", "default-src"} {
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

// isNonce reports whether the text is what a nonce is made of.
func isNonce(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("+/=-_", c)
	})
}

func contains(sources []string, keyword string) bool {
	return slices.ContainsFunc(sources, func(s string) bool { return strings.EqualFold(s, keyword) })
}

// allowScript finds out how the page may have the guard script.
func (f *forms) allowScript(h http.Header, host string) scriptPass {
	return allowScript(h, scriptSource(host), f.script.hash)
}

// scriptSource is the script as a source in a policy: without a scheme, so that
// it means that of the page, whatever stands in front of the gateway. "" where a
// policy cannot name the host.
func scriptSource(host string) string {
	if host == "" || strings.ContainsFunc(host, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '.' && c != '-' && c != ':'
	}) {
		return ""
	}
	return host + scriptPath
}
