package protected_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/semel-dev/semel/examples/invoices"
	"github.com/semel-dev/semel/examples/invoices/protected"
	"github.com/semel-dev/semel/examples/invoices/tallybook"
	"github.com/semel-dev/semel/internal/claimtest"
)

// application is implemented by both copies.
type application interface {
	Handler() http.Handler
	Counts(ctx context.Context) (tallybook.Counts, error)
	Close() error
}

// inBothCopies runs a test on the naive application, which shows that a test can
// fail, and on the protected one.
func inBothCopies(t *testing.T, test func(t *testing.T, at *servedApp)) {
	t.Run("naive", func(t *testing.T) {
		t.Parallel()
		app, err := invoices.Open("", &invoices.Options{Latency: -1})
		must(t, err)
		test(t, serve(t, app))
	})
	t.Run("protected", func(t *testing.T) {
		t.Parallel()
		test(t, open(t))
	})
}

func open(t *testing.T) *servedApp {
	t.Helper()
	app, err := protected.Open("", nil)
	must(t, err)
	at := serve(t, app)
	at.protected = true
	return at
}

// servedApp is an application on the network.
type servedApp struct {
	app       application
	url       string
	protected bool
}

func serve(t *testing.T, app application) *servedApp {
	t.Helper()
	server := httptest.NewServer(app.Handler())
	t.Cleanup(func() {
		server.Close()
		if err := app.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return &servedApp{app: app, url: server.URL}
}

func (p *servedApp) counts(t *testing.T) tallybook.Counts {
	t.Helper()
	counts, err := p.app.Counts(t.Context())
	must(t, err)
	return counts
}

// visitor is a browser without scripts, of one person.
type visitor struct {
	at       string
	client   *http.Client
	language string
}

func (p *servedApp) visitor(t *testing.T) *visitor {
	t.Helper()
	jar, err := cookiejar.New(nil)
	must(t, err)
	transport := &http.Transport{DisableKeepAlives: true}
	client := &http.Client{
		Jar: jar, Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return &visitor{at: p.url, client: client}
}

// reply is an answer with its body.
type reply struct {
	*http.Response

	text string
}

// where is the path that a redirect leads to.
func (r *reply) where() string { return r.Header.Get("Location") }

func (v *visitor) do(ctx context.Context, method, path, media string, body io.Reader, header ...string) (*reply, error) {
	r, err := http.NewRequestWithContext(ctx, method, v.at+path, body)
	if err != nil {
		return nil, err
	}
	if media != "" {
		r.Header.Set("Content-Type", media)
	}
	if v.language != "" {
		r.Header.Set("Accept-Language", v.language)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header[header[i]] = []string{header[i+1]}
	}
	answer, err := v.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return &reply{answer, string(text)}, err
}

func (v *visitor) get(t *testing.T, path string) *reply {
	t.Helper()
	got, err := v.do(t.Context(), http.MethodGet, path, "", http.NoBody)
	must(t, err)
	return got
}

// fill shows a page and fills its form in: hidden fields as they are there.
func (v *visitor) fill(t *testing.T, page string, typed url.Values) *filled {
	t.Helper()
	shown := v.get(t, page)
	root, err := html.Parse(strings.NewReader(shown.text))
	must(t, err)
	f := &filled{by: v, content: url.Values{}}
	for node := range root.Descendants() {
		attributes := map[string]string{}
		for _, a := range node.Attr {
			attributes[a.Key] = a.Val
		}
		switch {
		case node.DataAtom == atom.Form:
			f.action = attributes["action"]
		case attributes["type"] == "hidden":
			f.content.Set(attributes["name"], attributes["value"])
		}
	}
	if f.action == "" {
		t.Fatalf("%s has no form:\n%s", page, shown.text)
	}
	return f.with(typed)
}

// filled is a form that can be sent, as often as one likes.
type filled struct {
	by      *visitor
	action  string
	content url.Values
}

// with is the same rendering of the form with something else typed in.
func (f *filled) with(typed url.Values) *filled {
	again := &filled{by: f.by, action: f.action, content: url.Values{}}
	maps.Copy(again.content, f.content)
	maps.Copy(again.content, typed)
	return again
}

func (f *filled) press(ctx context.Context) (*reply, error) {
	return f.by.do(ctx, http.MethodPost, f.action, "application/x-www-form-urlencoded", strings.NewReader(f.content.Encode()))
}

func (f *filled) send(t *testing.T) *reply {
	t.Helper()
	got, err := f.press(t.Context())
	must(t, err)
	return got
}

// call sends a request as a program does; with an empty key it sends no header.
func (v *visitor) call(ctx context.Context, path, key, body string) (*reply, error) {
	header := []string{}
	if key != "" {
		header = append(header, "idempotency-key", key) // net/http would resend a request with the canonical name on its own
	}
	return v.do(ctx, http.MethodPost, path, "application/json", strings.NewReader(body), header...)
}

func (v *visitor) mustCall(t *testing.T, path, key, body string) *reply {
	t.Helper()
	got, err := v.call(t.Context(), path, key, body)
	must(t, err)
	return got
}

// member is a member at the top of a JSON answer.
func (r *reply) member(t *testing.T, name string) any {
	t.Helper()
	var all map[string]any
	if err := json.NewDecoder(bytes.NewBufferString(r.text)).Decode(&all); err != nil {
		t.Fatalf("%v: %s", err, r.text)
	}
	return all[name]
}

// atOnce lets many do the same at one time, and returns what they got.
func atOnce(t *testing.T, callers int, do func(ctx context.Context, caller int) (*reply, error)) []*reply {
	t.Helper()
	got := make([]*reply, callers)
	start := make(chan struct{})
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			<-start
			var err error
			if got[i], err = do(t.Context(), i); err != nil {
				t.Errorf("caller %d: %v", i, err)
			}
		})
	}
	close(start)
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return got
}

func invoiceForm() url.Values {
	return url.Values{"customer_id": {"1"}, "amount": {"150.00"}, "currency": {"SEK"}, "note": {"Bread"}}
}

const invoiceJSON = `{"customer_id":1,"amount_cents":15000,"currency":"SEK"}`

var must = claimtest.NoError
