package invoices_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/semel-dev/semel/examples/invoices"
	"github.com/semel-dev/semel/internal/claimtest"
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
	must(t, err)
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
	must(t, err)
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

// A page says what was done to it, not what another tab of the browser did to
// another one.
func TestFlashIsForItsPage(t *testing.T) {
	t.Parallel()
	app := open(t)
	var flashes []*http.Cookie
	for range 2 {
		w := send(t, app, http.MethodPost, "/invoices", formMedia, invoiceForm().Encode())
		for _, c := range w.Result().Cookies() {
			if c.Name == "flash" {
				flashes = append(flashes, c)
			}
		}
	}
	if len(flashes) != 2 {
		t.Fatalf("got %d flashes, want one for each invoice", len(flashes))
	}
	show := func(page string, flash *http.Cookie) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, page, http.NoBody)
		r.AddCookie(flash)
		w := httptest.NewRecorder()
		app.Handler().ServeHTTP(w, r)
		return w
	}
	// The second tab was redirected first, so its cookie is the one that is left.
	other := show("/invoices/1", flashes[1])
	if strings.Contains(other.Body.String(), "created.") || strings.Contains(other.Header().Get("Set-Cookie"), "flash") {
		t.Errorf("the page of the first invoice speaks of the second, or spends its sentence: %q", other.Header().Get("Set-Cookie"))
	}
	if own := show("/invoices/2", flashes[1]); !strings.Contains(own.Body.String(), "0002 created.") {
		t.Errorf("the page of the second invoice says nothing:\n%s", own.Body)
	}
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
	must(t, app.Reset(t.Context()))
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
	must(t, first.Close())
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
	must(t, json.Unmarshal(send(t, app, http.MethodGet, "/api/counts", "", "").Body.Bytes(), &got))
	if diff := cmp.Diff(got, map[string]int{"invoices": 1, "payments": 0, "customers": 3, "emails": 1}); diff != "" {
		t.Errorf("counts (-got +want):\n%s", diff)
	}
}

func TestUnreachableDatabaseSaysSoWithoutDetails(t *testing.T) {
	t.Parallel()
	app := openWith(t, "", &invoices.Options{Latency: -1})
	must(t, app.Close())
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

var must = claimtest.NoError
