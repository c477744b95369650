package gateway

import (
	"io"
	"net/http"
	"net/url"

	"github.com/semel-dev/semel/gateway/internal/forms"
)

// formsView is the gateway as package forms sees it. It implements forms.Gateway.
type formsView struct{ g *Gateway }

func (v formsView) Find(host string, target *url.URL) *forms.Route {
	found := v.g.router.find(&http.Request{Method: http.MethodPost, Host: host, URL: target})
	if found == v.g.router.fallback {
		return nil
	}
	return &found.form
}

func (v formsView) Nearest(path string) string { return nearestPath(v.g.router.all, path) }

func (v formsView) FailBody(w http.ResponseWriter, r *http.Request, err error) {
	v.g.fail(w, r, &failure{class: failureCallerCancelled, err: err})
}

func (g *Gateway) formsConfig() *forms.Config {
	c := &forms.Config{
		Secrets: g.config.FormSecrets, MaxPageBytes: g.config.MaxPageBytes, Guard: g.guard, Log: g.log,
		Pages: g.metrics.pages, Tokens: g.metrics.formTokens, Notices: g.notices,
	}
	if g.config.Rules != nil {
		c.Rules = g.config.Rules.Routes
	}
	return c
}

// FormUnprotected is the State of a [PageForm] that no rule takes, or one without form.
const FormUnprotected = forms.Unprotected

// Readers of a page that a form's Reader names where nothing of the application's
// identifies them.
const (
	ReaderNone    = forms.ReaderNone
	ReaderVisitor = forms.ReaderVisitor
)

// PageForm is a form of a page, or a button of one that leads elsewhere than it.
type PageForm = forms.PageForm

// PageForms lists the forms of a page as the gateway would treat them. The request
// is the one that got the page, header and body are those of its answer, without
// content coding. Of a page that is longer than the config's MaxPageBytes it lists
// the forms that the gateway would see. The error says why the gateway passes a page
// on as it is, or that its forms cannot be read.
func (g *Gateway) PageForms(r *http.Request, header http.Header, body io.Reader) ([]PageForm, error) {
	r = r.Clone(r.Context())
	(&forwarding{trusted: g.config.TrustedProxies}).settle(r)
	return forms.Inspect(formsView{g}, g.formsConfig(), r, header, body)
}
