package semelhttp

import (
	"encoding/json"
	"net/http"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/must"
)

// policyDocument is the published policy.
type policyDocument struct {
	Key              string          `json:"key"`
	Header           string          `json:"header,omitempty"`
	Required         bool            `json:"required"`
	MaxKeyBytes      int             `json:"max_key_bytes"`
	Methods          []string        `json:"methods"`
	Scope            string          `json:"scope"`
	Mode             string          `json:"mode"`
	RetentionSeconds int64           `json:"retention_seconds"`
	WaitSeconds      float64         `json:"wait_seconds"`
	LeaseSeconds     float64         `json:"lease_seconds"`
	MaxBodyBytes     int64           `json:"max_body_bytes"`
	MaxResponseBytes int             `json:"max_response_bytes"`
	Statuses         policyStatuses  `json:"statuses"`
	Problems         []policyProblem `json:"problems"`
}

// policyStatuses says what happens with the answers of the service.
type policyStatuses struct {
	Released     []int  `json:"released"`
	ServerErrors string `json:"server_errors"`
	Others       string `json:"others"`
}

// policyProblem is one refusal that callers can meet.
type policyProblem struct {
	Type      string `json:"type"`
	Title     string `json:"title"`
	Status    int    `json:"status"`
	Retryable bool   `json:"retryable"`
}

// PolicyHandler publishes what callers may rely on, as the draft demands: the
// key, its scope, the retention, and every refusal. It answers GET and HEAD, as
// JSON, or as a page to a caller that prefers HTML. Mount it at
// Options.PolicyURL.
func (m *Middleware) PolicyHandler() http.Handler {
	document := m.document()
	body := must.Get(json.Marshal(document))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			h.Set("Allow", "GET, HEAD")
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		h.Set("Cache-Control", "public, max-age=3600")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Add("Vary", "Accept")
		if prefersHTML(r) {
			writePage(w, http.StatusOK, defaultLanguage, "templates/policy.html", document)
			return
		}
		h.Set("Content-Type", "application/json")
		_, _ = w.Write(body) // the client may have gone
	})
}

func (m *Middleware) document() policyDocument {
	policy, s := m.guard.Policy(), &m.set
	d := policyDocument{
		Key: s.Key.String(), Required: s.Required, MaxKeyBytes: semel.MaxKeyBytes, Methods: s.Methods, Scope: s.ScopeText,
		Mode:             "idempotent",
		RetentionSeconds: int64(policy.Retention.Seconds()),
		WaitSeconds:      max(0, policy.Wait.Seconds()),
		LeaseSeconds:     policy.Lease.Seconds(),
		MaxBodyBytes:     s.MaxBodyBytes,
		MaxResponseBytes: s.MaxResponseBytes,
		Statuses:         policyStatuses{ServerErrors: s.On5xx.String(), Others: "stored"},
	}
	if policy.Mode == semel.Dedup {
		d.Mode = "dedup"
	}
	if s.source != nil {
		d.Header = s.source.name
	}
	for status := range 500 {
		if releases(status) {
			d.Statuses.Released = append(d.Statuses.Released, status)
		}
	}
	listed := map[string]bool{}
	for _, row := range problems() {
		if !listed[row.name] {
			listed[row.name] = true
			d.Problems = append(d.Problems, policyProblem{problemType + row.name, row.title, row.status, row.retryable})
		}
	}
	return d
}

// String returns the word that the published policy uses.
func (d Disposition) String() string {
	switch d {
	case ReleaseOn5xx:
		return "released"
	case StoreOn5xx:
		return "stored"
	case UnknownOn5xx:
		return "unknown"
	}
	return "invalid"
}
