package gateway

import (
	"net/http"

	"github.com/semel-dev/semel/semelhttp"
)

// status tells a caller what became of a request; see
// semelhttp.Middleware.StatusHandler. The question is answered by the route of
// the request that it is about.
func (g *Gateway) status(w http.ResponseWriter, r *http.Request) {
	about, err := semelhttp.AboutRequest(r)
	if err != nil {
		g.router.fallback.status.ServeHTTP(w, r) // it says what is wrong
		return
	}
	rt := g.router.find(about)
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
