package tallybook

import (
	"crypto/rand"
	"net/http"
	"net/url"
)

const (
	sessionCookie = "sessionid"
	flashCookie   = "flash"

	// flashSeconds is how long a flash waits for the page after a redirect.
	flashSeconds = 60

	// maxFlashBytes bounds the text taken from a cookie.
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

// startSession names a new visitor, in the answer and in the request.
func startSession(w http.ResponseWriter, r *http.Request) {
	if Session(r) != "" {
		return
	}
	started := newCookie(sessionCookie, rand.Text(), 0)
	http.SetCookie(w, started)
	r.AddCookie(started)
}

// SetFlash keeps one sentence for the next page of this browser.
func SetFlash(w http.ResponseWriter, text string) {
	http.SetCookie(w, newCookie(flashCookie, url.QueryEscape(text), flashSeconds))
}

// takeFlash returns the sentence kept by SetFlash and forgets it.
func takeFlash(w http.ResponseWriter, r *http.Request) string {
	kept, err := r.Cookie(flashCookie)
	if err != nil {
		return ""
	}
	http.SetCookie(w, newCookie(flashCookie, "", -1))
	text, err := url.QueryUnescape(kept.Value)
	if err != nil || len(text) > maxFlashBytes {
		return ""
	}
	return text
}

func newCookie(name, value string, maxAge int) *http.Cookie {
	return &http.Cookie{ //nolint:gosec // served over plain HTTP on a local machine: Secure would hide the cookie
		Name: name, Value: value, Path: "/", MaxAge: maxAge, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	}
}
