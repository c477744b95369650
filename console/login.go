package console

import (
	"net/http"
	"net/url"
	"strings"
)

// The fields of forms that are not those of a verdict.
const (
	fieldForm  = "form"  // the session's token for forms
	fieldToken = "token" // the operator's token
	fieldNext  = "next"  // the page to go on with
	fieldTyped = "typed" // the form that the end of a session interrupted
	fieldSeen  = "seen"  // the fence of the record that was shown
)

// loginPage asks for a token.
type loginPage struct {
	Problem string
	// Next is the page that was asked for, and Typed the form that was sent to it.
	Next, Typed string
}

// askToLogIn shows the form to log in. What was asked for comes after.
func (c *Console) askToLogIn(w http.ResponseWriter, r *http.Request, status int, p loginPage) {
	if p.Next == "" && r.Method == http.MethodGet {
		p.Next = r.URL.RequestURI()
	}
	c.write(w, r, status, "login", frame{Title: "Log in", At: "login", Page: p})
}

// logIn begins a session.
func (c *Console) logIn(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		http.Error(w, "Nothing was done: the form is too large or cannot be read.", http.StatusBadRequest)
		return
	}
	p := loginPage{Next: r.PostFormValue(fieldNext), Typed: r.PostFormValue(fieldTyped)}
	token, err := c.api.LogIn(r, strings.TrimSpace(r.PostFormValue(fieldToken)))
	if err != nil {
		p.Problem = err.Error()
		c.askToLogIn(w, r, http.StatusUnauthorized, p)
		return
	}
	one := c.sessions.begin(w, r, token)
	next, err := url.ParseRequestURI(p.Next)
	if err != nil || next.Scheme != "" || next.Host != "" || !strings.HasPrefix(next.Path, Path) {
		next = &url.URL{Path: Path}
	}
	if typed, err := url.ParseQuery(p.Typed); err == nil && p.Typed != "" {
		c.resume(w, r, one, next, typed)
		return
	}
	http.Redirect(w, r, next.String(), http.StatusSeeOther)
}

// logOut ends the session.
func (c *Console) logOut(w http.ResponseWriter, r *http.Request) {
	if one, ok := c.sessions.of(r); ok && one.sent(r) {
		c.sessions.end(w, r)
	}
	http.Redirect(w, r, Path, http.StatusSeeOther)
}
