package shop_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/examples/shop"
)

const (
	orderID = "6b2f1c1e-0000-4000-8000-000000000001"
	jsonIs  = "application/json"
	formIs  = "application/x-www-form-urlencoded"
)

// customer is a browser: it keeps cookies and follows no redirect.
type customer struct {
	t    *testing.T
	home string
	http *http.Client
}

// setup opens a shop of its own and lets a customer in.
func setup(t *testing.T) customer {
	t.Helper()
	app, err := shop.Open(t.Context(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(app.Handler())
	t.Cleanup(func() {
		server.Close()
		if err := app.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	jar, _ := cookiejar.New(nil)
	c := customer{t: t, home: server.URL, http: &http.Client{
		Jar:           jar,
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	if status, _, _ := c.send(http.MethodGet, "/", "", "", ""); status != http.StatusOK {
		t.Fatalf("first page: got %d, want 200", status)
	}
	return c
}

// send returns what came back; status 0 when nothing did.
func (c customer) send(method, path, key, contentType, body string) (status int, answer string, header http.Header) {
	c.t.Helper()
	r, err := http.NewRequestWithContext(context.WithoutCancel(c.t.Context()), method, c.home+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	r.GetBody = nil // what is lost stays lost
	if key != "" {
		r.Header[http.CanonicalHeaderKey("Idempotency-Key")] = []string{key}
	}
	r.Header.Set("Content-Type", contentType)
	reply, err := c.http.Do(r)
	if err != nil {
		return 0, "", nil
	}
	defer reply.Body.Close()
	text, _ := io.ReadAll(reply.Body)
	return reply.StatusCode, string(text), reply.Header
}

// counts returns how many orders and lines the lists report.
func (c customer) counts() [2]int {
	c.t.Helper()
	var counts [2]int
	for i, path := range []string{"/api/orders", "/api/lines"} {
		_, text, _ := c.send(http.MethodGet, path, "", "", "")
		var list struct {
			Count int `json:"count"`
		}
		if err := json.Unmarshal([]byte(text), &list); err != nil {
			c.t.Fatalf("%s: %v in %q", path, err, text)
		}
		counts[i] = list.Count
	}
	return counts
}

func TestAnOrderSentTwiceIsOneOrder(t *testing.T) {
	t.Parallel()
	c := setup(t)
	var answers []string
	for range 2 {
		status, text, header := c.send(http.MethodPost, "/api/orders", "k1", jsonIs, `{"customer":"Ada","note":"soon"}`)
		answers = append(answers, fmt.Sprint(status, " ", text))
		t.Log(header.Get("Idempotency-Status"))
	}
	if diff := cmp.Diff(answers[0], answers[1]); diff != "" {
		t.Errorf("the second answer differs (-first +second):\n%s", diff)
	}
	if got, want := c.counts(), [2]int{1, 0}; got != want {
		t.Errorf("orders, lines: got %v, want %v", got, want)
	}
	if status, _, _ := c.send(http.MethodPost, "/api/orders", "k1", jsonIs, `{"customer":"Grace"}`); status != http.StatusUnprocessableEntity {
		t.Errorf("other content under the key: got %d, want 422", status)
	}
}

func TestALineFindsTheOrderByTheIDThatTheClientMade(t *testing.T) {
	t.Parallel()
	c := setup(t)
	path := "/api/orders/" + orderID + "/lines"
	if status, _, _ := c.send(http.MethodPost, path, "early", jsonIs, `{"item":"tea"}`); status != http.StatusNotFound {
		t.Errorf("a line before its order: got %d, want 404", status)
	}
	if status, text, _ := c.send(http.MethodPost, "/api/orders", "o", jsonIs, `{"id":"`+orderID+`","customer":"Ada"}`); status != http.StatusCreated {
		t.Fatalf("order: got %d %s, want 201", status, text)
	}
	for range 2 {
		status, text, _ := c.send(http.MethodPost, path, "l", jsonIs, `{"item":"tea","quantity":2}`)
		if status != http.StatusCreated {
			t.Errorf("line: got %d %s, want 201", status, text)
		}
	}
	if got, want := c.counts(), [2]int{1, 1}; got != want {
		t.Errorf("orders, lines: got %v, want %v", got, want)
	}
	if status, _, _ := c.send(http.MethodPost, "/api/orders", "p", jsonIs, `{"id":"`+orderID+`","customer":"Eve"}`); status != http.StatusConflict {
		t.Errorf("another intent with the id: got %d, want 409", status)
	}
	if _, page, _ := c.send(http.MethodGet, "/orders/"+orderID, "", "", ""); !strings.Contains(page, "2 × tea") {
		t.Errorf("the page does not show the line:\n%s", page)
	}
}

func TestTheFormTakesItsKeyFromTheField(t *testing.T) {
	t.Parallel()
	c := setup(t)
	form := url.Values{shop.KeyField: {"k"}, "customer": {"Ada"}}.Encode()
	_, _, first := c.send(http.MethodPost, "/orders", "", formIs, form)
	status, _, second := c.send(http.MethodPost, "/orders", "", formIs, form)
	if status != http.StatusSeeOther || first.Get("Location") == "" || second.Get("Location") != first.Get("Location") {
		t.Errorf("got %d to %q, want 303 to %q", status, second.Get("Location"), first.Get("Location"))
	}
	c.send(http.MethodPost, "/orders", "", formIs, "customer=Ada") // unprotected
	if got, want := c.counts(), [2]int{2, 0}; got != want {
		t.Errorf("orders, lines: got %v, want %v", got, want)
	}
}

func TestWhatIsWrongIsSaid(t *testing.T) {
	t.Parallel()
	c := setup(t)
	tests := []struct {
		name, path, body string
		status           int
		want             string
	}{
		{"no customer", "/api/orders", `{}`, 422, "customer"},
		{"id", "/api/orders", `{"customer":"Ada","id":"7"}`, 422, "UUID"},
		{"note", "/api/orders", `{"customer":"Ada","note":"` + strings.Repeat("n", 501) + `"}`, 422, "note"},
		{"no JSON", "/api/orders", `<xml/>`, 422, "JSON"},
		{"no line", "/api/orders/x/lines", `7`, 422, "JSON"},
		{"item", "/api/orders/x/lines", `{}`, 422, "item"},
		{"quantity", "/api/orders/x/lines", `{"item":"tea","quantity":0}`, 422, "quantity"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			status, text, _ := c.send(http.MethodPost, tt.path, "key "+tt.name, jsonIs, tt.body)
			if status != tt.status || !strings.Contains(text, tt.want) {
				t.Errorf("got %d %s, want %d with %q", status, text, tt.status, tt.want)
			}
		})
	}
}

func TestSigningInAgainKeepsTheIntent(t *testing.T) {
	t.Parallel()
	c := setup(t)
	if status, _, _ := c.send(http.MethodPost, "/sign-in", "", formIs, "account="); status != http.StatusUnprocessableEntity {
		t.Errorf("no name: got %d, want 422", status)
	}
	for range 2 {
		c.send(http.MethodPost, "/sign-out", "", formIs, "")
		c.send(http.MethodGet, "/index.html", "", "", "") // does not start a new session after signing out
		if status, _, _ := c.send(http.MethodPost, "/api/orders", "k", jsonIs, `{"customer":"Ada"}`); status != http.StatusUnauthorized {
			t.Errorf("signed out: got %d, want 401", status)
		}
		c.send(http.MethodPost, "/sign-in", "", formIs, "account=ada")
		if status, _, _ := c.send(http.MethodPost, "/api/orders", "k", jsonIs, `{"customer":"Ada"}`); status != http.StatusCreated {
			t.Errorf("signed in: got %d, want 201", status)
		}
	}
	if got, want := c.counts(), [2]int{1, 0}; got != want {
		t.Errorf("orders, lines: got %v, want %v", got, want)
	}
	c.send(http.MethodPost, "/sign-in", "", formIs, "account=grace")
	c.send(http.MethodPost, "/api/orders", "k", jsonIs, `{"customer":"Ada"}`)
	if got, want := c.counts(), [2]int{2, 0}; got != want {
		t.Errorf("another account, the same key: got %v, want %v", got, want)
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	tests := []struct {
		mode   string
		status int // of the faulty attempt
		orders int // after it
	}{
		{shop.FaultDelay, 201, 1},
		{shop.FaultLoseAnswer, 0, 1},
		{shop.FaultDropBefore, 0, 0},
		{shop.FaultStatus503, 503, 0},
		{shop.FaultCloseAfterRead, 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.mode, func(t *testing.T) {
			t.Parallel()
			c := setup(t)
			if status, text, _ := c.send(http.MethodPost, "/faults", "", jsonIs, `{"mode":"`+tt.mode+`","ms":1,"count":1}`); status != http.StatusOK {
				t.Fatalf("set the fault: got %d %s", status, text)
			}
			status, _, header := c.send(http.MethodPost, "/api/orders", "k", jsonIs, `{"customer":"Ada"}`)
			if status != tt.status {
				t.Errorf("the faulty attempt: got %d, want %d", status, tt.status)
			}
			if tt.mode == shop.FaultStatus503 && header.Get("Retry-After") != "1" {
				t.Errorf("Retry-After: got %q, want 1", header.Get("Retry-After"))
			}
			if got, want := c.counts(), [2]int{tt.orders, 0}; got != want {
				t.Errorf("after the fault: got %v, want %v", got, want)
			}
			if status, text, _ := c.send(http.MethodPost, "/api/orders", "k", jsonIs, `{"customer":"Ada"}`); status != http.StatusCreated {
				t.Errorf("the next attempt: got %d %s, want 201", status, text)
			}
			if got, want := c.counts(), [2]int{1, 0}; got != want {
				t.Errorf("in the end: got %v, want %v", got, want)
			}
			_, state, _ := c.send(http.MethodGet, "/faults", "", "", "")
			if want := `"requests":2`; !strings.Contains(state, want) || !strings.Contains(state, `"count":0`) {
				t.Errorf("state: got %s, want %s and no fault left", state, want)
			}
		})
	}
}

func TestAnotherFaultEndsADelay(t *testing.T) {
	t.Parallel()
	c := setup(t)
	c.send(http.MethodPost, "/faults", "", jsonIs, `{"mode":"delay","ms":60000,"count":1}`)
	answered := make(chan int, 1)
	go func() {
		status, _, _ := c.send(http.MethodPost, "/api/orders", "k", jsonIs, `{"customer":"Ada"}`)
		answered <- status
	}()
	for state := ""; !strings.Contains(state, `"requests":1`); {
		_, state, _ = c.send(http.MethodGet, "/faults", "", "", "")
	}
	c.send(http.MethodPost, "/faults", "", jsonIs, `{}`)
	select {
	case status := <-answered:
		if status != http.StatusCreated {
			t.Errorf("the delayed attempt: got %d, want 201", status)
		}
	case <-time.After(40 * time.Second):
		t.Error("the delayed attempt still waits")
	}
}

func TestAFaultThatIsNoneIsRefused(t *testing.T) {
	t.Parallel()
	c := setup(t)
	for _, body := range []string{`{"mode":"fire"}`, `{"ms":60001}`, `{"count":-1}`, `x`} {
		if status, _, _ := c.send(http.MethodPost, "/faults", "", jsonIs, body); status != http.StatusUnprocessableEntity {
			t.Errorf("%s: got %d, want 422", body, status)
		}
	}
}

func TestPagesAndAssets(t *testing.T) {
	t.Parallel()
	assets := t.TempDir()
	if err := os.WriteFile(filepath.Join(assets, "bundle.js"), []byte("bundle"), 0o600); err != nil {
		t.Fatal(err)
	}
	app, err := shop.Open(t.Context(), t.TempDir(), &shop.Options{Assets: assets})
	if err != nil {
		t.Fatal(err)
	}
	defer app.Close()
	for path, want := range map[string]string{"/": "<h1>", "/style.css": "main", "/assets/bundle.js": "bundle", "/.well-known/idempotency": "Idempotency-Key"} {
		w := httptest.NewRecorder()
		app.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: got %d %s, want %q", path, w.Code, w.Body, want)
		}
	}
}

func TestOpenSaysWhatToDo(t *testing.T) {
	t.Parallel()
	_, err := shop.Open(t.Context(), filepath.Join(t.TempDir(), "absent"), nil)
	if err == nil || !strings.Contains(err.Error(), "-dir") {
		t.Errorf("got %v, want an error that names -dir", err)
	}
}

// The first page leads to every way to order, and says whose account it is.
func TestHome(t *testing.T) {
	t.Parallel()
	c := setup(t)
	home := func() string {
		_, page, _ := c.send(http.MethodGet, "/", "", "", "")
		return page
	}
	page := home()
	for _, want := range []string{"/form.html", "/fetch.html", "/offline.html", "as a guest", "/sign-in", "/sign-out"} {
		if !strings.Contains(page, want) {
			t.Errorf("a guest's first page lacks %q:\n%s", want, page)
		}
	}
	for _, link := range []string{"/form.html", "/fetch.html", "/offline.html"} {
		if status, _, _ := c.send(http.MethodGet, link, "", "", ""); status != http.StatusOK {
			t.Errorf("%s: got %d, want 200", link, status)
		}
	}
	c.send(http.MethodPost, "/sign-in", "", formIs, "account=ada")
	if page := home(); !strings.Contains(page, "<strong>ada</strong>") || strings.Contains(page, `action="/sign-in"`) {
		t.Errorf("the first page does not say that ada is signed in:\n%s", page)
	}
	c.send(http.MethodPost, "/sign-out", "", formIs, "")
	if page := home(); strings.Contains(page, "/form.html") || strings.Contains(page, "/sign-out") {
		t.Errorf("signed out, the first page offers what cannot be done:\n%s", page)
	}
	status, refusal, header := c.send(http.MethodPost, "/orders", "", formIs, "customer=Ada")
	if status != http.StatusUnauthorized || !strings.HasPrefix(header.Get("Content-Type"), "text/html") || !strings.Contains(refusal, `<a href="/">Sign in</a>`) {
		t.Errorf("an order without a session: got %d, want 401 and a page that leads to signing in:\n%s", status, refusal)
	}
}

// Without scripts the form still has a key: what it sends twice is one order.
func TestFormWithoutScripts(t *testing.T) {
	t.Parallel()
	c := setup(t)
	_, page, _ := c.send(http.MethodGet, "/form.html", "", "", "")
	_, rest, _ := strings.Cut(page, `name="semel_key" value="`)
	key, _, found := strings.Cut(rest, `"`)
	if !found {
		t.Fatalf("the form has no key:\n%s", page)
	}
	form := url.Values{"semel_key": {key}, "customer": {"Ada"}}.Encode()
	_, _, first := c.send(http.MethodPost, "/orders", "", formIs, form)
	_, _, second := c.send(http.MethodPost, "/orders", "", formIs, form)
	if first.Get("Location") == "" || first.Get("Location") != second.Get("Location") {
		t.Errorf("the same form led to %q and %q, want one order", first.Get("Location"), second.Get("Location"))
	}
	edited := url.Values{"semel_key": {key}, "customer": {"Grace"}}.Encode() // went back, and typed another name
	status, refusal, _ := c.send(http.MethodPost, "/orders", "", formIs, edited)
	if status != http.StatusUnprocessableEntity {
		t.Errorf("the edited form got %d, want 422 and no second order: %s", status, refusal)
	}
}
