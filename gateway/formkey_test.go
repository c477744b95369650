package gateway_test

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/internal/formguard"
	"github.com/semel-dev/semel/internal/must"
)

// bodies returns the bodies of requests.
func bodies(all []received) []string {
	out := make([]string, len(all))
	for i := range all {
		out[i] = all[i].body
	}
	return out
}

// TestFormIntents: which sendings of a form are one intent (promises 2 and 3).
func TestFormIntents(t *testing.T) {
	t.Parallel()
	type sending struct{ body, query string }
	for name, c := range map[string]struct {
		sendings []sending
		want     []string // what arrives
	}{
		"again":                        {[]sending{{"T&a=1", ""}, {"T&a=1", ""}}, []string{"a=1"}},
		"edited":                       {[]sending{{"T&a=1", ""}, {"T&a=2", ""}}, []string{"a=1", "a=2"}},
		"edited and back":              {[]sending{{"T&a=1", ""}, {"T&a=2", ""}, {"T&a=1", ""}}, []string{"a=1", "a=2"}},
		"another order of its fields":  {[]sending{{"T&a=1&b=2", ""}, {"T&b=2&a=1", ""}}, []string{"a=1&b=2", "b=2&a=1"}},
		"another token against forged": {[]sending{{"T&a=1&csrf_token=x", ""}, {"T&a=1&csrf_token=y", ""}}, []string{"a=1&csrf_token=x"}},
		"another query":                {[]sending{{"T&a=1", "?x=1"}, {"T&a=1", "?x=2"}}, []string{"a=1", "a=1"}},
		"the token elsewhere":          {[]sending{{"T&a=1", ""}, {"a=1&T", ""}}, []string{"a=1"}},
		"a field of its own":           {[]sending{{"T&_semel=mine", ""}, {"T&_semel=mine", ""}, {"T&_semel=yours", ""}}, []string{"_semel=mine", "_semel=yours"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &shop{}
			p := openShop(t, s, "", nil).person(t)
			token := "_semel=" + p.token("/new")
			for _, send := range c.sendings {
				if got := p.post("/invoices"+send.query, strings.Replace(send.body, "T", token, 1)); got.status != http.StatusSeeOther {
					t.Errorf("got %d %s", got.status, got.body)
				}
			}
			if diff := cmp.Diff(c.want, bodies(s.posts())); diff != "" {
				t.Errorf("arrived (-want +got):\n%s", diff)
			}
		})
	}
}

// TestFormRace: of sendings that race, one is carried out, and all get its answer (promise 1).
func TestFormRace(t *testing.T) {
	t.Parallel()
	const racers = 8
	entered, leave := make(chan struct{}, racers), make(chan struct{})
	s := &shop{post: func(w http.ResponseWriter, _ *http.Request) {
		entered <- struct{}{}
		<-leave
		w.Header().Set("Location", "/invoices/7")
		w.WriteHeader(http.StatusSeeOther)
	}}
	p := openShop(t, s, "", nil).person(t)
	body := "_semel=" + p.token("/new") + "&a=1"
	answers := make(chan reply, racers)
	var all sync.WaitGroup
	for range racers {
		all.Go(func() { answers <- p.post("/invoices", body) })
	}
	receive(t, entered)
	close(leave)
	all.Wait()
	for range racers {
		if got := <-answers; got.status != http.StatusSeeOther || got.header.Get("Location") != "/invoices/7" {
			t.Errorf("got %d %s", got.status, got.body)
		}
	}
	s.wantPosts(t, 1)
}

