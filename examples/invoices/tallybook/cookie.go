package tallybook

import (
	"context"
	"crypto/rand"
	"net/http"
	"net/url"
	"strings"
)

const (
	sessionCookie = "sessionid"
	flashCookie   = "flash"

	// flashSeconds limits how long a flash waits for the page after a redirect.
	flashSeconds = 60

	// maxFlashBytes bounds the page and text taken from a cookie.
	maxFlashBytes = 1024
)

// Session is the name of the visitor who sends r, or "". There is no login; the
// name only tells one browser from another.
func Session(r *http.Request) string {
	if known, err := r.Cookie(sessionCookie); err == nil {
		return known.Value
	}
	return ""
}

// WithSession says in a request without a session who sends it.
func WithSession(r *http.Request, name string) {
	if Session(r) == "" {
		r.AddCookie(newCookie(sessionCookie, name, 0))
	}
}

// freshKey marks the context of a request that came without a session.
type freshKey struct{}

// Fresh reports whether the request came without a session: the one that it has
// was started for it.
func Fresh(r *http.Request) bool {
	fresh, _ := r.Context().Value(freshKey{}).(bool)
	return fresh
}

// startSession names a new visitor, in the answer and in the request that it
// returns.
func startSession(w http.ResponseWriter, r *http.Request, newName func() string) *http.Request {
	if Session(r) != "" {
		return r
	}
	if newName == nil {
		newName = rand.Text
	}
	name := newName()
	http.SetCookie(w, newCookie(sessionCookie, name, 0))
	r = r.WithContext(context.WithValue(r.Context(), freshKey{}, true))
	WithSession(r, name)
	return r
}

// SetFlash keeps one sentence for the next time that this browser shows page, a
// path. Another tab that shows another page in between does not get it.
func SetFlash(w http.ResponseWriter, page, text string) {
	http.SetCookie(w, newCookie(flashCookie, url.QueryEscape(page+"\n"+text), flashSeconds))
}

// redirect leads to page, which says text.
func redirect(w http.ResponseWriter, r *http.Request, page, text string) {
	SetFlash(w, page, text)
	http.Redirect(w, r, page, http.StatusSeeOther)
}

// takeFlash returns the sentence that SetFlash kept for this page, and forgets it.
func takeFlash(w http.ResponseWriter, r *http.Request) string {
	kept, err := r.Cookie(flashCookie)
	if err != nil {
		return ""
	}
	value, err := url.QueryUnescape(kept.Value)
	page, text, found := strings.Cut(value, "\n")
	if err == nil && found && page != r.URL.Path {
		return ""
	}
	http.SetCookie(w, newCookie(flashCookie, "", -1))
	if err != nil || !found || len(value) > maxFlashBytes {
		return ""
	}
	return text
}

func newCookie(name, value string, maxAge int) *http.Cookie {
	return &http.Cookie{ //nolint:gosec // served over plain HTTP on a local machine: Secure would hide the cookie
		Name: name, Value: value, Path: "/", MaxAge: maxAge, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	}
}
