package gateway

import (
	"context"
	"net/http"

	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/semelhttp"
)

// status tells a caller what became of a request; see
// semelhttp.Middleware.StatusHandler. The question is answered by the route of
// the request that it is about.
func (g *Gateway) status(w http.ResponseWriter, r *http.Request) {
	if g.forms != nil {
		r = g.forms.withoutCookies(r)
	}
	about, err := semelhttp.AboutRequest(r)
	if err != nil {
		g.router.fallback.status.ServeHTTP(w, r) // it says what is wrong
		return
	}
	rt := g.router.find(about)
	if g.forms != nil && rt.rule.Form != nil {
		// One that is not good is a key that nobody used.
		_ = g.forms.checkHeader(r, formAttemptOf(r.Context()), &rt.rule, rt.formLifetime)
	}
	name, _, _ := semelhttp.FromHeader(keyHeader(&rt.rule)).Key(r, nil) // the status handler says what is wrong with it
	asked := &attempt{request: about, name: name}
	r = r.WithContext(context.WithValue(r.Context(), attemptKey{}, asked))
	switch {
	case rt.status == nil:
		semelhttp.WriteProblem(w, r, semelhttp.Problem{
			Name: "not-protected", Title: "Nothing is remembered of it", Status: http.StatusNotFound,
			Detail: "Requests to this path pass untouched; nobody knows what became of them.",
		})
	case rt.rule.Key.Derive != nil:
		semelhttp.WriteProblem(w, r, semelhttp.Problem{
			Name: "status-invalid", Title: "The question cannot be answered", Status: http.StatusBadRequest,
			Detail: "The key of this request is made of its content. Send the request again: it gets the first answer.",
		})
	default:
		rt.status.ServeHTTP(w, r)
	}
}

// keyHeader is the header in which a question about the route carries the key.
func keyHeader(rule *rules.Route) string {
	switch {
	case rule.Key.WebhookID:
		return "Webhook-Id"
	case rule.Key.Header != "":
		return rule.Key.Header
	}
	return semelhttp.DefaultHeader
}
