package faulty

import (
	"net/http"
	"slices"
	"strings"

	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/check/wire"
)

// asPages leaves out the checks of things that browsers never do.
func asPages(ids []string) []string {
	return slices.DeleteFunc(ids, func(id string) bool { return id == "SIZE-04" })
}

// pageFaults handle forms wrongly.
func pageFaults() []Service {
	return []Service{
		fault("the token is ignored", "The page has a CSRF token, which is valid any number of times: a double click orders twice.",
			by(slices.Concat(asPages(doneAgain()), doneTogether(), []string{"FORM-01", "FORM-02", "FORM-03"})...).perhaps("LOST-03"),
			ordering(recipe{decisions: func(d *Decisions) { d.Methods = nil }})),
		fault("the second click is an error", "The first click uses the token up, and the answer to the second says that the form has expired: that is the page the person sees.",
			by("BASIC-03", "BASIC-04", "BASIC-12", "FORM-02", "FORM-06").echoed("BASIC-08", "BASIC-10", "LOST-03", "LOST-04", "LOST-05", "LOST-06", "LOST-07", "LOST-10", "RACE-06", "SIZE-03", "SIZE-05", "SIZE-06"),
			ordering(recipe{decisions: func(d *Decisions) {
				d.Dedup = true
				d.Duplicate = expired
			}})),
		fault("Back, edit, and the old order", "The token alone is the key: a person who goes back and orders something else gets the page of the first order.",
			by("SIZE-07", "FORM-04"), ordering(recipe{decisions: keyed(tokenOnly)})),
		fault("Back, edit, and a refusal", "A form's token is treated like a program's key: other content is refused with 422.",
			by("SIZE-07", "FORM-04"), ordering(recipe{decisions: func(d *Decisions) {
				d.Key, d.Fingerprint = tokenOnly, Fingerprint
			}})),
		fault("one token for all tabs", "There is one token for each session, so that two tabs with two orders are one.",
			by("BASIC-01", "BASIC-02", "BASIC-09", "BASIC-10", "FORM-01", "FORM-03", "FORM-05"), only(ordering(recipe{
				decisions: keyed(tokenOnly),
				outside: func(next http.Handler) http.Handler {
					token := freshToken()
					return Page(func() string { return token }, next)
				},
			}), "BASIC", "FORM")),
	}
}

func tokenOnly(r *http.Request) (string, error) {
	token, _, err := tokenOf(r)
	return token, err
}

// expired is the error page of many frameworks.
func expired(_ *Door, w http.ResponseWriter) {
	http.Error(w, "This form has expired. Please go back and try again.", http.StatusForbidden)
}

// ordering starts a shop with a page. The door reads the token of its form.
func ordering(h recipe) func() (Running, error) {
	return func() (Running, error) {
		h.profile = "form"
		if h.outside == nil {
			h.outside = func(next http.Handler) http.Handler { return Page(freshToken, next) }
		}
		turn := h.decisions
		h.decisions = func(d *Decisions) {
			d.Key = ReadToken
			d.Fingerprint = func(*http.Request, []byte) string { return "" }
			if turn != nil {
				turn(d)
			}
		}
		h.change = func(c *check.Config) {
			c.Template.Header = []wire.Field{{Name: "Content-Type", Value: "application/x-www-form-urlencoded"}}
			c.Template.Body = []byte("number={{uuid}}&amount={{n}}")
			c.Page = &check.Page{URL: strings.Replace(c.Template.URL, "/orders", "/orders/new", 1)}
			c.Failing, c.Invalid = nil, &check.Template{Method: c.Template.Method, URL: c.Template.URL, Header: c.Template.Header, Body: []byte("number=&amount={{n}}")}
		}
		return h.start()
	}
}
