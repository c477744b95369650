package check_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/check/wire"
)

// runProfile runs the checks of a profile.
func runProfile(t *testing.T, name string, c check.Config) *check.Report {
	t.Helper()
	c.Profile, _ = check.ProfileNamed(name)
	c.Settle, c.Timeout, c.Rate, c.Parallel = 300*time.Millisecond, 5*time.Second, 10000, 20
	return run(t.Context(), t, c)
}

// faulty lists the checks that neither passed nor were skipped: the failures first.
func faulty(report *check.Report) (ids []string) {
	for i := range report.Results {
		switch r := &report.Results[i]; r.Verdict {
		case check.Fail:
			ids = append(ids, r.ID)
		case check.Incomplete:
			ids = append(ids, r.ID+" incomplete: "+r.Reason)
		case check.Pass, check.Skipped, check.Known, check.Echo:
		}
	}
	slices.Sort(ids)
	return ids
}

// wantFaults compares the checks that did not pass.
func wantFaults(t *testing.T, report *check.Report, want ...string) {
	t.Helper()
	if diff := cmp.Diff(faulty(report), want); diff != "" {
		for i := range report.Results {
			t.Logf("%s: %s: %s", report.Results[i].ID, report.Results[i].Verdict, report.Results[i].Reason)
		}
		t.Errorf("what did not pass (-got +want):\n%s", diff)
	}
}

func formChecks() []string { return []string{"BASIC-01", "FORM"} }

// runForm runs the checks of forms on a shop, filled in from the body.
func runForm(t *testing.T, app *formShop, body string, page check.Page) *check.Report {
	t.Helper()
	url := serve(t, app)
	page.URL = url + page.URL
	return runProfile(t, "form", check.Config{
		Template: check.Template{Method: "POST", URL: url + "/orders", Body: []byte(body)},
		Page:     &page, Counters: []check.Counter{app}, Only: formChecks(),
	})
}

// TestFormPages: a page that answers a form, with a sentence about its repetition and a new token, is the same page; a
// page about another order is not.
func TestFormPages(t *testing.T) {
	t.Parallel()
	for m, want := range map[mistake][]string{"": nil, noTokens: {"FORM-01", "FORM-02", "FORM-03"}, errorInPage: {"FORM-02"}} {
		t.Run(string(m), func(t *testing.T) {
			t.Parallel()
			app := newFormShop(m)
			app.shows = true
			report := runForm(t, app, "note={{uuid}}", check.Page{URL: "/orders/new", Form: "order"})
			wantFaults(t, report, want...)
		})
	}
}

// TestFormInParts: a form with files is sent as multipart/form-data, whatever the template is.
func TestFormInParts(t *testing.T) {
	t.Parallel()
	for m, want := range map[mistake][]string{"": nil, tokenOnly: {"FORM-04"}} {
		app := newFormShop(m)
		app.coding = "multipart/form-data"
		report := runForm(t, app, "note=A+table", check.Page{URL: "/"})
		wantFaults(t, report, want...)
		for i := range report.Results {
			for _, sent := range report.Results[i].Exchanges {
				if got := sent.Request.Value("Content-Type"); !strings.HasPrefix(got, app.coding+"; boundary=") {
					t.Errorf("sent as %q", got)
				}
			}
		}
	}
}

// TestFormIsEditedWithoutPlaces: if the template leaves no value open, one is made up in the most suitable field.
func TestFormIsEditedWithoutPlaces(t *testing.T) {
	t.Parallel()
	for m, want := range map[mistake][]string{"": nil, tokenOnly: {"FORM-04"}} {
		app := newFormShop(m)
		report := runForm(t, app, "note=&amount=7", check.Page{URL: "/"})
		wantFaults(t, report, want...)
		for i := range report.Results {
			if r := &report.Results[i]; r.ID == "FORM-04" {
				first, edited := string(r.Exchanges[0].Request.Body), string(r.Exchanges[1].Request.Body)
				if want := strings.Replace(first, "amount=7", "amount=8", 1); edited != want || first == want {
					t.Errorf("edited: got %s, want %s", edited, want)
				}
			}
		}
	}
}

