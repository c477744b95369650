package check_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"html"
	"net/http"
	"sync"
)

// formShop is an application of pages: a form for orders, with a hidden token in each page, a cookie and a CSRF field,
// and orders that are counted. It is correct unless a mistake breaks it in one way.
type formShop struct {
	mistake mistake
	shows   bool   // the answer is a page, and no redirect
	strict  int    // the status of a form without an amount and a file; zero takes it
	coding  string // the enctype of the form

	mu     sync.Mutex
	orders int64
	done   map[string]int64 // the order of a token and its typed fields
}

type mistake string

const (
	noTokens    mistake = "the token is ignored"
	tokenOnly   mistake = "the typed fields do not count"
	errorInPage mistake = "a repetition shows the form again, with an error"
)

func newFormShop(m mistake) *formShop {
	return &formShop{mistake: m, done: map[string]int64{}}
}

// Name, PerIntent and Count make it a counter.
func (s *formShop) Name() string    { return "the orders" }
func (s *formShop) PerIntent() bool { return false }
func (s *formShop) Count(context.Context, func(string) string) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.orders, nil
}

func (s *formShop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method + " " + r.URL.Path {
	case "GET /":
		http.Redirect(w, r, "/orders/new", http.StatusFound)
	case "GET /orders/new":
		s.page(w, r, http.StatusOK, "")
	case "POST /orders":
		s.take(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (s *formShop) page(w http.ResponseWriter, r *http.Request, status int, wrong string) {
	visitor, err := r.Cookie("visitor")
	if err != nil || visitor.Value == "old" {
		visitor = &http.Cookie{Name: "visitor", Value: rand.Text()}
		http.SetCookie(w, visitor)
	}
	token := rand.Text()
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `<!DOCTYPE html><p>%s</p><form action="/search"><input name=q></form>
		<form method=post action="/orders" id=order enctype="%s"><input type=hidden name=token value=%s><input type=hidden name=csrf value=%s>
		<input name=amount value=5><input name=note><button name=do value=order>Order</button></form>
		<form method=post action="/sign-out"><button>Sign out</button></form>`, html.EscapeString(wrong), s.coding, token, visitor.Value)
}

func (s *formShop) take(w http.ResponseWriter, r *http.Request) {
	visitor, err := r.Cookie("visitor")
	if err != nil || r.PostFormValue("csrf") != visitor.Value || r.PostFormValue("do") != "order" ||
		r.Header.Get("Referer") == "" || r.Header.Get("Origin") != "http://"+r.Host {
		http.Error(w, "forged", http.StatusForbidden)
		return
	}
	if s.strict != 0 && r.PostFormValue("amount") == "" && fileName(r) == "" {
		http.Error(w, "how much?", s.strict)
		return
	}
	token := r.PostFormValue("token")
	key := token + " " + r.PostFormValue("amount") + " " + r.PostFormValue("note") + fileName(r)
	s.mu.Lock()
	if s.mistake == tokenOnly {
		key = token
	}
	order, again := s.done[key]
	if !again || s.mistake == noTokens {
		s.orders++
		order = s.orders
		s.done[key] = order
	}
	s.mu.Unlock()
	if again && s.mistake == errorInPage {
		s.page(w, r, http.StatusOK, "There is such an order already.")
		return
	}
	s.answer(w, r, order, again)
}

// fileName returns the name of the form's file; empty for none.
func fileName(r *http.Request) string {
	if r.MultipartForm == nil || len(r.MultipartForm.File["file"]) == 0 {
		return ""
	}
	return r.MultipartForm.File["file"][0].Filename
}

func (s *formShop) answer(w http.ResponseWriter, r *http.Request, order int64, again bool) {
	if !s.shows {
		http.Redirect(w, r, fmt.Sprintf("/orders/%d", order), http.StatusSeeOther)
		return
	}
	notice := ""
	if again {
		notice = `<p role="status">This was sent before, and done once.</p>`
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = fmt.Fprintf(w, `<!DOCTYPE html>%s<h1>Order %d</h1><form method=post><input type=hidden name=token value=%s></form>`, notice, order, rand.Text())
}
