package semelhttp

import (
	"embed"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/internal/refusal"
	"github.com/semel-dev/semel/outcomelog"
)

//go:embed templates
var templates embed.FS

// PolicyHandler publishes what callers may rely on, as the draft demands: the
// key, its scope, the retention, and every refusal. It answers GET and HEAD, as
// JSON, or as a page to a caller that prefers HTML. Mount it at
// Options.PolicyURL.
func (m *Middleware) PolicyHandler() http.Handler {
	document, body := m.published(), m.PublishedPolicy()
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
		if refusal.PrefersHTML(r) {
			refusal.WritePage(w, r, http.StatusOK, refusal.DefaultLanguage, templates, "templates/policy.html", &document)
			return
		}
		h.Set("Content-Type", "application/json")
		_, _ = w.Write(body) // the client may have gone
	})
}

// PublishedPolicy returns what PolicyHandler publishes, as JSON, for a service that publishes
// several policies together.
func (m *Middleware) PublishedPolicy() []byte { return must.Get(json.Marshal(m.published())) }

func (m *Middleware) published() refusal.Policy {
	policy, s := m.guard.Policy(), &m.set
	d := refusal.Policy{
		Key: s.Key.String(), Required: s.Required, MaxKeyBytes: semel.MaxKeyBytes, Methods: s.Methods, Scope: s.ScopeText,
		Mode:             "idempotent",
		RetentionSeconds: int64(policy.Retention.Seconds()),
		WaitSeconds:      max(0, policy.Wait.Seconds()),
		LeaseSeconds:     policy.Lease.Seconds(),
		MaxBodyBytes:     s.MaxBodyBytes,
		MaxResponseBytes: s.MaxResponseBytes,
		Statuses:         refusal.PolicyStatuses{SignIn: ReleaseOn5xx.String(), ServerErrors: s.On5xx.String(), Others: "stored"},
	}
	if policy.Dedup {
		d.Mode = "dedup"
	}
	d.Header, d.ReplayAuthorised = s.keyHeader, s.BeforeReplay != nil
	for status := range maxDefinedStatus + 1 {
		switch {
		case releases(status):
			d.Statuses.Released = append(d.Statuses.Released, status)
		case lostAnswer(status, nil) && s.On5xx == ReleaseOn5xx && s.Transactor == nil:
			d.Statuses.Unknown = append(d.Statuses.Unknown, status)
		}
	}
	listed := map[string]bool{}
	for _, row := range problems() {
		if !listed[row.name] {
			listed[row.name] = true
			status, retryable := row.status, row.retryable || (errors.Is(row.err, semel.ErrUnknown) && policy.OnUnknown == semel.Reconcile)
			if row.outcome == outcomelog.InFlight {
				status = s.InFlightStatus
			}
			d.Problems = append(d.Problems, refusal.PolicyProblem{Type: refusal.Type + row.name, Title: row.title, Status: status, Retryable: retryable})
		}
	}
	if refusing, ok := sourceAs[interface {
		KeySource
		Refusals() []Problem
	}](s.Key); ok {
		for _, p := range refusing.Refusals() {
			d.Problems = append(d.Problems, refusal.PolicyProblem{Type: refusal.Type + p.Name, Title: p.Title, Status: p.Status, Retryable: p.Retryable})
		}
	}
	return d
}

// String returns the word that the published policy uses.
func (d On5xx) String() string {
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
