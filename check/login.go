package check

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"slices"
	"strings"

	"github.com/semel-dev/semel/check/internal/place"
	"github.com/semel-dev/semel/check/webform"
	"github.com/semel-dev/semel/check/wire"
)

// logIn logs every user in, once, and checks that all {{var:NAME}} of the request then have a value.
func (s *testRun) logIn(ctx context.Context) error {
	if s.config.Login != nil {
		if s.user == nil {
			s.user = &User{}
		}
		s.jars = map[*User]http.CookieJar{}
		var err error
		if s.user, err = s.logInAs(ctx, s.user); err != nil {
			return fmt.Errorf("log in: %w", err)
		}
		if s.other != nil {
			if s.other, err = s.logInAs(ctx, s.other); err != nil {
				return fmt.Errorf("log in the other user: %w", err)
			}
		}
	}
	if s.config.Page != nil {
		s.openJars()
	}
	if err := s.knowsPlaces("the user", s.user); err != nil {
		return err
	}
	if s.other == nil {
		return nil
	}
	return s.knowsPlaces("the other user", s.other)
}

// openJars gives every user without log-in cookies a jar for those of pages.
func (s *testRun) openJars() {
	if s.jars == nil {
		s.jars = map[*User]http.CookieJar{}
	}
	for _, user := range []*User{s.user, s.other} {
		if s.jars[user] == nil {
			s.jars[user], _ = cookiejar.New(nil) // never fails
		}
	}
}

// logInAs sends the log-in of one user, and returns the user with the values from its answer.
func (s *testRun) logInAs(ctx context.Context, user *User) (*User, error) {
	login := s.config.Login
	known := &User{Header: user.Header, Values: maps.Clone(user.Values)}
	if known.Values == nil {
		known.Values = Values{}
	}
	s.jars[known], _ = cookiejar.New(nil) // never fails
	r, err := s.logInRequest(ctx, known)
	if err != nil {
		return nil, err
	}
	answer, err := s.lookUp(ctx, r)
	if err != nil {
		return nil, err
	}
	if got := (reply{Answer: answer}); !got.fine() {
		secrets := newMasker(s.config, known, s.other)
		secrets.freeze()
		return nil, fmt.Errorf("the answer is %s%s: check its address, its body and the user's values", got, got.words().quoted(secrets.text))
	}
	if login.Page != nil && login.Page.shownAgain(answer, r, &login.Template) {
		return nil, errors.New("its page is shown again: check the fields of its body and the user's values")
	}
	for _, name := range slices.Sorted(maps.Keys(login.Take)) {
		if known.Values["var:"+name], err = pick(answer, login.Take[name]); err != nil {
			return nil, fmt.Errorf("take {{var:%s}}: %w", name, err)
		}
	}
	if !store(s.jars[known], r, answer) && len(login.Take) == 0 {
		return nil, errors.New("the answer sets no cookie, and the log-in does not say what to take from it")
	}
	return known, nil
}

// logInRequest returns the request that logs the user in: the template, or its page's form filled in from the template.
func (s *testRun) logInRequest(ctx context.Context, user *User) (*wire.Request, error) {
	login := s.config.Login
	in := &intent{values: user.Values, user: user}
	if login.Page != nil {
		var err error
		if in.draft, err = s.openPage(ctx, login.Page, &login.Template, in); err != nil {
			return nil, err
		}
	}
	r, err := login.Template.fill(in.values)
	if err != nil {
		return nil, err
	}
	if in.draft != nil {
		if err := in.submit(&r, &login.Template); err != nil {
			return nil, err
		}
	}
	identify(&r, user, user.Values)
	setCookies(&r, in.cookies)
	return &r, nil
}

// shownAgain reports whether an answer is the page with the form that was sent: pages refuse that way.
func (p *Page) shownAgain(answer *wire.Answer, sent *wire.Request, t *Template) bool {
	if answer.Status >= 300 {
		return false
	}
	page, err := webform.Parse(answer.Body, sent.URL)
	if err != nil {
		return false
	}
	_, err = p.choose(page, t, sent.URL)
	return err == nil
}

