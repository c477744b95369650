// Package refusal answers a request with a refusal, as RFC 9457 has it, or as a small page. The
// middleware uses it, and so do parts of Semel that answer without one.
package refusal

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"strconv"
	"time"
)

const (
	// Type begins the type of every problem.
	Type = "urn:semel:problem:"
	// PolicyURL is the default of [Problem.PolicyURL].
	PolicyURL = "/.well-known/idempotency"
)

// Problem is a refusal.
type Problem struct {
	Name       string // the type is urn:semel:problem:NAME
	Title      string
	Detail     string // in plain words: what happened and what to do
	Page       string // the texts that a page shows instead, by their name in templates/texts.json; empty for Title and Detail
	Status     int
	Retryable  bool           // the same request with the same key can succeed
	RetryAfter time.Duration  // sent as Retry-After, in whole seconds, at least one; 0 for none
	Language   string         // of Title and Detail, such as sv; empty means English
	PolicyURL  string         // linked as describedby; empty means PolicyURL
	Extra      map[string]any // further members; those above win
}

// Write answers with the problem: as application/problem+json, or as a small page to a caller that prefers HTML. Nothing of it may
// be cached. A writer with a method NoteProblem(name string) receives the problem's name.
func Write(w http.ResponseWriter, r *http.Request, p Problem) {
	p.PolicyURL = cmp.Or(p.PolicyURL, PolicyURL)
	if writer, ok := w.(interface{ NoteProblem(name string) }); ok {
		writer.NoteProblem(p.Name)
	}
	h := w.Header()
	for _, name := range []string{"Content-Length", "Content-Encoding", "Etag", "Last-Modified"} {
		h.Del(name)
	}
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Link", PolicyLink(p.PolicyURL))
	h.Add("Vary", "Accept, Accept-Language")
	if p.RetryAfter > 0 {
		h.Set("Retry-After", strconv.FormatInt(p.retrySeconds(), 10))
	}
	stripe := forStripe(r)
	if stripe {
		h.Set("Stripe-Should-Retry", strconv.FormatBool(p.Retryable))
	}
	if PrefersHTML(r) {
		writeProblemPage(w, r, &p)
		return
	}
	if p.Language != "" {
		h.Set("Content-Language", p.Language)
	}
	h.Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_, _ = w.Write(p.json(stripe)) //nolint:gosec // JSON, and said to be; the client may have gone.
}

func (p *Problem) retrySeconds() int64 {
	return int64(max(time.Second, p.RetryAfter+time.Second-1) / time.Second)
}

// json returns the problem document; without Extra, where that holds what JSON
// cannot say.
func (p *Problem) json(stripe bool) []byte {
	members := map[string]any{}
	maps.Copy(members, p.Extra)
	maps.Copy(members, map[string]any{
		"type": Type + p.Name, "title": p.Title, "status": p.Status, "detail": p.Detail, "retryable": p.Retryable,
	})
	if stripe {
		members["error"] = p.stripeError()
	}
	body, err := json.Marshal(members)
	if err != nil && p.Extra != nil {
		return (&Problem{Name: p.Name, Title: p.Title, Detail: p.Detail, Status: p.Status, Retryable: p.Retryable}).json(stripe)
	}
	return body
}

// PolicyLink returns the value of the header Link that names the policy of an answer.
func PolicyLink(url string) string { return "<" + url + `>; rel="describedby"` }
