package invoices_test

import (
	"context"
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
