package semelhttp

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/must"
)

// IntentStatus is the answer of a [Middleware.StatusHandler].
type IntentStatus struct {
	// State is absent, in-flight, completed, unknown or cancelled.
	State string `json:"state"`
	// Advice says in one plain sentence what the caller should do next.
	Advice string `json:"advice"`
	// Attempt counts the executions that began; 0 for an absent intent.
	Attempt int `json:"attempt"`
	// Kept is false for a completed intent whose answer cannot be replayed.
	Kept bool `json:"kept"`
	// AgeSeconds counts from the start of the last attempt.
	AgeSeconds float64 `json:"age_seconds"`
	// ExpiresInSeconds is when the intent will be absent.
	ExpiresInSeconds float64 `json:"expires_in_seconds"`
}

// statusRate limits the questions per second that one scope may ask a
// [Middleware.StatusHandler]; twice as many at once.
const statusRate = 10

// statusScopes bounds the scopes whose questions are counted.
const statusScopes = 16384

// The parameters of a status request.
const (
	statusMethod = "method"
	statusPath   = "path"
)

// StatusHandler answers a caller who wants to know the outcome of a request
// without sending it again: GET with the caller's own credentials, the key in
// the header in which the request carried it, and the request's method and path
// as query parameters:
//
//	GET /.well-known/idempotency/status?method=POST&path=/orders
//	Idempotency-Key: "8e03978e"
//
// The scope is found as for the request itself, so a caller sees its own
// intents only; another's, and one that never was, are absent alike. Nothing of
// the recorded answer is revealed, because nothing shows that the caller knows the
// request (promise 6). The handler decides nothing and changes nothing. In
// transaction mode a request that runs is absent until it commits. Where there
// is an [Options.BeforeReplay], it is asked first, with the request that the
// question is about, and a nil record when there is none.
//
// Each scope may ask ten times a second; beyond that it gets 429. Mount
// the handler inside of what authenticates the caller. A middleware whose keys
// are not in a header of their own finds them in Idempotency-Key.
func (m *Middleware) StatusHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		about, err := AboutRequest(r)
		if err != nil {
			about = r
		}
		m.page(about).Allow(w.Header(), "Retry-After")
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			m.writeProblem(w, r, *m.statusProblem("method-not-allowed", http.StatusMethodNotAllowed, "Ask with GET", "Nothing was done."))
			return
		}
		about, key, problem := m.statusKey(r)
		if problem != nil {
			m.writeProblem(w, r, *problem)
			return
		}
		if wait, ok := m.statusLimit.Allow(key.Scope); !ok {
			p := m.statusProblem("quota-exceeded", http.StatusTooManyRequests, "Too many questions", "Wait before you ask again.")
			p.Retryable, p.RetryAfter = true, wait
			m.writeProblem(w, r, *p)
			return
		}
		rec, err := m.guard.Lookup(r.Context(), key)
		if err != nil && !errors.Is(err, semel.ErrNotFound) && !errors.Is(err, semel.ErrUnreadable) {
			p := m.statusProblem("store-unavailable", http.StatusServiceUnavailable, "Temporarily unavailable", "Wait a moment, then ask again.")
			p.Retryable, p.RetryAfter = true, time.Second
			m.writeProblem(w, r, *p)
			return
		}
		if m.mayAsk(w, r, about, &rec) {
			rec.Kept = rec.Kept && err == nil // what cannot be decrypted is not replayed
			m.writeStatus(w, statusOf(&rec))
		}
	})
}

func (m *Middleware) statusProblem(name string, status int, title, detail string) *Problem {
	return &Problem{Name: name, Page: "for-programs", Title: title, Status: status, Detail: detail, PolicyURL: m.set.PolicyURL}
}

// mayAsk asks Options.BeforeReplay, whatever there is to tell, and answers who
// may not be told.
func (m *Middleware) mayAsk(w http.ResponseWriter, r, about *http.Request, rec *semel.Record) bool {
	if rec.State == semel.StateAbsent {
		rec = nil
	}
	answer, err := m.denial(about, rec)
	switch {
	case err == nil:
		return true
	case answer == nil:
		p, _ := problemOf(err)
		p.PolicyURL = m.set.PolicyURL
		m.writeProblem(w, r, p)
	default:
		answer.ServeHTTP(w, r)
	}
	return false
}

