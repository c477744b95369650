package invoices_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/semel-dev/semel/examples/invoices"
)

const (
	formMedia = "application/x-www-form-urlencoded"
	jsonMedia = "application/json"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open returns an application without latency on a private database.
func open(t *testing.T) *invoices.App {
	t.Helper()
	return openWith(t, "", &invoices.Options{Latency: -1})
}

func openWith(t *testing.T, path string, opts *invoices.Options) *invoices.App {
	t.Helper()
	app, err := invoices.Open(path, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := app.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return app
}

func counts(t *testing.T, app *invoices.App) invoices.Counts {
	t.Helper()
	c, err := app.Counts(context.WithoutCancel(t.Context())) // also in cleanups
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// send runs one request through the application, without a network.
func send(t *testing.T, app *invoices.App, method, target, media, body string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
	if media != "" {
		r.Header.Set("Content-Type", media)
	}
	w := httptest.NewRecorder()
	app.Handler().ServeHTTP(w, r)
	return w
}

func invoiceForm() url.Values {
	return url.Values{"customer_id": {"1"}, "amount": {"1 250,50"}, "currency": {"SEK"}, "note": {"Bread"}}
}

// The example is only worth something while it really has the bug.
func TestTheBug(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, path, media, body string
		want                    invoices.Counts
	}{
		{
			"form", "/invoices", formMedia, invoiceForm().Encode(),
			invoices.Counts{Invoices: 3, Customers: 3, Emails: 3},
		},
		{
			"api", "/api/invoices", jsonMedia, `{"customer_id":1,"amount_cents":125050}`,
			invoices.Counts{Invoices: 3, Customers: 3, Emails: 3},
		},
		{
			"payment form", "/invoices/1/payments", formMedia, "amount=5&method=cash",
			invoices.Counts{Invoices: 1, Payments: 2, Customers: 3, Emails: 3},
		},
		{
			"payment api", "/api/invoices/1/payments", jsonMedia, `{"amount_cents":500}`,
			invoices.Counts{Invoices: 1, Payments: 2, Customers: 3, Emails: 3},
		},
		{
			"customer form", "/customers", formMedia, "name=Eve&email=eve@example.com",
			invoices.Counts{Invoices: 1, Customers: 5, Emails: 1},
		},
		{
			"customer api", "/api/customers", jsonMedia, `{"name":"Eve","email":"eve@example.com"}`,
			invoices.Counts{Invoices: 1, Customers: 5, Emails: 1},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			app := open(t)
			send(t, app, http.MethodPost, "/invoices", formMedia, invoiceForm().Encode())

			var twins sync.WaitGroup
			for range 2 {
				twins.Go(func() {
					r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, tt.path, strings.NewReader(tt.body))
					r.Header.Set("Content-Type", tt.media)
					r.Header.Set("Idempotency-Key", "the-same-key")
					r.AddCookie(&http.Cookie{Name: "sessionid", Value: "the-same-visitor"})
					w := httptest.NewRecorder()
					app.Handler().ServeHTTP(w, r)
					if w.Code != http.StatusSeeOther && w.Code != http.StatusCreated {
						t.Errorf("%s: got %d: %s", tt.path, w.Code, w.Body)
					}
				})
			}
			twins.Wait()
			if diff := cmp.Diff(counts(t, app), tt.want); diff != "" {
				t.Errorf("a create sent twice must happen twice here (-got +want):\n%s", diff)
			}
		})
	}
}

func TestCreateInvoiceInABrowser(t *testing.T) {
	t.Parallel()
	app := open(t)
	server := httptest.NewServer(app.Handler())
	t.Cleanup(server.Close)
	jar, _ := cookiejar.New(nil)
	browser := server.Client()
	browser.Jar = jar

	get := func(path string) string {
		t.Helper()
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, http.NoBody)
		return fetch(t, browser, r)
	}
	get("/invoices/new")
	home, _ := url.Parse(server.URL)
	before := jar.Cookies(home)
	if len(before) != 1 || before[0].Name != "sessionid" || len(before[0].Value) < 20 {
		t.Fatalf("first visit: cookies %v, want one long sessionid", before)
	}

	r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/invoices", strings.NewReader(invoiceForm().Encode()))
	r.Header.Set("Content-Type", formMedia)
	shown := fetch(t, browser, r)
	if !regexp.MustCompile(`role="status">.*Invoice INV-\d{4}-0001 created\.`).MatchString(shown) {
		t.Errorf("no flash after creation:\n%s", shown)
	}
	for _, want := range []string{"1\u00a0250.50 SEK", "Ada Bakery", "Bread"} {
		if !strings.Contains(shown, want) {
			t.Errorf("invoice page lacks %q", want)
		}
	}
	if again := get("/invoices/1"); strings.Contains(again, "created.") {
		t.Error("the flash is shown twice")
	}
	if diff := cmp.Diff(jar.Cookies(home)[0].Value, before[0].Value); diff != "" {
		t.Errorf("the session changed (-got +want):\n%s", diff)
	}
	if outbox := get("/outbox"); !regexp.MustCompile(`Your invoice INV-\d{4}-0001`).MatchString(outbox) {
		t.Errorf("no e-mail in the outbox:\n%s", outbox)
	}
}