// knowsPlaces rejects a run whose requests would still contain {{var:NAME}}.
func (s *testRun) knowsPlaces(who string, user *User) error {
	texts := s.config.Template.texts()
	if s.config.Page != nil {
		texts = append(texts, s.config.Page.URL)
	}
	var known Values
	if user != nil {
		known = user.Values
		for _, f := range user.Header {
			texts = append(texts, f.Value)
		}
	}
	for _, name := range place.Names(texts...) {
		if _, ok := known[name]; !ok && isVariable(name) {
			return fmt.Errorf("{{%s}} has no value for %s: give one, or let the log-in take it from its answer", name, who)
		}
	}
	return nil
}

// identify adds the user's own header lines to the request. Those with a place that has no value yet are left out.
func identify(r *wire.Request, user *User, values Values) {
	if user == nil {
		return
	}
	for _, f := range user.Header {
		if value := values.Fill(f.Value); !slices.ContainsFunc(place.Names(value), isVariable) {
			r.Set(f.Name, value)
		}
	}
}

func isVariable(name string) bool { return strings.HasPrefix(name, "var:") }

// setCookies adds cookies to those of the request; of two with the same name, the new one wins.
func setCookies(r *wire.Request, cookies []*http.Cookie) {
	if len(cookies) == 0 {
		return
	}
	var lines []string
	had, _ := http.ParseCookie(r.Value("Cookie")) // none if it cannot be parsed
	for _, c := range had {
		if !slices.ContainsFunc(cookies, func(n *http.Cookie) bool { return n.Name == c.Name }) {
			lines = append(lines, cookieText(c))
		}
	}
	for _, c := range cookies {
		lines = append(lines, cookieText(c))
	}
	r.Set("Cookie", strings.Join(lines, "; "))
}

func cookieText(c *http.Cookie) string {
	if c.Quoted {
		return c.Name + `="` + c.Value + `"`
	}
	return c.Name + "=" + c.Value
}

// cookies returns those that the user's requests carry now; none for users that never logged in.
func (s *testRun) cookies(user *User, values Values) []*http.Cookie {
	jar := s.jars[user]
	at, err := parseTarget(values.Fill(s.config.Template.URL))
	if jar == nil || err != nil {
		return nil
	}
	return jar.Cookies(at)
}

// keepCookies remembers what an answer sets, for later intents of its user.
func (s *testRun) keepCookies(in *intent, r *wire.Request, answer *wire.Answer) {
	if jar := s.jars[in.user]; jar != nil && answer != nil && !in.loggedOut {
		store(jar, r, answer)
	}
}

// store puts the cookies of an answer into the jar, and reports whether there are any.
func store(jar http.CookieJar, r *wire.Request, answer *wire.Answer) bool {
	cookies := (&http.Response{Header: answer.Header}).Cookies()
	jar.SetCookies(r.URL, cookies)
	return len(cookies) > 0
}

// anonymise removes everything that identifies the user: cookies, and either the headers that the configuration names
// for that, or those that services usually read.
func (s *testRun) anonymise(r *wire.Request) {
	r.Del("Cookie")
	if s.config.Login == nil && (s.user == nil || len(s.user.Header) == 0) {
		for _, name := range []string{"Authorization", "X-Api-Key", "apikey", "X-Auth-Token"} {
			r.Del(name)
		}
		return
	}
	for _, f := range s.config.Template.Header {
		if slices.ContainsFunc(place.Names(f.Value), isVariable) {
			r.Del(f.Name)
		}
	}
	if s.user != nil {
		for _, f := range s.user.Header {
			r.Del(f.Name)
		}
	}
}

// out returns the intent as sent by a caller who is not logged in, and whether that makes a difference.
func (p *probe) out(in *intent) (*intent, bool) {
	out := *in
	out.loggedOut = true
	one, err := p.request(in)
	if err != nil {
		return &out, false
	}
	other, err := p.request(&out)
	return &out, err == nil && !slices.Equal(one.Header, other.Header)
}
