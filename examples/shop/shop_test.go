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
	"strings"
	"testing"

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
