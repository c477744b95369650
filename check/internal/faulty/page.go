package faulty

import (
	"crypto/rand"
	"fmt"
	"net/http"
)

// Page serves the order form, with a fresh token in it each time, in front of next.
func Page(token func() string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.URL.Path != "/orders/new" {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = fmt.Fprintf(w, pageText, token()) // the client may have gone
	})
}

// pageText is the page. Its form works without scripts.
const pageText = `<!doctype html>
<html lang="en"><title>New order</title>
<form method="post" action="/orders" id="order">
<input type="hidden" name="token" value="%s">
<label>Number <input name="number"></label>
<label>Amount <input name="amount" type="number"></label>
<button>Order</button>
</form></html>
`

func freshToken() string { return rand.Text() }

// ReadToken makes the key of a form from its token and its content. The same page sent again is the same intent;
// edited, it is another one.
func ReadToken(r *http.Request) (string, error) {
	token, body, err := tokenOf(r)
	return token + digest(string(body)), err
}

// tokenOf returns the token of a form, and its body, which stays readable.
func tokenOf(r *http.Request) (token string, body []byte, err error) {
	if !isForm(r) {
		return "", nil, errNoKey
	}
	if body, err = ReadBody(r); err != nil {
		return "", nil, err
	}
	r.Body = readable(body)
	if err := r.ParseForm(); err != nil {
		return "", nil, errBadKey
	}
	r.Body = readable(body)
	if token = r.PostForm.Get("token"); token == "" {
		return "", nil, errNoKey
	}
	r.Form, r.PostForm = nil, nil
	return token, body, nil
}
