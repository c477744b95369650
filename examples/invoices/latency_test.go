package invoices_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/semel-dev/semel/examples/invoices"
)

// A client that leaves does not stop the work; its second try makes a second invoice.
func TestTheWorkGoesOnWhenTheClientHasGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		app := openWith(t, "", nil)
		ctx, leave := context.WithCancel(t.Context())
		served := postInBackground(ctx, app)
		synctest.Wait() // the handler talks to the accounting service now
		leave()
		<-served
		if got := counts(t, app); got.Invoices != 1 || got.Emails != 1 {
			t.Errorf("after the client left: %+v, want 1 invoice and 1 e-mail", got)
		}
		<-postInBackground(t.Context(), app)
		if got := counts(t, app); got.Invoices != 2 || got.Emails != 2 {
			t.Errorf("after the retry: %+v, want 2 invoices and 2 e-mails", got)
		}
	})
}

func TestCloseEndsWaitingCreates(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "invoices.db")
		app := openWith(t, path, &invoices.Options{Latency: 20 * time.Second})
		served := postInBackground(t.Context(), app)
		synctest.Wait()
		must(t, app.Close())
		if got := <-served; got != http.StatusServiceUnavailable {
			t.Errorf("got %d, want 503", got)
		}
		if got := counts(t, openWith(t, path, nil)).Invoices; got != 0 {
			t.Errorf("stored %d invoices after saying that nothing was", got)
		}
	})
}

// postInBackground posts one invoice and delivers the status.
func postInBackground(ctx context.Context, app *invoices.App) <-chan int {
	served := make(chan int, 1)
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/invoices", strings.NewReader(invoiceForm().Encode()))
	r.Header.Set("Content-Type", formMedia)
	go func() {
		w := httptest.NewRecorder()
		app.Handler().ServeHTTP(w, r)
		served <- w.Code
	}()
	return served
}
