package check

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
)

// A proxy on the way that removes or replaces the header with the key makes a service that handles keys look like one that
// does not. Effects cannot tell the two apart, but the service's own words can.

var (
	// keyMissing and keyReused match the words of a refusal for a missing key, and for one that is known for another request.
	keyMissing = regexp.MustCompile(`(?i)\bkey\b[^.]{0,40}\b(missing|required|absent)\b|\b(missing|requires?|must (carry|have|include))\b[^.]{0,40}\bkey\b`)
	keyReused  = regexp.MustCompile(`(?i)\bkey\b[^.]{0,60}\b(re)?used\b`)
)

// onTheWay puts before a failure that a proxy may be its cause, if the answer to a request with a key says so.
func (p *probe) onTheWay(ctx context.Context, f finding, answer reply) finding {
	key := p.run.config.Key
	if f.verdict != Fail || key.In != keyInHeader || !answer.answered() {
		return f
	}
	text := plain(answer.Answer)
	text = text[:min(len(text), maxWordsBody)]
	refused := answer.in(http.StatusBadRequest, http.StatusConflict, http.StatusUnprocessableEntity, http.StatusPreconditionRequired)
	var why string
	switch {
	case refused && keyMissing.Match(text):
		why = "a proxy on the way may remove %s, since the service says that a request with it had no key"
	case refused && keyReused.Match(text):
		why = "a proxy on the way may replace %s by a key of its own, since the service says that it knows a key that is new"
	case answer.fine() && answer.Header.Get("Idempotency-Status") == "executed":
		why = "a proxy on the way may give each request another %s, since the service says of a repetition that it is a new intent"
	case answer.fine() && answer.Header.Get("Idempotency-Status") == "" && p.publishes(ctx, answer):
		why = "the service publishes what it does with keys, and did nothing: no rule of it takes this request, or a proxy on the way removes %s"
	default:
		return f
	}
	return f.after(fmt.Sprintf(why, key.Name) + " (to find out, check the service at its own address): ")
}

// publishes reports whether there is a policy about keys.
func (p *probe) publishes(ctx context.Context, by reply) bool {
	at := by.request.URL.ResolveReference(&url.URL{Path: wellKnown})
	answer, err := p.run.lookUp(ctx, pageFor(at, by.request))
	return err == nil && answer.Status == http.StatusOK && retentionText.Match(plain(answer))
}
