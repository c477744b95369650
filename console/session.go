package console

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/semel-dev/semel/gateway/adminapi"
)

const (
	// sessionLife is the time after which an operator logs in again.
	sessionLife = 8 * time.Hour
	// maxSessions bounds the sessions at a time, and maxOperatorSessions those of one operator; one more ends the oldest.
	maxSessions         = 1000
	maxOperatorSessions = 20

	// A gateway keeps these from applications: see consoleCookies there.
	plainCookie  = "semel_console"
	secureCookie = "__Secure-" + plainCookie
)

// operatorSession is an operator that logged in.
type operatorSession struct {
	adminapi.Token

	// form is in each form of the session's pages, so that no other site can send one.
	form  string
	until time.Time
	said  string // the result of a form, for the page after it
}

// sessions are those that last. The zero value is not ready; use newSessions.
type sessions struct {
	knows func(adminapi.Token) bool // whether a token still lets its operator in

	mu  sync.Mutex // guards all
	all map[[sha256.Size]byte]operatorSession
}

func newSessions(knows func(adminapi.Token) bool) *sessions {
	return &sessions{knows: knows, all: map[[sha256.Size]byte]operatorSession{}}
}

// begin starts a session, and gives its cookie to the browser. An older one of this browser ends.
func (s *sessions) begin(w http.ResponseWriter, r *http.Request, token adminapi.Token) operatorSession {
	s.end(w, r)
	id, now := rand.Text(), time.Now()
	one := operatorSession{Token: token, form: rand.Text(), until: now.Add(sessionLife)}
	s.mu.Lock()
	s.forget(now, token.Name)
	s.all[sha256.Sum256([]byte(id))] = one
	s.mu.Unlock()
	http.SetCookie(w, cookie(cookieFor(r), id, int(sessionLife/time.Second)))
	return one
}

// forget removes sessions that are over, and the oldest where there are too many. An operator that begins many ends those of
// no other one.
func (s *sessions) forget(now time.Time, operator string) {
	own := 0
	var oldest, oldestOwn [sha256.Size]byte
	var first, firstOwn time.Time
	for id, one := range s.all {
		if now.After(one.until) {
			delete(s.all, id)
			continue
		}
		if first.IsZero() || one.until.Before(first) {
			oldest, first = id, one.until
		}
		if one.Name == operator {
			own++
			if firstOwn.IsZero() || one.until.Before(firstOwn) {
				oldestOwn, firstOwn = id, one.until
			}
		}
	}
	switch {
	case own >= maxOperatorSessions:
		delete(s.all, oldestOwn)
	case len(s.all) >= maxSessions:
		delete(s.all, oldest)
	}
}

// find returns the digest of the session of a request. s.mu is held.
func (s *sessions) find(r *http.Request) (id [sha256.Size]byte, ok bool) {
	for _, name := range []string{secureCookie, plainCookie} {
		if r.TLS != nil && name == plainCookie {
			continue
		}
		for _, found := range r.CookiesNamed(name) {
			id = sha256.Sum256([]byte(found.Value))
			if _, ok := s.all[id]; ok {
				return id, true
			}
		}
	}
	return id, false
}

// of returns the session of a request.
func (s *sessions) of(r *http.Request) (operatorSession, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, ok := s.find(r)
	one := s.all[id]
	return one, ok && time.Now().Before(one.until) && s.knows(one.Token)
}

// tell keeps the result of a form for the page that follows it.
func (s *sessions) tell(r *http.Request, said string) { s.swap(r, said) }

// told returns the result of the last form, once.
func (s *sessions) told(r *http.Request) string { return s.swap(r, "") }

func (s *sessions) swap(r *http.Request, said string) (before string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, ok := s.find(r)
	if !ok {
		return ""
	}
	one := s.all[id]
	before, one.said = one.said, said
	s.all[id] = one
	return before
}

// end ends the sessions of a request, if it has any.
func (s *sessions) end(w http.ResponseWriter, r *http.Request) {
	for _, name := range []string{secureCookie, plainCookie} {
		for _, found := range r.CookiesNamed(name) {
			s.mu.Lock()
			delete(s.all, sha256.Sum256([]byte(found.Value)))
			s.mu.Unlock()
			http.SetCookie(w, cookie(name, "", -1))
		}
	}
}

// sent reports whether a form came from a page of this session.
func (one *operatorSession) sent(r *http.Request) bool {
	return subtle.ConstantTimeCompare([]byte(r.PostFormValue(fieldForm)), []byte(one.form)) == 1
}

// cookieFor is the name of the cookie of a new session: over TLS, one that no plain connection can set. Behind a proxy, the origin
// of the form says whether the browser uses TLS. The prefix __Host- would need the path /, and the cookie would go to the
// application on the same host.
func cookieFor(r *http.Request) string {
	if r.TLS != nil || strings.HasPrefix(r.Header.Get("Origin"), "https://") {
		return secureCookie
	}
	return plainCookie
}

func cookie(name, value string, age int) *http.Cookie {
	return &http.Cookie{ //nolint:gosec // Secure is set where there is TLS; the plain address is loopback, or a tunnel.
		Name: name, Value: value, Path: Path, MaxAge: age,
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: name == secureCookie,
	}
}
