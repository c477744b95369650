package gateway

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"strings"
	"sync"

	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/internal/refusal"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/semelhttp"
)

//go:embed wellknown.html
var policyPage string

// publishedPolicy lists the promises to callers, for every route.
type publishedPolicy struct {
	Routes []publishedRoute `json:"routes"`
	// StatusURL answers a caller that asks for the outcome of a request.
	StatusURL string `json:"status_url"`
	// Default is about requests that no route matches.
	Default publishedRoute `json:"default"`
	// Unique are the uniqueness rules of the application's database, which the
	// gateway publishes and others enforce.
	Unique []rules.PublishedUnique `json:"unique,omitempty"`
}

// publishedRoute is one route.
type publishedRoute struct {
	Name    string   `json:"name"`
	Methods []string `json:"methods"`
	Host    string   `json:"host,omitempty"`
	Path    string   `json:"path"`
	// Conditions are met by the route's requests, all of them.
	Conditions []string        `json:"conditions,omitempty"`
	Protected  bool            `json:"protected"`
	Policy     *refusal.Policy `json:"policy,omitempty"`
	// ReleasedWhen lists further answers that mean that nothing happened.
	ReleasedWhen *publishedRelease `json:"released_when,omitempty"`
	// Form is the hidden field with the token of the route's forms.
	Form string `json:"form,omitempty"`
}

// publishedRelease is a rule's released_when.
type publishedRelease struct {
	Status   []int    `json:"status,omitempty"`
	Location []string `json:"location,omitempty"`
	Header   string   `json:"header,omitempty"`
	Pointer  string   `json:"json_pointer,omitempty"`
	Equals   []any    `json:"equals,omitempty"`
}

// newPolicyHandler publishes the policies of all routes, as JSON or, to who
// prefers it, as a page.
func (g *Gateway) newPolicyHandler() (http.Handler, error) {
	var all publishedPolicy
	all.Routes, all.StatusURL = []publishedRoute{}, statusPath
	for _, rt := range g.router.all {
		all.Routes = append(all.Routes, publish(rt))
	}
	all.Default = publish(g.router.fallback)
	file := g.config.Rules
	if file == nil {
		file = &rules.File{}
	}
	all.Unique = file.Published()
	document, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("gateway: publish the policy: %w", err)
	}
	pages := map[string][]byte{}
	for _, lang := range rules.Languages() {
		if pages[lang], err = renderPolicy(&all, file.PublishSection(lang)); err != nil {
			return nil, fmt.Errorf("gateway: publish the policy: %w", err)
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "max-age=300")
		h.Set("Vary", "Accept, Accept-Language")
		h.Set("X-Content-Type-Options", "nosniff")
		body := document
		h.Set("Content-Type", "application/json")
		if refusal.PrefersHTML(r) {
			body = pages[rules.Language(strings.Join(r.Header.Values("Accept-Language"), ","))]
			refusal.SetPageHeader(h, r, body)
		}
		_, _ = w.Write(body) // the caller may have gone
	}), nil
}

// policyOf returns what the middleware promises to callers.
func policyOf(m *semelhttp.Middleware) (policy refusal.Policy) {
	must.Succeed(json.Unmarshal(m.PublishedPolicy(), &policy), "a middleware publishes JSON")
	return policy
}

func publish(rt *route) publishedRoute {
	m := &rt.rule.Match
	out := publishedRoute{Name: rt.rule.Name, Methods: m.Methods, Host: m.Host, Path: m.Path, Conditions: shownConditions(&rt.rule), Protected: rt.middleware != nil}
	if rt.rule.Form != nil {
		out.Form = rt.rule.Form.Field
	}
	if rt.middleware != nil {
		policy := policyOf(rt.middleware)
		policy.ReplayAuthorised = rt.rule.Authorize != nil
		out.Policy = &policy
	}
	switch when := rt.rule.ReleasedWhen; {
	case when == nil || out.Policy == nil:
	case when.None:
		out.Policy.Statuses.SignIn = semelhttp.StoreOn5xx.String()
	default:
		out.ReleasedWhen = &publishedRelease{Status: when.Status, Location: when.Location, Header: when.Header, Pointer: when.Pointer, Equals: when.Equals}
	}
	return out
}

// policyTemplate parses the page, once per process.
var policyTemplate = sync.OnceValue(func() *template.Template { return must.Get(template.New("policy").Parse(policyPage)) }) //nolint:gochecknoglobals // it is never changed.

// renderPolicy writes the page, with the uniqueness rules as rules writes them.
func renderPolicy(all *publishedPolicy, unique template.HTML) ([]byte, error) {
	var out bytes.Buffer
	err := policyTemplate().Execute(&out, map[string]any{
		"Routes": all.Routes, "Default": all.Default, "Unique": unique, "StatusURL": all.StatusURL, "Header": semelhttp.StatusHeader,
	})
	return out.Bytes(), err
}

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
	rt := g.router.asked(about)
	if g.forms != nil && rt.rule.Form != nil {
		g.forms.CheckHeader(r, about, &rt.form)
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
