package gateway

import (
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/formguard"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/semelhttp"
)

// formPrefix is what the name of a form's intent starts with.
const formPrefix = "form:"

// formKey is a semelhttp.KeySource: it takes the token in a form's body for the
// key. A request without one has none.
type formKey struct {
	forms    *forms
	rule     *rules.Route
	lifetime time.Duration
}

// String implements semelhttp.KeySource.
func (s *formKey) String() string { return "form field " + s.rule.Form.Field }

// Key implements semelhttp.KeySource.
func (s *formKey) Key(r *http.Request, body *semelhttp.Body) (string, bool, error) {
	a := formAttemptOf(r.Context())
	switch {
	case a == nil:
		return "", false, nil
	case a.restored != "":
		return a.restored, true, nil
	}
	if formguard.CheckType(r.Header) != nil {
		a.ambiguous = true
		return "", false, nil //nolint:nilerr // formRoute answers it.
	}
	contentType := formguard.FormType(r.Header)
	if contentType == "" && a.query == "" {
		return "", false, s.forms.checkHeader(r, a, s.rule, s.lifetime)
	}
	result, err := s.scan(r, body, contentType, a)
	if errors.Is(err, formguard.ErrAmbiguous) {
		a.ambiguous = true
		return "", false, nil // formRoute answers it
	}
	if err != nil {
		return "", false, err
	}
	if !result.Found {
		return "", false, s.forms.checkHeader(r, a, s.rule, s.lifetime)
	}
	minter, err := s.forms.verifier(r, a, s.rule)
	if err != nil {
		return "", false, err
	}
	token, who, err := verify(minter, result.Tokens, s.rule, s.lifetime, identities(r, a.visitor, s.rule.Scope))
	if err != nil {
		s.forms.count(s.rule.Name, "stale")
		s.forms.gateway.log.LogAttrs(r.Context(), slog.LevelInfo, "form refused",
			slog.String("route", s.rule.Name), slog.Int("tokens", len(result.Tokens)), slog.String("error", err.Error()))
		a.refused = result.Tokens
		return "", false, err
	}
	s.forms.count(s.rule.Name, "verified")
	a.token, a.who = token, who
	a.name = formPrefix + token.Name() + ":" + base64.RawURLEncoding.EncodeToString(result.Digest[:])
	return a.name, true, nil
}

// scan reads the form, and notes how long it is without its tokens.
func (s *formKey) scan(r *http.Request, body *semelhttp.Body, contentType string, a *formAttempt) (formguard.Result, error) {
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
	result, err := formguard.Scan(from, contentType, query, &formguard.BodyOptions{Field: s.rule.Form.Field, Ignore: s.rule.Form.Ignore})
	if err != nil {
		return formguard.Result{}, err
	}
	length := result.Length
	if len(s.forms.fields) > 1 { // another rule's field may be in it too
		if from, err = body.Open(); err == nil {
			length, err = countBytes(s.forms.strip(from, contentType))
		}
		if err != nil {
			return formguard.Result{}, err
		}
	}
	whole, err := body.Len()
	a.looked, a.tokens, a.length = true, length != whole, length
	return result, err
}

// verifier returns what verifies the tokens that came. Without it nobody can tell
// whether the form was carried out before: the error is that of a store that
// cannot be reached (promise 10).
func (f *forms) verifier(r *http.Request, a *formAttempt, rule *rules.Route) (*formguard.Minter, error) {
	minter, err := f.secrets.minter(r.Context())
	if err == nil {
		return minter, nil
	}
	f.count(rule.Name, "unverifiable")
	a.unverified = true
	return nil, fmt.Errorf("form secret: %w", err)
}

// verify returns the first of the tokens that was made for the route and for one
// of the identities, and for which.
func verify(minter *formguard.Minter, tokens []string, rule *rules.Route, lifetime time.Duration, who []string) (formguard.Token, string, error) {
	stale := formguard.ErrForeign
	for _, text := range tokens {
		token, by, err := minter.Verify(text, rule.Name, lifetime, who...)
		if err == nil {
			return token, who[by], nil
		}
		if errors.Is(err, formguard.ErrExpired) {
			stale = err
		}
	}
	return formguard.Token{}, "", fmt.Errorf("%w: %w", semelhttp.ErrFormStale, stale)
}

// checkHeader verifies a token in the header that holds the rule's keys; it is
// then an ordinary key, in the scope of whom it was made for.
func (f *forms) checkHeader(r *http.Request, a *formAttempt, rule *rules.Route, lifetime time.Duration) error {
	if rule.Key.Header == "" {
		return nil
	}
	name, found, err := semelhttp.FromHeader(rule.Key.Header).Key(r, nil)
	if err != nil || !found || !formguard.LooksLike(name) {
		return nil //nolint:nilerr // the rule's own source says what is wrong.
	}
	minter, err := f.verifier(r, a, rule)
	if err != nil {
		return err
	}
	_, a.who, err = verify(minter, []string{name}, rule, lifetime, identities(r, a.visitor, rule.Scope))
	if err != nil {
		f.count(rule.Name, "stale")
		return fmt.Errorf("%w: it is a form token that is not valid here, or not any more", semel.ErrKeyInvalid)
	}
	f.count(rule.Name, "verified")
	return nil
}

// formScope is scope, but for requests with a token, which says whose they are.
func formScope(scope semelhttp.ScopeFunc) semelhttp.ScopeFunc {
	return func(r *http.Request) (string, error) {
		if a := formAttemptOf(r.Context()); a != nil && a.who != "" {
			return scopeFor(r, a.who)
		}
		return scope(r)
	}
}

func scopeFor(r *http.Request, who string) (string, error) {
	return semelhttp.ScopeBy(func(*http.Request) string { return who })(r)
}

// formFingerprint is that of forms with a token: their key says already what
// counts, and what it leaves out must not make a mismatch.
func formFingerprint(*http.Request, *semelhttp.Body) (semel.Fingerprint, error) {
	return semel.FingerprintOf("form"), nil
}