// TestFormIsSentAlike: two clicks send the same bytes, another page another token, and the hidden fields are the page's
// although the template has recorded ones.
func TestFormIsSentAlike(t *testing.T) {
	t.Parallel()
	app := newFormShop("")
	var mu sync.Mutex
	bodies := map[string]int{}
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			mu.Lock()
			bodies[string(body)]++
			mu.Unlock()
			got := []string{r.Header.Get("Cookie")[:len("theme=dark; visitor=")], r.Header.Get("Sec-Fetch-Mode"), r.Header.Get("Referer")}
			if diff := cmp.Diff(got, []string{"theme=dark; visitor=", "navigate", "http://" + r.Host + "/orders/new"}); diff != "" {
				t.Errorf("header (-got +want):\n%s", diff)
			}
		}
		app.ServeHTTP(w, r)
	}))
	report := runProfile(t, "form", check.Config{
		Template: check.Template{
			Method: "POST", URL: url + "/orders", Body: []byte("token=old&csrf=old&note={{n}}&extra=1"),
			Header: []wire.Field{{Name: "Cookie", Value: "theme=dark; visitor=old"}, {Name: "Sec-Fetch-Mode", Value: "cors"}},
		},
		Page: &check.Page{URL: url + "/"}, Counters: []check.Counter{app}, Only: formChecks(),
	})
	wantFaults(t, report)
	// Three clicks; two; three resends; the page of two, edited; two pages; two; and the sample.
	if diff := cmp.Diff(counted(bodies), []int{1, 1, 1, 1, 1, 1, 2, 2, 3, 3}); diff != "" {
		t.Errorf("how often bodies were sent (-got +want):\n%s\n%v", diff, bodies)
	}
}

func counted(bodies map[string]int) (times []int) {
	for _, n := range bodies {
		times = append(times, n)
	}
	slices.Sort(times)
	return times
}

// TestFormOfNoPage: without a page the form is the template, whose {{uuid}} is the token.
func TestFormOfNoPage(t *testing.T) {
	t.Parallel()
	for m, want := range map[mistake][]string{"": nil, noTokens: {"FORM-01", "FORM-02", "FORM-03"}, tokenOnly: {"FORM-04"}} {
		wantFaults(t, runWithoutPage(t, newFormShop(m)), want...)
	}
}

func runWithoutPage(t *testing.T, app *formShop) *check.Report {
	t.Helper()
	guarded := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.AddCookie(&http.Cookie{Name: "visitor", Value: "me"})
		app.ServeHTTP(w, r)
	})
	url := serve(t, guarded)
	return runProfile(t, "form", check.Config{
		Template: check.Template{
			Method: "POST", URL: url + "/orders", Body: []byte("csrf=me&do=order&token={{uuid}}&note={{n}}"),
			Header: []wire.Field{
				{Name: "Content-Type", Value: "application/x-www-form-urlencoded"},
				{Name: "Origin", Value: url},
				{Name: "Referer", Value: url},
			},
		},
		Counters: []check.Counter{app}, Only: formChecks(),
	})
}

// TestFormKeepsHiddenValues: a hidden field with a place has one value for each page, even when another field is
// edited.
func TestFormKeepsHiddenValues(t *testing.T) {
	t.Parallel()
	app := newFormShop("")
	var mu sync.Mutex
	tokens, notes := map[string]int{}, map[string]int{}
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			mu.Lock()
			tokens[r.PostFormValue("token")]++
			notes[r.PostFormValue("note")]++
			mu.Unlock()
		}
		app.ServeHTTP(w, r)
	}))
	report := runProfile(t, "form", check.Config{
		Template: check.Template{Method: "POST", URL: url + "/orders", Body: []byte("token={{uuid}}&note={{uuid}}")},
		Page:     &check.Page{URL: url + "/"}, Counters: []check.Counter{app}, Only: []string{"FORM-04"},
	})
	wantFaults(t, report)
	if diff := cmp.Diff([][]int{counted(tokens), counted(notes)}, [][]int{{1, 1, 2}, {1, 1, 1, 1}}); diff != "" {
		t.Errorf("tokens and notes (-got +want):\n%s", diff)
	}
}

