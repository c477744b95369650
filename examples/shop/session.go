package shop

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"strings"
)

const (
	sessionCookie = "sessionid"

	// signedOut is the session of a browser that has signed out.
	signedOut = "none"

	// guestPrefix begins the account of a visitor who has not signed in.
	guestPrefix = "guest-"

	// maxAccountBytes bounds the name of an account.
	maxAccountBytes = 100
)

// accountKey is the context key of the account.
type accountKey struct{}

// accountOf returns the account that signedIn found.
func accountOf(r *http.Request) string {
	account, _ := r.Context().Value(accountKey{}).(string)
	return account
}

// signedIn lets requests of a session through, and answers others with 401.
func (s *Shop) signedIn(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		account, err := s.account(r)
		if errors.Is(err, errNotFound) {
			w.Header().Set("WWW-Authenticate", "Cookie")
			s.refuse(w, r, http.StatusUnauthorized, errors.New("you are signed out, so nothing was done"))
			return
		}
		if err != nil {
			s.refuse(w, r, http.StatusInternalServerError, err)
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), accountKey{}, account)))
	})
}

// account returns errNotFound for a request without a session.
func (s *Shop) account(r *http.Request) (string, error) {
	cookie, err := r.Cookie(sessionCookie)
	if err != nil {
		return "", errNotFound
	}
	return s.db.findSession(r.Context(), cookie.Value)
}

// startSession gives a new visitor an account of its own, and returns the
// visitor's account: empty for one that has signed out, which stays so.
func (s *Shop) startSession(w http.ResponseWriter, r *http.Request) (account string, err error) {
	if _, err := r.Cookie(sessionCookie); err == nil {
		account, err := s.account(r)
		if errors.Is(err, errNotFound) {
			return "", nil
		}
		return account, err
	}
	account = guestPrefix + rand.Text()
	return account, s.openSession(w, r, account)
}

func isGuest(account string) bool { return strings.HasPrefix(account, guestPrefix) }

func (s *Shop) openSession(w http.ResponseWriter, r *http.Request, account string) error {
	id := rand.Text()
	if err := s.db.insertSession(r.Context(), id, account); err != nil {
		return err
	}
	setSession(w, id)
	return nil
}

// signIn opens a session of the account that the form names. It asks for no
// password: it is an example.
func (s *Shop) signIn(w http.ResponseWriter, r *http.Request) {
	account := strings.TrimSpace(r.FormValue("account"))
	if account == "" || len(account) > maxAccountBytes {
		s.refuse(w, r, http.StatusUnprocessableEntity, errors.New("account: a name of 1 to 100 bytes"))
		return
	}
	if err := s.openSession(w, r, account); err != nil {
		s.refuse(w, r, http.StatusInternalServerError, err)
		return
	}
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// signOut ends the session.
func (s *Shop) signOut(w http.ResponseWriter, r *http.Request) {
	if cookie, err := r.Cookie(sessionCookie); err == nil {
		if err := s.db.deleteSession(r.Context(), cookie.Value); err != nil {
			s.refuse(w, r, http.StatusInternalServerError, err)
			return
		}
	}
	setSession(w, signedOut)
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

func setSession(w http.ResponseWriter, id string) {
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // served over plain HTTP on a local machine: Secure would hide the cookie
		Name: sessionCookie, Value: id, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}
