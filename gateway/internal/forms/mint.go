package forms

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/formguard"
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
	label := ""
	target, err := url.ParseRequestURI(r.URL.Query().Get("for"))
	if err == nil && strings.HasPrefix(target.Path, "/") && target.Host == "" {
		label, rt = f.leadsTo(r.Host, target)
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
		w.Header().Add("Set-Cookie", visitorLine(p.fresh, secure(p.request)))
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	answer := must.Get(json.Marshal(newToken{
		Token: string(p.pressOf(minter, label, principal).Append(nil)), Field: rt.Rule.Form.Field,
		ExpiresInMS: rt.Lifetime.Milliseconds(), Route: rt.Rule.Name,
	}))
	_, _ = w.Write(append(answer, '\n')) // the caller may have gone
}

const (
	secretScope = "semel:gateway"
	secretName  = "form secret"
	secretBytes = 32
	// secretRetention is the lifetime of a shared secret.
	secretRetention = 10 * 365 * 24 * time.Hour
	// secretPatience bounds how long a page or a form waits for the secret, and
	// secretPause how soon the store is asked again when it did not answer.
	secretPatience = 2 * time.Second
	secretPause    = time.Second
)

// secrets hold the keys of the tokens: the configured ones, or one that all gateways of
// a store share and the first of them creates.
type secrets struct {
	guard *semel.Guard
	log   *slog.Logger
	ready atomic.Pointer[formguard.Minter]

	mu    sync.Mutex // guards the fields below, and lets one ask at a time
	next  time.Time  // when the store may be asked again
	cause error      // why it did not answer
}

func (s *secrets) configure(c *Config) error {
	s.log = c.Log
	if len(c.Secrets) > 0 {
		minter, err := formguard.NewMinter(c.Secrets, nil)
		if err != nil {
			return fmt.Errorf("gateway: form secrets: %w", err)
		}
		s.ready.Store(minter)
		return nil
	}
	policy := c.Guard.Policy()
	policy.Retention, policy.UnknownRetention = secretRetention, secretRetention
	policy.Dedup, policy.OnUnknown, policy.Reconcile = false, semel.Rerun, nil
	policy.Wait = secretPatience
	var err error
	s.guard, err = c.Guard.With(policy)
	if err != nil {
		return fmt.Errorf("gateway: form secret: %w", err)
	}
	return nil
}

// minter returns what makes and verifies tokens. It asks the store the first
// time; while that does not answer, it says so at once.
func (s *secrets) minter(ctx context.Context) (*formguard.Minter, error) {
	if m := s.ready.Load(); m != nil {
		return m, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.ready.Load(); m != nil {
		return m, nil
	}
	if time.Now().Before(s.next) {
		return nil, s.cause
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), secretPatience)
	defer cancel()
	secret, err := s.shared(ctx)
	if err == nil {
		var m *formguard.Minter
		if m, err = formguard.NewMinter([][]byte{secret}, nil); err == nil {
			s.ready.Store(m)
			return m, nil
		}
	}
	err = withoutSecret(err)
	s.next, s.cause = time.Now().Add(secretPause), err
	s.log.LogAttrs(ctx, slog.LevelWarn, "no form secret: pages pass without tokens", slog.String("error", err.Error()))
	return nil, err
}

// withoutSecret returns the cause of a missing secret as an error of the store:
// unchanged if the store could not be reached, and otherwise as one for which no route
// fails open, because the store answered.
func withoutSecret(err error) error {
	e, ok := errors.AsType[*semel.Error](err)
	switch {
	case ok && errors.Is(err, semel.ErrUnavailable):
		return &semel.Error{Op: "form secret", Digest: e.Digest, RetryAfter: e.RetryAfter, Err: e.Err}
	case errors.Is(err, context.DeadlineExceeded): // it did not answer in time
		return &semel.Error{Op: "form secret", Err: fmt.Errorf("%w: %w", semel.ErrUnavailable, err)}
	}
	return fmt.Errorf("%w: %v", semel.ErrUnavailable, err) //nolint:errorlint // the guard's other errors are not about the caller's request.
}

// shared returns the secret in the store, and creates it if it is absent.
func (s *secrets) shared(ctx context.Context) ([]byte, error) {
	key := semel.Key{Scope: secretScope, Name: secretName}
	claim, rec, err := s.guard.Begin(ctx, key, semel.FingerprintOf(secretName))
	switch {
	case err != nil:
		return nil, err
	case rec != nil && len(rec.Outcome) == secretBytes:
		return rec.Outcome, nil
	case rec != nil:
		return nil, errors.New("the record of the form secret holds something else")
	}
	secret := make([]byte, secretBytes)
	_, _ = rand.Read(secret)                            // it does not return errors
	if err := claim.Complete(secret, nil); err != nil { //nolint:contextcheck // the claim has its own.
		return nil, err
	}
	return secret, nil
}

// maxDrafts bounds the drafts that are remembered: twice as many, with half a KiB each at most.
const maxDrafts = 2048

// drafts remembers how forms looked when they were sent last, by token, until many
// others have come. It serves the log alone: what is one intent, the keys say.
type drafts struct {
	seed maphash.Seed
	told seenOnce // by route and field

	mu         sync.Mutex // guards the fields below
	young, old map[string][]uint64
}

// swap remembers a form, and returns what it looked like before; nil where it was not sent, or
// that is forgotten.
func (d *drafts) swap(token string, sums []uint64) (before []uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	before, known := d.young[token]
	if !known {
		before = d.old[token]
	}
	if len(d.young) >= maxDrafts && !known {
		d.young, d.old = nil, d.young
	}
	if d.young == nil {
		d.young = map[string][]uint64{}
	}
	d.young[token] = sums
	return before
}

// compare logs, once for a route and field, that a form differs in this field alone from the
// one that was sent with its token before: a person has edited it, or the page has.
func (f *Forms) compare(ctx context.Context, route, token string, outline *formguard.Outline) {
	field, differs := outline.Differs(f.drafts.swap(token, outline.Sums))
	if !differs {
		return
	}
	if first, _ := f.drafts.told.first(route + " " + field); first {
		f.config.Log.LogAttrs(ctx, slog.LevelInfo, "a form was sent again with another value of one field, and counts as new (if people do not write the field, list it under ignore in the rule's form)",
			slog.String("route", route), slog.String("field", field))
	}
}
