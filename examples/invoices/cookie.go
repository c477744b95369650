package invoices

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

// startSession names a new visitor. There is no login; the cookie only tells
// one browser from another.
func startSession(w http.ResponseWriter, r *http.Request) {
	if known, err := r.Cookie(sessionCookie); err == nil && known.Value != "" {
		return
	}
	http.SetCookie(w, newCookie(sessionCookie, rand.Text(), 0))
}

// setFlash keeps one sentence for the next page of this browser.
func setFlash(w http.ResponseWriter, text string) {
	http.SetCookie(w, newCookie(flashCookie, url.QueryEscape(text), flashSeconds))
}

// takeFlash returns the sentence kept by setFlash and forgets it.
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
