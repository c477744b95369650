package semelhttp_test

import (
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/semelhttp"
)

// TestSignInRedirect: a redirect to a sign-in page is not an outcome (promise 3):
// a person who has signed in sends the same request again, and it runs.
func TestSignInRedirect(t *testing.T) {
	t.Parallel()
	for _, status := range []int{301, 302, 303, 307, 308} {
		t.Run(strconv.Itoa(status), func(t *testing.T) {
			t.Parallel()
			var invoices counter
			var signedIn atomic.Bool
			d := newDoor(t, doorOptions{})
			server := d.serve(t, func(w http.ResponseWriter, r *http.Request) {
				if !signedIn.Load() {
					w.Header().Set("Location", "/login?next="+r.URL.Path)
					w.WriteHeader(status)
					return
				}
				invoices.ran.Add(1)
				w.Header().Set("Location", "/invoices/1")
				w.WriteHeader(http.StatusSeeOther)
			})
			if got := ask(t, server, "k1", "x"); got.status != status || got.word() != "released" {
				t.Errorf("signed out: got %d %q, want %d released", got.status, got.word(), status)
			}
			signedIn.Store(true)
			first, second := ask(t, server, "k1", "x"), ask(t, server, "k1", "x")
			if first.word() != "executed" || first.header.Get("Location") != "/invoices/1" {
				t.Errorf("signed in: got %q %q", first.word(), first.header.Get("Location"))
			}
			wantReplay(t, first, second)
			invoices.wantRan(t, "promise 2", 1)
		})
	}
}

// TestSignInRedirectElsewhere: what else names a sign-in page is an outcome, and a
// handler can say that its redirect is one (promise 2).
func TestSignInRedirectElsewhere(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]http.HandlerFunc{
		"no redirect": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/login")
			w.WriteHeader(http.StatusCreated)
		},
		"choices": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/login")
			w.WriteHeader(http.StatusMultipleChoices)
		},
		"another page": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/orders/login-cards/5")
			w.WriteHeader(http.StatusFound)
		},
		"disposed of": func(w http.ResponseWriter, r *http.Request) {
			semelhttp.Dispose(r.Context(), semel.StateCompleted, "")
			w.Header().Set("Location", "/login")
			w.WriteHeader(http.StatusFound)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newDoor(t, doorOptions{}).serve(t, answer)
			first, second := ask(t, server, "k1", "x"), ask(t, server, "k1", "x")
			if first.word() != "executed" {
				t.Errorf("got %q, want executed", first.word())
			}
			wantReplay(t, first, second)
		})
	}
}

// TestSignInRedirectOfAPayment (promise 3): where nothing is repeated on a guess, a
// redirect to a sign-in page of another host, which may be a bank's, is unknown.
func TestSignInRedirectOfAPayment(t *testing.T) {
	t.Parallel()
	for location, want := range map[string]string{
		"/login":                               "released",
		"https://login.bank.example/confirm/5": "unknown",
		"https://bank.example/authorise?client_id=shop&response_type=code&p=5": "unknown",
		"https://checkout.psp.example/pay/5":                                   "executed",
	} {
		t.Run(location, func(t *testing.T) {
			t.Parallel()
			d := newDoor(t, doorOptions{Options: semelhttp.Options{On5xx: semelhttp.UnknownOn5xx}})
			server := d.serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", location)
				w.WriteHeader(http.StatusSeeOther)
			})
			if got := ask(t, server, "k1", "x"); got.status != http.StatusSeeOther || got.word() != want {
				t.Errorf("got %d %q, want 303 %s", got.status, got.word(), want)
			}
		})
	}
}
