package semelhttp

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/internal/refusal"
	"github.com/semel-dev/semel/outcomelog"
)

//go:embed templates
var templates embed.FS

// PublishedPolicy states what callers may rely on, as [Middleware.PolicyHandler]
// publishes it.
type PublishedPolicy struct {
	Key              string             `json:"key"`              // where the key is found, in words
	Header           string             `json:"header,omitempty"` // the header with the key, if it is one
	Required         bool               `json:"required"`
	MaxKeyBytes      int                `json:"max_key_bytes"`
	Methods          []string           `json:"methods"`
	Scope            string             `json:"scope"`
	Mode             string             `json:"mode"` // idempotent or dedup
	RetentionSeconds int64              `json:"retention_seconds"`
	WaitSeconds      float64            `json:"wait_seconds"`
	LeaseSeconds     float64            `json:"lease_seconds"`
	MaxBodyBytes     int64              `json:"max_body_bytes"`
	MaxResponseBytes int                `json:"max_response_bytes"`
	ReplayAuthorised bool               `json:"replay_authorised"` // the caller's right is checked again before a repetition is answered
	Statuses         PublishedStatuses  `json:"statuses"`
	Problems         []PublishedProblem `json:"problems"`
}

// Retention says in words how long answers are kept.
func (p *PublishedPolicy) Retention() string {
	return spanText(time.Duration(p.RetentionSeconds) * time.Second)
}

// Wait says in words how long a repetition waits for a running request.
func (p *PublishedPolicy) Wait() string {
	return spanText(time.Duration(p.WaitSeconds * float64(time.Second)))
}

// MaxBody says in words how long a request body may be.
func (p *PublishedPolicy) MaxBody() string { return sizeText(p.MaxBodyBytes) }

// MaxResponse says in words how long an answer is kept at most.
func (p *PublishedPolicy) MaxResponse() string { return sizeText(int64(p.MaxResponseBytes)) }

// spanText writes a span of time in the largest unit that needs no fraction.
func spanText(d time.Duration) string {
	for _, unit := range []struct {
		length time.Duration
		name   string
	}{{time.Hour, "hours"}, {time.Minute, "minutes"}, {time.Second, "seconds"}} {
		if d >= unit.length && d%unit.length == 0 {
			return fmt.Sprintf("%d %s", d/unit.length, unit.name)
		}
	}
	return fmt.Sprintf("%g seconds", d.Seconds())
}

// sizeText writes a size in the largest unit that needs no fraction.
func sizeText(n int64) string {
	for _, unit := range []struct {
		size int64
		name string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if n >= unit.size && n%unit.size == 0 {
			return fmt.Sprintf("%d %s", n/unit.size, unit.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}

// PublishedStatuses says what happens with the answers of the service.
type PublishedStatuses struct {
	Released     []int  `json:"released"`
	SignIn       string `json:"sign_in_redirects"` // released or stored
	Unknown      []int  `json:"unknown,omitempty"` // server errors that leave the outcome unknown while others are released; so does every status above 599
	ServerErrors string `json:"server_errors"`
	Others       string `json:"others"`
}

// PublishedProblem is one refusal that callers can meet.
type PublishedProblem struct {
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
	document := m.PublishedPolicy()
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
		if refusal.PrefersHTML(r) {
			refusal.WritePage(w, r, http.StatusOK, refusal.DefaultLanguage, templates, "templates/policy.html", &document)
			return
		}
		h.Set("Content-Type", "application/json")
		_, _ = w.Write(body) // the client may have gone
	})
}

// PublishedPolicy returns what PolicyHandler publishes, for a service that publishes
// several policies together.
func (m *Middleware) PublishedPolicy() PublishedPolicy {
	policy, s := m.guard.Policy(), &m.set
	d := PublishedPolicy{
		Key: s.Key.String(), Required: s.Required, MaxKeyBytes: semel.MaxKeyBytes, Methods: s.Methods, Scope: s.ScopeText,
		Mode:             "idempotent",
		RetentionSeconds: int64(policy.Retention.Seconds()),
		WaitSeconds:      max(0, policy.Wait.Seconds()),
		LeaseSeconds:     policy.Lease.Seconds(),
		MaxBodyBytes:     s.MaxBodyBytes,
		MaxResponseBytes: s.MaxResponseBytes,
		Statuses:         PublishedStatuses{SignIn: ReleaseOn5xx.String(), ServerErrors: s.On5xx.String(), Others: "stored"},
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
			d.Problems = append(d.Problems, PublishedProblem{refusal.Type + row.name, row.title, status, retryable})
		}
	}
	if refusing, ok := sourceAs[interface {
		KeySource
		Refusals() []Problem
	}](s.Key); ok {
		for _, p := range refusing.Refusals() {
			d.Problems = append(d.Problems, PublishedProblem{refusal.Type + p.Name, p.Title, p.Status, p.Retryable})
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
