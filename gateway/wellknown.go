package gateway

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"strings"

	"github.com/semel-dev/semel/semelhttp"
)

//go:embed wellknown.html
var policyPage string

// publishedPolicy is what callers may rely on, for every route.
type publishedPolicy struct {
	Routes []publishedRoute `json:"routes"`
	// Default is about requests that no route matches.
	Default publishedRoute `json:"default"`
}

// publishedRoute is one route. Policy is the document of semelhttp.
type publishedRoute struct {
	Name      string          `json:"name"`
	Methods   []string        `json:"methods"`
	Host      string          `json:"host,omitempty"`
	Path      string          `json:"path"`
	Protected bool            `json:"protected"`
	Policy    json.RawMessage `json:"policy,omitempty"`
}

// newPolicyHandler publishes the policies of all routes, as JSON or, to who
// prefers it, as a page.
func (g *Gateway) newPolicyHandler() (http.Handler, error) {
	var all publishedPolicy
	all.Routes = []publishedRoute{}
	for _, rt := range g.router.all {
		all.Routes = append(all.Routes, publish(rt))
	}
	all.Default = publish(g.router.fallback)
	document, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("gateway: publish the policy: %w", err)
	}
	page, err := renderPolicy(&all)
	if err != nil {
		return nil, fmt.Errorf("gateway: publish the policy: %w", err)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "max-age=300")
		h.Set("Vary", "Accept")
		h.Set("X-Content-Type-Options", "nosniff")
		body := document
		h.Set("Content-Type", "application/json")
		if prefersPage(r.Header.Get("Accept")) {
			body = page
			h.Set("Content-Type", "text/html; charset=utf-8")
			h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
		}
		_, _ = w.Write(body) // the caller may have gone
	}), nil
}

func publish(rt *route) publishedRoute {
	m := &rt.rule.Match
	out := publishedRoute{Name: rt.rule.Name, Methods: m.Methods, Host: m.Host, Path: m.Path, Protected: rt.middleware != nil}
	if rt.middleware == nil {
		return out
	}
	var answer memoryWriter
	rt.middleware.PolicyHandler().ServeHTTP(&answer, &http.Request{Method: http.MethodGet, Header: http.Header{"Accept": {"application/json"}}})
	if json.Valid(answer.body.Bytes()) {
		out.Policy = answer.body.Bytes()
	}
	return out
}

// memoryWriter keeps an answer in memory.
type memoryWriter struct {
	header http.Header
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (w *memoryWriter) Header() http.Header {
	if w.header == nil {
		w.header = http.Header{}
	}
	return w.header
}

// Write implements http.ResponseWriter.
func (w *memoryWriter) Write(p []byte) (int, error) { return w.body.Write(p) }

// WriteHeader implements http.ResponseWriter.
func (w *memoryWriter) WriteHeader(int) {}

// prefersPage reports whether an Accept header names HTML before JSON.
func prefersPage(accept string) bool {
	page, data := strings.Index(accept, "text/html"), strings.Index(accept, "json")
	return page >= 0 && (data < 0 || page < data)
}

// renderPolicy writes the page.
func renderPolicy(all *publishedPolicy) ([]byte, error) {
	page, err := template.New("policy").Parse(policyPage)
	if err != nil {
		return nil, err
	}
	type row struct {
		publishedRoute
		Facts map[string]any
	}
	var rows []row
	for _, r := range append(all.Routes, all.Default) {
		facts := map[string]any{}
		if len(r.Policy) > 0 {
			if err := json.Unmarshal(r.Policy, &facts); err != nil {
				return nil, err
			}
		}
		delete(facts, "problems") // the same for all
		rows = append(rows, row{r, facts})
	}
	var out bytes.Buffer
	err = page.Execute(&out, map[string]any{"Rows": rows, "Header": semelhttp.StatusHeader})
	return out.Bytes(), err
}