func fetch(t *testing.T, client *http.Client, r *http.Request) string {
	t.Helper()
	reply, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		t.Fatal(err)
	}
	if reply.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %s\n%s", r.Method, r.URL, reply.Status, text)
	}
	return string(text)
}

func TestCookiesAreKeptFromScripts(t *testing.T) {
	t.Parallel()
	w := send(t, open(t), http.MethodPost, "/invoices", formMedia, invoiceForm().Encode())
	cookies := w.Result().Cookies()
	if len(cookies) != 2 {
		t.Fatalf("got %d cookies, want sessionid and flash", len(cookies))
	}
	for _, c := range cookies {
		if !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" {
			t.Errorf("cookie %s: want HttpOnly, SameSite=Lax, Path=/: %s", c.Name, c)
		}
	}
}

func TestOverpaidIsVisible(t *testing.T) {
	t.Parallel()
	app := open(t)
	send(t, app, http.MethodPost, "/invoices", formMedia, invoiceForm().Encode())
	for _, want := range []string{">open<", ">paid<", ">overpaid<"} {
		if page := send(t, app, http.MethodGet, "/invoices/1", "", "").Body.String(); !strings.Contains(page, want) {
			t.Errorf("invoice page lacks %q:\n%s", want, page)
		}
		send(t, app, http.MethodPost, "/invoices/1/payments", formMedia, "amount=1250.50&method=card")
	}
	page := send(t, app, http.MethodGet, "/invoices/1", "", "").Body.String()
	if want := "2\u00a0501.00 SEK"; !strings.Contains(page, want) {
		t.Errorf("three payments of one invoice: page lacks the overpaid %q:\n%s", want, page)
	}
}

func TestReset(t *testing.T) {
	t.Parallel()
	app := open(t)
	send(t, app, http.MethodPost, "/invoices", formMedia, invoiceForm().Encode())
	send(t, app, http.MethodPost, "/invoices/1/payments", formMedia, "amount=1&method=card")
	send(t, app, http.MethodPost, "/customers", formMedia, "name=Eve&email=eve@example.com")
	if diff := cmp.Diff(counts(t, app), invoices.Counts{Invoices: 1, Payments: 1, Customers: 4, Emails: 2}); diff != "" {
		t.Fatalf("before reset (-got +want):\n%s", diff)
	}
	if err := app.Reset(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(counts(t, app), invoices.Counts{Customers: 3}); diff != "" {
		t.Errorf("after reset (-got +want):\n%s", diff)
	}
	w := send(t, app, http.MethodPost, "/invoices", formMedia, invoiceForm().Encode())
	if got, want := w.Header().Get("Location"), "/invoices/1"; got != want {
		t.Errorf("first invoice after reset: got %q, want %q", got, want)
	}
}

func TestOpenKeepsWhatTheFileHolds(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "odd name?#%41.db")
	first := openWith(t, path, &invoices.Options{Latency: -1})
	send(t, first, http.MethodPost, "/customers", formMedia, "name=Eve&email=eve@example.com")
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second := openWith(t, path, nil)
	if diff := cmp.Diff(counts(t, second), invoices.Counts{Customers: 4}); diff != "" {
		t.Errorf("after reopening (-got +want):\n%s", diff)
	}
	if found, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); len(found) == 0 || found[0] != path {
		t.Errorf("files: %q, want %q among them", found, path)
	}
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "absent", "invoices.db")
	app, err := invoices.Open(path, nil)
	if err == nil {
		_ = app.Close()
		t.Fatal("opened a file in a directory that does not exist")
	}
	if !strings.Contains(err.Error(), path) {
		t.Errorf("error %q does not name the file", err)
	}
}

func TestCountsAPI(t *testing.T) {
	t.Parallel()
	app := open(t)
	send(t, app, http.MethodPost, "/invoices", formMedia, invoiceForm().Encode())
	var got map[string]int
	if err := json.Unmarshal(send(t, app, http.MethodGet, "/api/counts", "", "").Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got, map[string]int{"invoices": 1, "payments": 0, "customers": 3, "emails": 1}); diff != "" {
		t.Errorf("counts (-got +want):\n%s", diff)
	}
}

func TestUnreachableDatabaseSaysSoWithoutDetails(t *testing.T) {
	t.Parallel()
	app := openWith(t, "", &invoices.Options{Latency: -1})
	if err := app.Close(); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/invoices", "/api/invoices"} {
		w := send(t, app, http.MethodGet, path, "", "")
		if w.Code != http.StatusInternalServerError || strings.Contains(w.Body.String(), "sql") {
			t.Errorf("%s: got %d, want 500 without internals: %s", path, w.Code, w.Body)
		}
	}
	if _, err := app.Counts(t.Context()); err == nil {
		t.Error("counted rows in a closed database")
	}
}
