package forms

import (
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/gateway/internal/scope"
	"github.com/semel-dev/semel/internal/formguard"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/semelhttp"
)

// keyPrefix begins the name of a form's intent.
const keyPrefix = "form:"

// tokenKey is a semelhttp.KeySource: it takes the token in a form's body for the
// key. A request without one has none.
type tokenKey struct {
	forms    *Forms
	rule     *rules.Route
	lifetime time.Duration
}

// String implements semelhttp.KeySource.
func (s *tokenKey) String() string { return "form field " + s.rule.Form.Field }

// Key implements semelhttp.KeySource.
func (s *tokenKey) Key(r *http.Request, body *semelhttp.Body) (string, bool, error) {
	a := attemptOf(r.Context())
	switch {
	case a == nil:
		return "", false, nil
	case a.restored != "":
		return a.restored, true, nil
	}
	if formguard.CheckType(r.Header) != nil {
		a.ambiguous = true
		return "", false, nil //nolint:nilerr // Forms.Handler answers it.
	}
	contentType := formguard.FormType(r.Header)
	if contentType == "" && a.query == "" {
		return "", false, s.forms.checkHeader(r, a, s.rule, s.lifetime)
	}
	result, err := s.scan(r, body, contentType, a)
	if errors.Is(err, formguard.ErrAmbiguous) {
		a.ambiguous = true
		return "", false, nil // Forms.Handler answers it
	}
	if err != nil {
		return "", false, err
	}
	if !result.Found || result.Password && !s.rule.Form.Passwords {
		return "", false, s.forms.checkHeader(r, a, s.rule, s.lifetime)
	}
	minter, err := s.forms.verifier(r, a, s.rule)
	if err != nil {
		return "", false, err
	}
	token, principal, err := s.forms.verify(r, a, minter, result.Tokens, s.rule, s.lifetime)
	if err != nil {
		s.forms.count(s.rule.Name, "stale")
		s.forms.config.Log.LogAttrs(r.Context(), slog.LevelInfo, "form refused",
			slog.String("route", s.rule.Name), slog.Int("tokens", len(result.Tokens)), slog.String("error", err.Error()))
		a.refused = result.Tokens
		return "", false, err
	}
	s.forms.count(s.rule.Name, "verified")
	s.forms.compare(r.Context(), s.rule.Name, token.Name(), result.Outline)
	a.token, a.principal = token, principal
	a.name = keyPrefix + token.Name() + ":" + base64.RawURLEncoding.EncodeToString(result.Digest[:])
	return a.name, true, nil
}

// scan reads the form, and notes how long it is without its tokens.
func (s *tokenKey) scan(r *http.Request, body *semelhttp.Body, contentType string, a *attempt) (formguard.Result, error) {
	from, err := body.Open()
	if err != nil {
		return formguard.Result{}, err
	}
	query := r.URL.RawQuery
	if a.query != "" {
		query = a.query
		for _, field := range s.forms.fields {
			if field != s.rule.Form.Field {
				query = formguard.StripQuery(query, field)
			}
		}
	}
	result, err := formguard.Scan(from, contentType, query, &formguard.BodyOptions{
		Field: s.rule.Form.Field, Ignore: s.rule.Form.Ignore, Seed: &s.forms.drafts.seed,
	})
	if err != nil {
		return formguard.Result{}, err
	}
	length := result.Length
	if len(s.forms.fields) > 1 { // another rule's field may be in it too
		if from, err = body.Open(); err == nil {
			length, err = countBytes(s.forms.stripped(from, contentType))
		}
		if err != nil {
			return formguard.Result{}, err
		}
	}
	whole, err := body.Len()
	a.looked, a.tokens, a.length = true, length != whole, length
	return result, err
}

// verifier returns the verifier of tokens. Without it the gateway cannot know whether
// the form was carried out before, so the error is that of a store that cannot be
// reached (promise 10).
func (f *Forms) verifier(r *http.Request, a *attempt, rule *rules.Route) (*formguard.Minter, error) {
	minter, err := f.secrets.minter(r.Context())
	if err == nil {
		return minter, nil
	}
	f.count(rule.Name, "unverifiable")
	a.unverified = true
	return nil, fmt.Errorf("form secret: %w", err)
}

// verify returns the first token issued for this route to an identity of this
// request, and that identity.
func (f *Forms) verify(r *http.Request, a *attempt, minter *formguard.Minter, tokens []string, rule *rules.Route, lifetime time.Duration) (formguard.Token, string, error) {
	if len(rule.Scope) == 0 {
		f.config.Notices.AboutSessions(rule.Name, r)
	}
	target := r
	if a.about != nil {
		target = a.about
	}
	label, _ := f.gateway.Find(target.Host, target.URL)
	stale := formguard.ErrForeign
	for _, text := range tokens {
		principals := identities(r, a.visitor, rule.Scope)
		if len(principals) == 0 {
			principals = f.guests(r, a, rule, minter, text)
			a.guest = len(principals) > 0
		}
		token, by, err := minter.Verify(text, label, lifetime, principals...)
		if err == nil {
			return token, principals[by], nil
		}
		if errors.Is(err, formguard.ErrExpired) {
			stale = err
		}
	}
	return formguard.Token{}, "", fmt.Errorf("%w: %w", semelhttp.ErrFormStale, stale)
}

// CheckHeader is checkHeader for a question about a request, which passed
// [Forms.WithoutCookies]. A token that is not valid is a key that was never used.
func (f *Forms) CheckHeader(r, about *http.Request, rt *Route) {
	a := attemptOf(r.Context())
	a.about = about
	_ = f.checkHeader(r, a, rt.Rule, rt.Lifetime)
}

// checkHeader verifies a token in the header that holds the rule's keys; it is
// then an ordinary key, in the scope of whom it was made for.
func (f *Forms) checkHeader(r *http.Request, a *attempt, rule *rules.Route, lifetime time.Duration) error {
	header := rule.Key.Header
	if rule.Key.Derive != nil {
		header = semelhttp.DefaultHeader
	}
	if header == "" {
		return nil
	}
	name, found, err := semelhttp.FromHeader(header).Key(r, nil)
	if err != nil || !found || !formguard.LooksLike(name) {
		return nil //nolint:nilerr // the rule's own source says what is wrong.
	}
	minter, err := f.verifier(r, a, rule)
	if err != nil {
		return err
	}
	_, a.principal, err = f.verify(r, a, minter, []string{name}, rule, lifetime)
	if err != nil {
		f.count(rule.Name, "stale")
		return fmt.Errorf("%w: it is a form token that is not valid here, or not any more", semel.ErrKeyInvalid)
	}
	f.count(rule.Name, "verified")
	return nil
}

// Proven reports whether the request has a valid token, which says whose it is.
func Proven(r *http.Request) bool {
	a := attemptOf(r.Context())
	return a != nil && a.principal != ""
}

// Scope is the scope of the token where a request has one, and otherwise that of next.
func Scope(next semelhttp.ScopeFunc) semelhttp.ScopeFunc {
	return func(r *http.Request) (string, error) {
		if a := attemptOf(r.Context()); a != nil && a.principal != "" {
			return scope.For(r, a.principal)
		}
		return next(r)
	}
}

// fingerprint is that of forms with a token: their key says already what
// counts, and what it leaves out must not make a mismatch.
func fingerprint(*http.Request, *semelhttp.Body) (semel.Fingerprint, error) {
	return semel.FingerprintOf("form"), nil
}