// TestFormPageTroubles: each mistake in a page is reported.
func TestFormPageTroubles(t *testing.T) {
	t.Parallel()
	pages := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, "http://other.example/", http.StatusFound)
		case "/round":
			http.Redirect(w, r, "/round", http.StatusFound)
		case "/packed":
			w.Header().Set("Content-Encoding", "br")
		case "/two":
			_, _ = w.Write([]byte(`<form method=post action=/a></form><form method=post action=/b></form>`))
		case "/elsewhere":
			_, _ = w.Write([]byte(`<form method=post action=//other.example/></form>`))
		case "/none":
			_, _ = w.Write([]byte(`<form action=/a></form>`))
		default:
			http.Error(w, "not here", http.StatusForbidden)
		}
	})
	url := serve(t, pages)
	tests := map[string]struct{ path, form, want string }{
		"refused":     {"/gone", "", "403"},
		"away":        {"/away", "", "not on its host"},
		"round":       {"/round", "", "more than 5 times"},
		"packed":      {"/packed", "", `coding "br"`},
		"two":         {"/two", "", "2 of its forms fit"},
		"other host":  {"/elsewhere", "", "http://other.example/"},
		"none":        {"/none", "", "no form that is sent by POST"},
		"not by name": {"/two", "orders", `no form "orders"`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			profile, _ := check.ProfileNamed("form")
			report, err := tryOut(t, check.Config{
				Profile:  profile,
				Template: check.Template{Method: "POST", URL: url + "/orders"},
				Page:     &check.Page{URL: url + tt.path, Form: tt.form},
			})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if report.Sent != 0 {
				t.Errorf("%d requests were sent", report.Sent)
			}
		})
	}
	profile, _ := check.ProfileNamed("form")
	for want, c := range map[string]check.Config{
		"is not a form":             {Template: check.Template{Method: "POST", URL: url, Header: []wire.Field{{Name: "content-type", Value: "application/json"}}}, Page: &check.Page{URL: url}},
		"http:// or https://":       {Template: check.Template{Method: "POST", URL: url}, Page: &check.Page{URL: "/orders/new"}},
		"unknown place {{nothing}}": {Template: check.Template{Method: "POST", URL: url}, Page: &check.Page{URL: url + "/{{nothing}}"}},
	} {
		c.Profile = profile
		if _, err := check.NewPlan(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// scripted receives JSON from a page's script: a token of the page, if it has any, and an amount. It does not repeat a
// request.
type scripted struct {
	counter

	tokenOnly bool // whatever else is sent under the token
	fixed     bool // no other amount than 12 will do

	mu   sync.Mutex // guards the field below
	made map[string]int64
}

func (s *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Token  string
		Amount int
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if json.NewDecoder(r.Body).Decode(&asked) != nil || s.fixed && asked.Amount != 12 {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	said := asked.Token
	if !s.tokenOnly {
		said += fmt.Sprint(" ", asked.Amount)
	}
	id, again := s.made[said]
	if !again || asked.Token == "" {
		id = s.effects.Add(1)
		s.made[said] = id
	}
	w.WriteHeader(http.StatusCreated)
	_, _ = fmt.Fprintf(w, `{"id":%d}`, id)
}

// TestFormsOfScripts: requests of a page's script are edited as well; if the template leaves nothing open, a value is
// made up, which may be refused.
func TestFormsOfScripts(t *testing.T) {
	t.Parallel()
	const open, closed = `{"token":"{{uuid}}","amount":{{n}}}`, `{"amount":12}`
	for name, tt := range map[string]struct {
		app  *scripted
		body string
		want []string
	}{
		"edited":           {&scripted{}, open, nil},
		"edited, but lost": {&scripted{tokenOnly: true}, open, []string{"FORM-04"}},
		"made up":          {&scripted{}, closed, nil},
		"made up, refused": {&scripted{fixed: true}, closed, []string{
			"FORM-04 incomplete: with another value in its body the form was answered 400 Bad Request: write {{n}} into a field that may differ",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.app.made = map[string]int64{}
			report := runProfile(t, "form", check.Config{
				Template: check.Template{
					Method: "POST", URL: serve(t, tt.app), Body: []byte(tt.body),
					Header: []wire.Field{{Name: "Content-Type", Value: "application/json"}},
				},
				Counters: []check.Counter{tt.app}, Only: []string{"FORM-04"},
			})
			wantFaults(t, report, tt.want...)
		})
	}
}