// TestFormRefused: a token that is worth nothing refuses the form, and nothing of it reaches the application (promises 5 and 6).
func TestFormRefused(t *testing.T) {
	t.Parallel()
	secret := []byte("0123456789abcdef0123456789abcdef")
	old := must.Get(formguard.NewMinter([][]byte{secret}, &formguard.MinterOptions{Now: func() time.Time { return time.Now().Add(-25 * time.Hour) }}))
	s := &shop{page: func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, `<form method=post action=`+r.URL.Query().Get("to")+`></form>`)
	}}
	d := openShop(t, s, "", func(c *gateway.Config) { c.FormSecrets = [][]byte{secret} })
	p, other := d.person(t), d.person(t)
	mine, theirs, orders := p.token("/?to=/invoices"), other.token("/?to=/invoices"), p.token("/?to=/orders")
	last := mine[len(mine)-6:]
	for name, token := range map[string]string{
		"forged":         mine[:20] + strings.Map(func(r rune) rune { return r ^ 1 }, mine[20:21]) + mine[21:],
		"cut off":        mine[:len(mine)-1],
		"another mac":    strings.TrimSuffix(mine, last) + "AAAAAA",
		"somebody's":     theirs,
		"another form's": orders,
		"too old":        old.Mint("invoices", "visitor\n"+p.cookie("semel_visitor")),
		"nothing in it":  "sm1.",
	} {
		got := p.post("/invoices", "_semel="+url.QueryEscape(token)+"&a=1")
		if got.status != http.StatusConflict || !strings.Contains(got.body, "form-stale") || !strings.Contains(got.header.Get("Content-Type"), "text/html") {
			t.Errorf("%s: got %d %s", name, got.status, got.body)
		}
	}
	s.wantPosts(t, 0)
	if got := p.post("/invoices", "_semel="+mine+"&_semel="+theirs+"&a=1"); got.status != http.StatusSeeOther {
		t.Errorf("one that counts among others: got %d %s", got.status, got.body)
	}
	if got := other.post("/invoices", "_semel="+theirs+"&a=1"); got.status != http.StatusSeeOther {
		t.Errorf("the other one's own: got %d", got.status)
	}
	if diff := cmp.Diff([]string{"a=1", "a=1"}, bodies(s.posts())); diff != "" {
		t.Errorf("arrived (-want +got):\n%s", diff)
	}
}

// TestFormHeaderKey: a key in the header is one as before; a token in it must be good; and neither outranks a token in the form.
func TestFormHeaderKey(t *testing.T) {
	t.Parallel()
	s := &shop{}
	d := openShop(t, s, strings.ReplaceAll(formRules, "form: true", "form: true\n    required: true"), nil)
	p := d.person(t)
	token := p.token("/new")
	const json = "application/json"
	for name, c := range map[string]struct {
		header, contentType, body string
		status                    int
		problem                   string
	}{
		"no key":             {"", json, "{}", http.StatusBadRequest, "key-missing"},
		"a form without any": {"", "application/x-www-form-urlencoded", "a=1", http.StatusBadRequest, "key-missing"},
		"a bad token":        {"sm1.abc", json, "{}", http.StatusBadRequest, "key-invalid"},
	} {
		got := d.person(t).do(http.MethodPost, "/invoices", c.contentType, c.body, "Accept", "application/json", "Idempotency-Key", c.header)
		if c.header == "" {
			got = p.do(http.MethodPost, "/invoices", c.contentType, c.body)
		}
		if got.status != c.status || !strings.Contains(got.body, c.problem) {
			t.Errorf("%s: got %d %s", name, got.status, got.body)
		}
	}
	for _, key := range []string{`"k"`, token} {
		wantOnce(t, key, func() reply {
			return p.do(http.MethodPost, "/invoices", json, `{"key":"`+strings.Trim(key, `"`)+`"}`, "Idempotency-Key", key)
		})
	}
	other := d.person(t)
	other.token("/new")
	if got := other.do(http.MethodPost, "/invoices", json, `{}`, "Idempotency-Key", token, "Accept", "application/json"); got.problem() != "key-invalid" {
		t.Errorf("another reader's token: got %d %s", got.status, got.body)
	}
	// A browser's own keys differ with every sending.
	for i, want := range []string{"executed", "replayed"} {
		got := p.post("/invoices", "_semel="+token+"&a=1", "Idempotency-Key", `"`+strings.Repeat("1", i+1)+`"`)
		wantWord(t, "browser's key", got, want)
	}
	s.wantPosts(t, 3)
}

