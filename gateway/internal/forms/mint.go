package forms

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/semelhttp"
)

// newTokenPath gives scripts a token for a form that no page brought.
const newTokenPath = Path + "new"

// newToken is its answer.
type newToken struct {
	Token       string `json:"token"`
	Field       string `json:"field"`
	ExpiresInMS int64  `json:"expires_in_ms"`
	Route       string `json:"route"`
}

// serveNew answers GET /.well-known/semel/new?for=/path with a token for a POST to
// that path.
func (f *Forms) serveNew(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	if r.Method != http.MethodGet {
		w.Header().Set("Allow", "GET")
		semelhttp.WriteProblem(w, r, semelhttp.Problem{
			Name: "method-not-allowed", Page: "for-programs", Title: "Ask with GET", Status: http.StatusMethodNotAllowed, Detail: "Nothing was done.",
		})
		return
	}
	var rt *Route
	target, err := url.ParseRequestURI(r.URL.Query().Get("for"))
	if err == nil && strings.HasPrefix(target.Path, "/") && target.Host == "" {
		rt = f.leadsTo(r.Host, &url.URL{Path: target.Path, RawPath: target.RawPath})
	}
	if rt == nil {
		semelhttp.WriteProblem(w, r, semelhttp.Problem{
			Name: "not-protected", Page: "for-programs", Title: "No form leads there", Status: http.StatusNotFound,
			Detail: "Say with the parameter for which path the form is sent to, such as ?for=/orders. Only paths with form protection have tokens.",
		})
		return
	}
	minter, err := f.secrets.minter(r.Context())
	if err != nil {
		semelhttp.WriteProblem(w, r, semelhttp.Problem{
			Name: "store-unavailable", Page: "for-programs", Title: "Temporarily unavailable", Status: http.StatusServiceUnavailable,
			Detail: "Wait a moment, then ask again.", Retryable: true, RetryAfter: retryAfter,
		})
		return
	}
	own := r.WithContext(r.Context())
	var cookies ownCookies
	own.Header, cookies = takeCookies(r.Header, secure(r))
	p := &pageWriter{ResponseWriter: w, forms: f, request: own, reader: reader{request: own, ownCookies: cookies, set: http.Header{}}}
	principal := p.principal(rt.Rule) //nolint:contextcheck // the request brings its context.
	if principal == "" {
		semelhttp.WriteProblem(w, r, semelhttp.Problem{
			Name: "key-invalid", Page: "for-programs", Title: "The token would have no owner", Status: http.StatusBadRequest,
			Detail: "Send the credentials that the form will be sent with.",
		})
		return
	}
	if p.fresh != "" {
		w.Header().Add("Set-Cookie", visitorLine(p.fresh, p.secure()))
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	answer := must.Get(json.Marshal(newToken{
		Token: string(p.pressOf(minter, rt.Rule.Name, principal).Append(nil)), Field: rt.Rule.Form.Field,
		ExpiresInMS: rt.Lifetime.Milliseconds(), Route: rt.Rule.Name,
	}))
	_, _ = w.Write(append(answer, '\n')) // the caller may have gone
}
