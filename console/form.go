package console

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"

	"github.com/semel-dev/semel/operator"
)

// form holds the values typed into the form of a page, and why nothing came of it.
type form struct {
	Typed   url.Values
	Problem string
	Field   string // the field that Problem is about
	Done    string // what the form has done
}

// refusal says why a form did nothing.
type refusal struct {
	status      int
	text, field string
}

// act does what a form asks for, and returns the page to go on with, or "" for the same page with k.form. It is not
// called without a session that may act.
type act func(k *call) (next string, no *refusal)

// withForm serves a page, with a status, and its form.
func (c *Console) withForm(mux *http.ServeMux, path string, show func(k *call, status int), do act) {
	mux.HandleFunc("GET "+path, c.known(func(k *call) { show(k, http.StatusOK) }))
	mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			http.Error(w, "Nothing was done: the form is too large or cannot be read.", http.StatusBadRequest)
			return
		}
		one, ok := c.sessions.of(r)
		if !ok { // what was typed waits in the form to log in
			typed := r.PostForm
			typed.Del(fieldForm)
			c.askToLogIn(w, r, http.StatusUnauthorized, loginPage{Problem: "Your session has ended. Nothing was done; what you typed is shown again after you log in.", Next: r.URL.RequestURI(), Typed: typed.Encode()})
			return
		}
		k := &call{Request: r, session: one, w: w, form: form{Typed: r.PostForm}}
		next, no := c.carryOut(k, do) //nolint:contextcheck // a call carries its context.
		switch {
		case no != nil:
			k.form.Problem, k.form.Field = no.text, no.field
			show(k, no.status)
		case next == "":
			show(k, http.StatusOK)
		default:
			http.Redirect(w, r, next, http.StatusSeeOther)
		}
	})
}

// carryOut does what a form asks for, if its sender may.
func (c *Console) carryOut(k *call, do act) (string, *refusal) {
	switch {
	case !k.session.sent(k.Request):
		return "", &refusal{http.StatusForbidden, "Nothing was done: this form is from another session. Look at it once more, then send it again.", ""}
	case k.session.ReadOnly:
		return "", &refusal{http.StatusForbidden, "Nothing was done: this token may only look.", ""}
	}
	asked := k.Request
	ctx, cancel := context.WithTimeout(context.WithoutCancel(asked.Context()), pageTimeout) // it is done in full although its operator closes the page
	defer cancel()
	k.Request = asked.WithContext(ctx)
	defer func() { k.Request = asked }()
	return do(k)
}

// by names the operator for the audit trail.
func (k *call) by() operator.Identity { return k.session.Identity(k.Request, "console") }

// logAct writes a line about what an operator asked for.
func (c *Console) logAct(k *call, act, what string, err error) {
	by := k.by()
	c.log.LogAttrs(k.Context(), slog.LevelInfo, "verdict of an operator", slog.String("operator", by.Name), slog.String("via", by.Via),
		slog.String("record", what), slog.String("as", act), slog.Bool("taken", err == nil))
}

// resumedKey is that of the call that goes on after a log-in, in a context.
type resumedKey struct{}

// resume shows a page with what was typed into its form before the session ended.
func (c *Console) resume(w http.ResponseWriter, r *http.Request, one operatorSession, page *url.URL, typed url.Values) {
	k := &call{session: one, form: form{Typed: typed, Problem: "It has not been done yet. Look at it once more, then send it."}}
	again := r.Clone(context.WithValue(r.Context(), resumedKey{}, k))
	again.Method, again.URL, again.Body = http.MethodGet, page, http.NoBody
	c.mux.ServeHTTP(w, again)
}
