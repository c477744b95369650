package check_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/check/wire"
)

// gatehouse logs people in, who then go to the booth with a cookie or a token.
type gatehouse struct {
	booth http.Handler

	mu     sync.Mutex // guards the fields below
	logins []string
	rounds map[string]int // requests with a session, by account
	minted int
	// cookies are the Cookie lines of each key.
	cookies map[string][]string
}

func (g *gatehouse) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/login":
		g.login(w, r)
	case "/ids":
		g.mint(w, r)
	default:
		g.round(w, r)
	}
}

func (g *gatehouse) login(w http.ResponseWriter, r *http.Request) {
	account := r.FormValue("account")
	g.mu.Lock()
	g.logins = append(g.logins, account)
	g.mu.Unlock()
	if r.FormValue("password") != "secret of "+account {
		http.Error(w, "wrong password", http.StatusUnauthorized)
		return
	}
	if r.FormValue("how") == "token" {
		_, _ = fmt.Fprintf(w, `{"token":{"value":%q}}`, account)
		return
	}
	http.SetCookie(w, &http.Cookie{Name: "session", Value: account, Path: "/", Secure: true, HttpOnly: true})
	w.Header().Set("Location", "/home")
	w.WriteHeader(http.StatusSeeOther)
}

func (g *gatehouse) mint(w http.ResponseWriter, r *http.Request) {
	if caller(r) == "" {
		http.Error(w, "who are you?", http.StatusUnauthorized)
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.minted++
	_, _ = fmt.Fprintf(w, `{"ids":["id-%d"]}`, g.minted)
}

// round sets another cookie at every visit; a visitor has the last one or none.
func (g *gatehouse) round(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	if g.rounds == nil {
		g.rounds, g.cookies = map[string]int{}, map[string][]string{}
	}
	g.cookies[keyAlone(r)] = append(g.cookies[keyAlone(r)], r.Header.Get("Cookie"))
	g.rounds[caller(r)]++
	if http.SetCookie(w, &http.Cookie{Name: "round", Value: fmt.Sprint(g.rounds[caller(r)]), Path: "/"}); caller(r) == "" {
		http.SetCookie(w, &http.Cookie{Name: "session", Value: "a guest", Path: "/"})
	}
	g.mu.Unlock()
	g.booth.ServeHTTP(w, r)
}

func password(account string) *check.User {
	return &check.User{Values: check.Values{"var:account": account, "var:password": "secret of " + account}}
}

func loginAt(url, how string) *check.Login {
	return &check.Login{Template: check.Template{
		Method: "POST", URL: strings.TrimSuffix(url, "/tickets") + "/login",
		Header: []wire.Field{{Name: "Content-Type", Value: "application/x-www-form-urlencoded"}},
		Body:   []byte("account={{var:account}}&password={{var:password}}&how=" + how),
	}}
}

func TestUsersLogInOnceAndKeepTheirCookies(t *testing.T) {
	t.Parallel()
	app := &booth{}
	house := &gatehouse{booth: guarded(t, app, semel.Policy{}, nil)}
	report := visit(t, app, house, func(c *check.Config) {
		c.User, c.Other = password("ann"), password("bob")
		c.Login = loginAt(c.Template.URL, "cookie")
	})
	failsOnly(t, report)
	passes(t, report, "ERR-05", "RACE-02", "SCOPE-01", "SCOPE-02", "SCOPE-03", "SCOPE-05")
	if diff := cmp.Diff([]string{"ann", "bob"}, house.logins); diff != "" {
		t.Errorf("log-ins (-want +got):\n%s", diff)
	}
	for key, sent := range house.cookies {
		out := slices.DeleteFunc(slices.Clone(sent), func(line string) bool { return line == "" })
		if len(slices.Compact(out)) > 2 { // of ann, and of bob
			t.Errorf("attempts of the intent %s had the cookies %q", key, sent)
		}
	}
	if !slices.ContainsFunc(slices.Concat(slices.Collect(maps.Values(house.cookies))...), func(line string) bool {
		return strings.HasPrefix(line, "session=ann; round=")
	}) {
		t.Error("what an answer set was never sent again")
	}
	if diff := cmp.Diff([]string{"", "ann", "bob"}, slices.Sorted(maps.Keys(house.rounds))); diff != "" {
		t.Errorf("accounts (-want +got):\n%s", diff)
	}
	logged := exchangesOf(report, "SCOPE-03")
	if out := logged[1].Request; out.Has("Cookie") {
		t.Errorf("logged out, with the cookie %q", out.Value("Cookie"))
	}
}

func exchangesOf(report *check.Report, id string) []check.Exchange {
	at := slices.IndexFunc(report.Results, func(r check.Result) bool { return r.ID == id })
	return report.Results[at].Exchanges
}

func TestUsersTakeTokensFromTheirLogIn(t *testing.T) {
	t.Parallel()
	for name, place := range map[string]func(c *check.Config, f wire.Field){
		"in the request": func(c *check.Config, f wire.Field) { c.Template.Header = append(c.Template.Header, f) },
		"in the user": func(c *check.Config, f wire.Field) {
			c.User.Header, c.Other.Header = []wire.Field{f}, []wire.Field{f}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := &booth{}
			report := visit(t, app, &gatehouse{booth: guarded(t, app, semel.Policy{}, nil)}, func(c *check.Config) {
				c.User, c.Other = password("ann"), password("bob")
				c.Login = loginAt(c.Template.URL, "token")
				c.Login.Take = map[string]string{"token": "/token/value"}
				c.Only = []string{"SCOPE-01", "SCOPE-03", "ERR-05"}
				place(c, wire.Field{Name: "Authorization", Value: "Bearer {{var:token}}"})
			})
			passes(t, report, "SCOPE-01", "SCOPE-03", "ERR-05")
			if out := exchangesOf(report, "SCOPE-03")[1].Request; out.Has("Authorization") {
				t.Errorf("logged out, with %q", out.Value("Authorization"))
			}
		})
	}
}