// TestFormBesideDerived: a form with a token is one for as long as the retention, one without within the window.
func TestFormBesideDerived(t *testing.T) {
	t.Parallel()
	s := &shop{}
	d := openShop(t, s, `version: 1
routes:
  - name: invoices
    match: {methods: [POST], path: /invoices}
    key: {derive: {fields: [amount], window: 10s}}
    form: true
`, nil)
	p := d.person(t)
	token := p.token("/new")
	if got := p.get("/.well-known/semel/new?for=/invoices").body; !strings.Contains(got, `"expires_in_ms":86400000`) {
		t.Errorf("forms can be sent for: %s", got)
	}
	if got := p.get("/.well-known/idempotency", "Accept", "application/json").body; !strings.Contains(got, `"retention_seconds": 10,`) {
		t.Errorf("what has no token is kept for: %s", got)
	}
	for _, c := range []struct{ body, want string }{
		{"_semel=" + token + "&amount=1", "executed"},
		{"_semel=" + token + "&amount=1", "replayed"},
		{"amount=1", "executed"},
		{"amount=1&x=2", "replayed"},
	} {
		wantWord(t, c.body, p.post("/invoices", c.body), c.want)
	}
}

// TestFormIgnore: a rule says itself which fields do not count.
func TestFormIgnore(t *testing.T) {
	t.Parallel()
	s := &shop{}
	p := openShop(t, s, strings.Replace(formRules, "form: true", "form: {field: wish, ignore: [nonce]}", 1), nil).person(t)
	page := p.get("/new")
	_, after, _ := strings.Cut(page.body, `name="wish" value="`)
	token, _, _ := strings.Cut(after, `"`)
	for _, c := range []struct{ body, want string }{
		{"&nonce=1&csrf_token=1", "executed"},
		{"&nonce=2&csrf_token=1", "replayed"},
		{"&nonce=1&csrf_token=2", "executed"},
	} {
		wantWord(t, c.body, p.post("/invoices", "wish="+token+c.body), c.want)
	}
	if got := bodies(s.posts()); len(got) != 2 || strings.Contains(got[0], "wish") {
		t.Errorf("arrived: %q", got)
	}
}

// TestFormStatus: the status URL has the outcome of a request whose key was a token.
func TestFormStatus(t *testing.T) {
	t.Parallel()
	p := openShop(t, &shop{}, "", nil).person(t)
	token := p.token("/new")
	ask := func() string {
		return p.get("/.well-known/idempotency/status?method=POST&path=/invoices", "Idempotency-Key", token, "Accept", "application/json").body
	}
	if got := ask(); !strings.Contains(got, `"absent"`) {
		t.Errorf("before: got %s", got)
	}
	p.do(http.MethodPost, "/invoices", "application/json", "{}", "Idempotency-Key", token)
	if got := ask(); !strings.Contains(got, `"completed"`) {
		t.Errorf("after: got %s", got)
	}
}

// TestImageButtonIsPressedTwice: a double click on an image whose pointer moves is one wish.
func TestImageButtonIsPressedTwice(t *testing.T) {
	t.Parallel()
	s := showing("text/html", `<form method=post action=/invoices><input name=x><input type=image name=go>`)
	p := openShop(t, s, "", nil).person(t)
	page := p.get("/")
	if !strings.Contains(page.body, `<input type="hidden" name="_semel" value="sm1.image.go"><input type=image`) {
		t.Fatalf("got %s", page.body)
	}
	body := "_semel=" + tokensIn(page.body)[0] + "&x=1&_semel=sm1.image.go&go.x="
	p.post("/invoices", body+"10&go.y=5")
	wantWord(t, "two pixels on", p.post("/invoices", body+"12&go.y=5"), "replayed")
	wantWord(t, "edited", p.post("/invoices", strings.Replace(body, "x=1&", "x=2&", 1)+"12&go.y=5"), "executed")
	if diff := cmp.Diff([]string{"x=1&go.x=10&go.y=5", "x=2&go.x=12&go.y=5"}, bodies(s.posts())); diff != "" {
		t.Errorf("arrived (-want +got):\n%s", diff)
	}
}
