package console

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"sync"
	"time"

	"github.com/semel-dev/semel/internal/adminapi"
)

const (
	// sessionLife is the time after which an operator logs in again.
	sessionLife = 8 * time.Hour
	// maxSessions bounds the sessions at a time; one more ends the oldest.
	maxSessions = 1000

	cookieName = "semel_console"
)

// session is an operator that logged in.
type session struct {
	adminapi.Token

	// form is in each form of the session's pages, so that no other site can send one.
	form  string
	until time.Time
}

// sessions are those that last. The zero value is not ready; use newSessions.
type sessions struct {
	mu  sync.Mutex // guards all
	all map[[sha256.Size]byte]session
}

func newSessions() *sessions { return &sessions{all: map[[sha256.Size]byte]session{}} }

// begin starts a session, and gives its cookie to the browser. An older one of this browser ends.
func (s *sessions) begin(w http.ResponseWriter, r *http.Request, token adminapi.Token) session {
	s.end(w, r)
	id, now := rand.Text(), time.Now()
	one := session{Token: token, form: rand.Text(), until: now.Add(sessionLife)}
	s.mu.Lock()
	s.forget(now)
	s.all[sha256.Sum256([]byte(id))] = one
	s.mu.Unlock()
	http.SetCookie(w, cookie(r, id, int(sessionLife/time.Second)))
	return one
}

// forget removes sessions that are over, and the oldest where there are too many.
func (s *sessions) forget(now time.Time) {
	var oldest [sha256.Size]byte
	var first time.Time
	for id, one := range s.all {
		if now.After(one.until) {
			delete(s.all, id)
		} else if first.IsZero() || one.until.Before(first) {
			oldest, first = id, one.until
		}
	}
	if len(s.all) >= maxSessions {
		delete(s.all, oldest)
	}
}

// of returns the session of a request.
func (s *sessions) of(r *http.Request) (session, bool) {
	found, err := r.Cookie(cookieFor(r))
	if err != nil {
		return session{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	one, ok := s.all[sha256.Sum256([]byte(found.Value))]
	return one, ok && time.Now().Before(one.until)
}

// end ends the session of a request, if it has one.
func (s *sessions) end(w http.ResponseWriter, r *http.Request) {
	found, err := r.Cookie(cookieFor(r))
	if err != nil {
		return
	}
	s.mu.Lock()
	delete(s.all, sha256.Sum256([]byte(found.Value)))
	s.mu.Unlock()
	http.SetCookie(w, cookie(r, "", -1))
}

// sent reports whether a form came from a page of this session.
func (one *session) sent(r *http.Request) bool {
	return subtle.ConstantTimeCompare([]byte(r.PostFormValue(fieldForm)), []byte(one.form)) == 1
}

// cookieFor is the name of the cookie: over TLS, one that no other host and no plain connection can set.
func cookieFor(r *http.Request) string {
	if r.TLS != nil {
		return "__Host-" + cookieName
	}
	return cookieName
}

func cookie(r *http.Request, value string, age int) *http.Cookie {
	return &http.Cookie{ //nolint:gosec // Secure is set where there is TLS; the plain address is loopback, or a tunnel.
		Name: cookieFor(r), Value: value, Path: "/", MaxAge: age,
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil,
	}
}