// TestLoggedOutWithoutUsers: a request with its own credentials is logged out by leaving those out.
func TestLoggedOutWithoutUsers(t *testing.T) {
	t.Parallel()
	app := &booth{}
	report := visit(t, app, guarded(t, app, semel.Policy{}, nil), func(c *check.Config) {
		c.User, c.Other = nil, nil
		for _, name := range []string{"X-API-Key", "apikey", "X-Auth-Token", "Cookie"} {
			c.Template.Header = append(c.Template.Header, wire.Field{Name: name, Value: "a=b"})
		}
		c.Template.Header = append(c.Template.Header, wire.Field{Name: "Authorization", Value: "Bearer ann"})
		c.Only = []string{"SCOPE-03", "ERR-05"}
	})
	failsOnly(t, report)
	passes(t, report, "SCOPE-03", "ERR-05")
	want := []wire.Field{{Name: "Content-Type", Value: "application/json"}}
	out := exchangesOf(report, "SCOPE-03")[1].Request
	out.Del("Idempotency-Key")
	if diff := cmp.Diff(want, out.Header); diff != "" {
		t.Errorf("logged out (-want +got):\n%s", diff)
	}
}

func TestMintedIdsAreTheKeysOfIntents(t *testing.T) {
	t.Parallel()
	app := &booth{}
	profile, _ := check.ProfileNamed("resource")
	house := &gatehouse{booth: front(app, newLocker(app, byBody))}
	report := visit(t, app, house, func(c *check.Config) {
		c.Profile = profile
		c.Template.Body = []byte(`{"id":"{{minted}}","seat":{{n}}}`)
		c.Mint = &check.Mint{
			Template: check.Template{Method: "POST", URL: strings.TrimSuffix(c.Template.URL, "/tickets") + "/ids"},
			Pointer:  "/ids/0",
		}
		c.Only = []string{"RACE-01", "SCOPE-01", "SCOPE-02", "SCOPE-05", "uniq"}
	})
	failsOnly(t, report)
	passes(t, report, "RACE-01", "SCOPE-01", "UNIQ-01", "UNIQ-02", "UNIQ-03")
	if got := exchangesOf(report, "RACE-01"); len(got) == 0 || !strings.Contains(string(got[0].Request.Body), `"id":"id-`) {
		t.Errorf("no minted id in %s", got[0].Request.Body)
	}
	if house.minted == 0 || house.minted > report.LookUps {
		t.Errorf("%d ids were minted, and %d look-ups counted", house.minted, report.LookUps)
	}
}

// byBody identifies an intent by the id in its body.
func byBody(l *locker, w http.ResponseWriter, r *http.Request, _ string) {
	var named struct {
		ID string `json:"id"`
	}
	_ = json.Unmarshal(peek(r), &named)
	busy(http.StatusConflict, "Retry-After", "0")(l, w, r, caller(r)+" "+named.ID)
}

