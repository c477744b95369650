package check

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/semel-dev/semel/check/wire"
)

// wellKnown is the path of a policy that nothing links to.
const wellKnown = "/.well-known/idempotency"

// retentionText matches a statement of how long keys are remembered: a word for it, and a number close by.
var retentionText = regexp.MustCompile(`(?i)(retention|retain|remember|expir|lifetime|time.to.live|\bttl|kept|keep)[^.!?]{0,80}\d|\d\s*(seconds|minutes|hours|days)[^.!?]{0,80}(retain|remember|expir|kept|keep)`)

// wantsPolicy requires a service that publishes something to those who choose keys.
func wantsPolicy(c *Config) string {
	return cmp.Or(unless(!c.Profile.Webhook, "the receiver of a webhook publishes nothing to its sender"), wantsKey(c))
}

// publishesPolicy provokes a refusal, and follows its link to the policy.
func publishesPolicy(ctx context.Context, p *probe, a attempt) finding {
	at := a.first.request.URL.ResolveReference(&url.URL{Path: wellKnown})
	if other, err := p.mutant(a.in); err == nil {
		if link := describedBy(p.send(ctx, "other body", other)); link != nil {
			at = a.first.request.URL.ResolveReference(link)
		}
	}
	switch {
	case at.Scheme != "http" && at.Scheme != "https":
		return failed("the link to the policy is %s", at)
	case !sameHost(at, a.first.request.URL): // requests to that host were not allowed
		return incomplete("the policy is at %s, on another host, which is not contacted", at)
	}
	at.Fragment = ""
	answer, err := p.run.lookUp(ctx, pageFor(at, a.first.request))
	switch {
	case err != nil:
		return incomplete("%s: %v", at, err)
	case answer.Status != http.StatusOK:
		return failed("no refusal links to a policy that can be read, and %s is %s", at, reply{Answer: answer})
	case !retentionText.Match(plain(answer)):
		return failed("%s does not say how long keys are remembered", at)
	}
	return passed()
}

// pageFor returns a request for a page of the same host, by the sender of the other request.
func pageFor(at *url.URL, by *wire.Request) *wire.Request {
	r := &wire.Request{Method: http.MethodGet, URL: at}
	r.Header = slices.Clone(by.Header)
	for _, name := range []string{"Content-Type", "Content-Encoding", "Content-Length"} {
		r.Del(name)
	}
	return r
}

// describedBy returns the target of an answer's link to its description; nil if there is none.
func describedBy(r reply) *url.URL {
	if !r.answered() {
		return nil
	}
	for _, line := range r.Header.Values("Link") {
		for link := range strings.SplitSeq(line, ",") {
			target, parameters, _ := strings.Cut(strings.TrimSpace(link), ">")
			if !strings.HasPrefix(target, "<") || !strings.Contains(strings.ToLower(parameters), "describedby") {
				continue
			}
			if at, err := url.Parse(target[1:]); err == nil {
				return at
			}
		}
	}
	return nil
}

// explained reports whether a refusal is a problem document (RFC 9457), or links
// to the policy.
func explained(r reply) bool {
	return strings.HasPrefix(strings.ToLower(r.Header.Get("Content-Type")), "application/problem+") || describedBy(r) != nil
}