// statusKey finds out which intent is meant.
func (m *Middleware) statusKey(r *http.Request) (*http.Request, semel.Key, *Problem) {
	bad := func(format string, args ...any) (*http.Request, semel.Key, *Problem) {
		return nil, semel.Key{}, m.statusProblem("status-invalid", http.StatusBadRequest, "The question is not complete", fmt.Sprintf(format, args...))
	}
	about, err := AboutRequest(r)
	if err != nil {
		return bad("%s", err)
	}
	source, ok := sourceAs[*headerSource](m.set.Key)
	if !ok {
		source = &headerSource{name: DefaultHeader}
	}
	name, found, err := source.Key(about, nil)
	switch {
	case err != nil:
		return bad("The key in the header %s is not valid.", source.name)
	case !found:
		return bad("Send the key in the header %s.", source.name)
	case !slices.Contains(m.set.Methods, about.Method):
		return bad("Requests with the method %s carry no keys here.", about.Method)
	}
	key := semel.Key{Name: name}
	if key.Scope, err = m.scope(about); err != nil || key.Validate() != nil {
		return bad("Send the credentials of the request you ask about.")
	}
	return about, key, nil
}

// AboutRequest returns the request that a status request asks about, as far as
// it is known: method, host, path and the header of the one who asks. Its error
// is a sentence for the caller.
func AboutRequest(r *http.Request) (*http.Request, error) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, errors.New("The query cannot be read.") //nolint:staticcheck // a sentence for the caller.
	}
	for name, values := range query {
		if (name != statusMethod && name != statusPath) || len(values) != 1 {
			return nil, errors.New("Ask with the parameters method and path, each once.") //nolint:staticcheck // as above.
		}
	}
	path := query.Get(statusPath)
	u, err := url.ParseRequestURI(path)
	if err != nil || !strings.HasPrefix(path, "/") || u.Host != "" {
		return nil, errors.New("Say with the parameter path which path the request went to, such as /orders.") //nolint:staticcheck // as above.
	}
	about := r.Clone(r.Context())
	about.Method = cmp.Or(query.Get(statusMethod), http.MethodPost)
	about.URL, about.RequestURI, about.Body = u, path, http.NoBody
	return about, nil
}

// statusOf says in the caller's words what the record is.
func statusOf(rec *semel.Record) IntentStatus {
	s := IntentStatus{
		Attempt: rec.Attempt, Kept: rec.Kept,
		AgeSeconds: rec.ReadAt.Sub(rec.ClaimedAt).Seconds(), ExpiresInSeconds: rec.RetentionLeft().Seconds(),
	}
	switch {
	case rec.State == semel.StateAbsent:
		s.State, s.Advice = "absent", "It was not done, or is forgotten by now. Send the request with its key."
	case rec.State == semel.StateClaimed && !rec.Lapsed():
		s.State, s.Advice = "in-flight", "It is being done. Ask again in a moment, or send the request again with the same key to get its answer."
	case rec.State == semel.StateCompleted && rec.Kept:
		s.State, s.Advice = "completed", "It was done. Send the request again with the same key to get its answer."
	case rec.State == semel.StateCompleted:
		s.State, s.Advice = "completed", "It was done, but the answer cannot be given again. Look the result up."
	case rec.State == semel.StateCancelled:
		s.State, s.Advice = "cancelled", "It was cancelled and will not be done. Use a new key if you want it after all."
	default:
		s.State, s.Advice = "unknown", "Its outcome is unknown. Look for the effect before you do anything; an operator can resolve the record."
	}
	return s
}

func (m *Middleware) writeStatus(w http.ResponseWriter, s IntentStatus) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h["Link"] = m.set.policyLink
	_, _ = w.Write(append(must.Get(json.Marshal(s)), '\n')) // the caller may have gone
}