func TestRunsThatCannotBegin(t *testing.T) {
	t.Parallel()
	app := &booth{}
	house := &gatehouse{booth: app}
	url := serve(t, house)
	for name, broken := range map[string]struct {
		edit func(*check.Config)
		says string
	}{
		"wrong password": {
			func(c *check.Config) { c.User.Values["var:password"] = "guess" },
			"log in: the answer is 401 Unauthorized",
		},
		"other's wrong password": {
			func(c *check.Config) {
				c.Other = &check.User{Values: check.Values{"var:account": "bob", "var:password": "x"}}
			},
			"log in the other user: the answer is 401",
		},
		"nobody there": {
			func(c *check.Config) { c.Login.Template.URL = "http://127.0.0.1:1/login" },
			"log in: the service could not be reached",
		},
		"nothing to take": {
			func(c *check.Config) {
				c.Login = loginAt(url, "token")
				c.Login.Take = map[string]string{"token": "/jwt"}
			},
			"log in: take {{var:token}}: the answer has nothing at /jwt",
		},
		"a redirect to take from": {
			func(c *check.Config) { c.Login.Take = map[string]string{"token": "/jwt"} },
			"log in: take {{var:token}}: the answer is 303 See Other",
		},
		"no use": {
			func(c *check.Config) { c.Login = loginAt(url, "token") },
			"sets no cookie, and the log-in does not say what to take",
		},
		"a place without a value": {
			func(c *check.Config) { c.Template.Body = []byte(`{"seat":"{{var:seat}}"}`) },
			"{{var:seat}} has no value for the user",
		},
		"no ids": {
			func(c *check.Config) {
				c.Template.Body = []byte(`{"seat":"{{minted}}"}`)
				c.Mint = &check.Mint{Template: check.Template{Method: "POST", URL: url + "/ids"}, Pointer: "/ids/1"}
			},
			"mint an id: the answer has nothing at /ids/1",
		},
		"no right to ids": {
			func(c *check.Config) {
				c.Login, c.User = nil, nil
				c.Template.Body = []byte(`{"seat":"{{minted}}"}`)
				c.Mint = &check.Mint{Template: check.Template{Method: "POST", URL: url + "/ids"}, Pointer: "/ids/0"}
			},
			"mint an id: the answer is 401 Unauthorized",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := check.Config{
				Template: check.Template{Method: "POST", URL: url + "/tickets", Body: []byte(`{"seat":{{n}}}`)},
				Profile:  check.Profiles()[0], User: password("ann"), Login: loginAt(url, "cookie"),
			}
			broken.edit(&config)
			report, err := tryOut(t, config)
			if err == nil || !strings.Contains(err.Error(), broken.says) {
				t.Errorf("the run ended with %v, want %q in it", err, broken.says)
			}
			if report.Sent > 0 {
				t.Errorf("%d requests were sent", report.Sent)
			}
		})
	}
}

// guardedLogin is a page whose form logs in only with the token and the cookie of that page, and that shows itself
// again if the password is wrong.
type guardedLogin struct {
	app    http.Handler
	mu     sync.Mutex // guards the fields below
	tokens map[string]string
	logins int
}

func (g *guardedLogin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/login" {
		if session, err := r.Cookie("session"); err != nil || session.Value != "ann" {
			http.Redirect(w, r, "/login", http.StatusSeeOther)
			return
		}
		g.app.ServeHTTP(w, r)
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if r.Method == http.MethodPost {
		g.logins++
		visitor, err := r.Cookie("visitor")
		if err != nil || g.tokens[visitor.Value] != r.PostFormValue("csrf") || r.Header.Get("Referer") == "" {
			http.Error(w, "forged", http.StatusForbidden)
			return
		}
		if r.PostFormValue("password") == "secret of ann" {
			http.SetCookie(w, &http.Cookie{Name: "session", Value: r.PostFormValue("account"), Path: "/"})
			http.Redirect(w, r, "/", http.StatusSeeOther)
			return
		}
	}
	visitor := fmt.Sprintf("visitor-%d", len(g.tokens))
	g.tokens[visitor] = "token of " + visitor
	http.SetCookie(w, &http.Cookie{Name: "visitor", Value: visitor, Path: "/"})
	_, _ = fmt.Fprintf(w, `<form method="post" action="/login"><input type="hidden" name="csrf" value="token of %s">
		<input name="account"><input type="password" name="password"><button>Log in</button></form>`, visitor)
}

// TestLoginByPage: a form with CSRF protection requires a visit to its page first.
func TestLoginByPage(t *testing.T) {
	t.Parallel()
	for name, given := range map[string]struct {
		password, words string
		without         bool
	}{
		"right":        {password: "secret of ann"},
		"wrong":        {password: "guess", words: "its page is shown again"},
		"without page": {password: "secret of ann", without: true, words: "403 Forbidden: \"forged\""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := &counter{}
			gate := &guardedLogin{app: app, tokens: map[string]string{}}
			server := httptest.NewServer(gate)
			defer server.Close()
			login := &check.Login{
				Template: check.Template{
					Method: http.MethodPost, URL: server.URL + "/login", Body: []byte("account=ann&password={{var:password}}"),
					Header: []wire.Field{{Name: "Content-Type", Value: "application/x-www-form-urlencoded"}},
				},
				Page: &check.Page{URL: server.URL + "/login"},
			}
			if given.without {
				login.Page = nil
			}
			profile, _ := check.ProfileNamed("ietf")
			report, err := tryOut(t, check.Config{
				Template: check.Template{Method: http.MethodPost, URL: server.URL + "/things", Body: []byte(`{"n":{{n}}}`)},
				Profile:  profile, Login: login, User: &check.User{Values: check.Values{"var:password": given.password}},
				Counters: []check.Counter{app}, Only: []string{"BASIC-01"},
			})
			if given.words != "" {
				if err == nil || !strings.Contains(err.Error(), given.words) {
					t.Errorf("got %v, want an error with %q", err, given.words)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := verdicts(report)["BASIC-01"]; got != check.Pass || gate.logins != 1 {
				t.Errorf("got %s after %d log-ins, want a pass after one", got, gate.logins)
			}
		})
	}
}
