package console_test

import (
	"errors"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/console"
	"github.com/semel-dev/semel/gateway/adminapi"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/schema/dedupe"
	"github.com/semel-dev/semel/semelhttp"
	"github.com/semel-dev/semel/store/memstore"
)

const (
	aliceToken = "alice-0123456789abcdef0123456789abcdef"
	robinToken = "robin-0123456789abcdef0123456789abcdef" // may only look
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a console on a real listener.
type world struct {
	guard *semel.Guard
	store *memstore.Store
	url   string
}

func open(t *testing.T) *world {
	t.Helper()
	return openWith(t, nil)
}

// openWith opens a console with a business database.
func openWith(t *testing.T, database *dedupe.Database) *world {
	t.Helper()
	return openSet(t, console.Options{Database: database})
}

// openSet opens a console with these options, and operators of its own.
func openSet(t *testing.T, o console.Options) *world {
	t.Helper()
	store := memstore.New(nil)
	guard := must.Get(semel.New(store, &semel.Options{SweepEvery: -1}))
	o.API = must.Get(adminapi.New(guard, &adminapi.Options{Tokens: []adminapi.Token{
		must.Get(adminapi.NewToken("alice", aliceToken, false)), must.Get(adminapi.NewToken("robin", robinToken, true)),
	}}))
	server := httptest.NewServer(must.Get(console.New(guard, o)))
	t.Cleanup(func() {
		server.Close()
		if err := errors.Join(guard.Close(), store.Close()); err != nil {
			t.Error(err)
		}
	})
	return &world{guard: guard, store: store, url: server.URL}
}

// begin claims an intent.
func (w *world) begin(t *testing.T, scope, name string) *semel.Claim {
	t.Helper()
	claim, rec, err := w.guard.Begin(t.Context(), semel.Key{Scope: scope, Name: name}, semel.FingerprintOf("x"))
	if err != nil || rec != nil {
		t.Fatalf("begin: got record %v, error %v", rec, err)
	}
	return claim
}

// lose leaves an unknown outcome.
func (w *world) lose(t *testing.T, scope, name, note string) semel.Digest {
	t.Helper()
	claim := w.begin(t, scope, name)
	noError(t, claim.Unknown(note))
	return claim.Digest()
}

// answer leaves an intent that happened.
func (w *world) answer(t *testing.T, scope, name, body string) semel.Digest {
	t.Helper()
	claim := w.begin(t, scope, name)
	response := &semelhttp.Response{Status: 201, Header: http.Header{"Location": {"/invoices/7"}, "X-Note": {body}}, Body: []byte(body)}
	noError(t, claim.Complete(must.Get(response.MarshalBinary()), nil))
	return claim.Digest()
}

// browser is an operator's browser. It follows redirections.
type browser struct {
	*http.Client

	t   *testing.T
	url string
}

func (w *world) browser(t *testing.T) *browser {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &browser{&http.Client{Jar: must.Get(cookiejar.New(nil)), Transport: transport, Timeout: 20 * time.Second}, t, w.url}
}

// logIn returns the browser of an operator that has logged in.
func (w *world) logIn(t *testing.T, token string) *browser {
	t.Helper()
	b := w.browser(t)
	if status, page := b.post("/console/login", url.Values{"token": {token}}); status != http.StatusOK || !strings.Contains(page, "Overview") {
		t.Fatalf("log in: got %d: %s", status, page)
	}
	return b
}

func (b *browser) get(path string) (int, string) {
	b.t.Helper()
	return b.do(must.Get(http.NewRequestWithContext(b.t.Context(), http.MethodGet, b.url+path, nil)))
}

func (b *browser) post(path string, form url.Values) (int, string) {
	b.t.Helper()
	r := must.Get(http.NewRequestWithContext(b.t.Context(), http.MethodPost, b.url+path, strings.NewReader(form.Encode())))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	return b.do(r)
}

func (b *browser) do(r *http.Request) (int, string) {
	b.t.Helper()
	answer, err := b.Do(r)
	noError(b.t, err)
	defer answer.Body.Close()
	return answer.StatusCode, string(must.Get(io.ReadAll(answer.Body)))
}

// hidden returns the value of a hidden field of a page.
func hidden(t *testing.T, page, name string) string {
	t.Helper()
	found := regexp.MustCompile(`name="` + name + `" value="([^"]*)"`).FindStringSubmatch(page)
	if found == nil {
		t.Fatalf("the page has no field %s: %s", name, page)
	}
	return html.UnescapeString(found[1])
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// contains checks what a page says and does not say; a text that begins with ! must not be there.
func contains(t *testing.T, page string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		unwanted, not := strings.CutPrefix(text, "!")
		if strings.Contains(page, unwanted) == not {
			t.Errorf("the page says %q: %v, want %v: %s", unwanted, not, !not, page)
		}
	}
}

// older returns where a list goes on, or "".
func older(page, path string) string {
	_, link, found := strings.Cut(page, `class="more" href="`)
	if !found {
		return ""
	}
	link, _, _ = strings.Cut(link, `"`)
	return path + html.UnescapeString(link)
}
