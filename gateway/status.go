package gateway

import (
	"context"
	"net/http"

	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/semelhttp"
)

// status answers a caller with the outcome of a request; see
// semelhttp.Middleware.StatusHandler. The question is answered by the route of
// the request that it is about.
func (g *Gateway) status(w http.ResponseWriter, r *http.Request) {
	if g.forms != nil {
		r = g.forms.WithoutCookies(r)
	}
	about, err := semelhttp.AboutRequest(r)
	if err != nil {
		g.router.fallback.status.ServeHTTP(w, r) // it says what is wrong
		return
	}
	rt := g.router.find(about)
	if g.forms != nil && rt.rule.Form != nil {
		g.forms.CheckHeader(r, &rt.form)
	}
	name, _, _ := semelhttp.FromHeader(keyHeader(&rt.rule)).Key(r, nil) // the status handler says what is wrong with it
	asked := &attempt{request: about, name: name}
	r = r.WithContext(context.WithValue(r.Context(), attemptKey{}, asked))
	switch {
	case rt.status == nil:
		semelhttp.WriteProblem(w, r, semelhttp.Problem{
			Name: "not-protected", Page: "for-programs", Title: "Nothing is remembered of it", Status: http.StatusNotFound,
			Detail: "Requests to this path pass untouched, and their outcomes are not recorded.",
		})
	case rt.rule.Key.Webhook != nil:
		semelhttp.WriteProblem(w, r, semelhttp.Problem{
			Name: "status-invalid", Page: "for-programs", Title: "The question cannot be answered", Status: http.StatusBadRequest,
			Detail: "The outcome of a webhook is for its sender. Deliver it again: it gets the first answer.",
		})
	case rt.rule.Key.Derive != nil && len(r.Header[semelhttp.DefaultHeader]) == 0:
		semelhttp.WriteProblem(w, r, semelhttp.Problem{
			Name: "status-invalid", Page: "for-programs", Title: "The question cannot be answered", Status: http.StatusBadRequest,
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
