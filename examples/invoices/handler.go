package invoices

import (
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"github.com/semel-dev/semel/web"
)

// maxBodyBytes bounds what is read of one request.
const maxBodyBytes = 1 << 20

const contentPolicy = "default-src 'self'; base-uri 'self'; form-action 'self'; object-src 'none'"

var (
	errMalformed = errors.New("the request could not be read")
	errMethod    = errors.New("this address does not take that method")
	errMediaType = errors.New("send the body as Content-Type: application/json")
)

// Handler returns the whole application: pages below /, the JSON API below /api/.
func (a *App) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/invoices", http.StatusSeeOther)
	})
	mux.HandleFunc("GET /static/style.css", a.serveStyle)
	mux.HandleFunc("GET /static/icon.svg", a.serveIcon)

	if a.opts.Guard {
		mux.Handle("GET /semel/", http.StripPrefix("/semel", web.Handler()))
	}

	mux.Handle("GET /invoices", a.page(a.showInvoices))
	mux.Handle("GET /invoices/new", a.page(a.showInvoiceForm))
	mux.Handle("POST /invoices", a.page(a.submitInvoice))
	mux.Handle("GET /invoices/{id}", a.page(a.showInvoice))
	mux.Handle("POST /invoices/{id}/payments", a.page(a.submitPayment))
	mux.Handle("GET /customers", a.page(a.showCustomers))
	mux.Handle("POST /customers", a.page(a.submitCustomer))
	mux.Handle("GET /outbox", a.page(a.showOutbox))

	mux.Handle("GET /api/invoices", a.api(a.apiListInvoices))
	mux.Handle("POST /api/invoices", a.api(a.apiCreateInvoice))
	mux.Handle("GET /api/invoices/{id}", a.api(a.apiShowInvoice))
	mux.Handle("POST /api/invoices/{id}/payments", a.api(a.apiCreatePayment))
	mux.Handle("GET /api/customers", a.api(a.apiListCustomers))
	mux.Handle("POST /api/customers", a.api(a.apiCreateCustomer))
	mux.Handle("GET /api/counts", a.api(a.apiCounts))

	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", contentPolicy)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "same-origin")
		header.Set("Cache-Control", "private, no-cache")
		r.Body = http.MaxBytesReader(w, r.Body, maxBodyBytes)
		if fallback, pattern := mux.Handler(r); pattern == "" {
			a.serveUnrouted(w, r, fallback)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// serveUnrouted says 404 or 405, as the mux found, in the form the caller reads.
func (a *App) serveUnrouted(w http.ResponseWriter, r *http.Request, fallback http.Handler) {
	found := statusRecorder{header: w.Header(), status: http.StatusOK}
	fallback.ServeHTTP(&found, r)
	err := errNotFound
	if found.status == http.StatusMethodNotAllowed {
		err = errMethod
	}
	if strings.HasPrefix(r.URL.Path, "/api/") {
		a.writeProblem(w, r, err)
		return
	}
	a.writeErrorPage(w, r, err)
}

// statusRecorder keeps what a handler would answer, without its body.
type statusRecorder struct {
	header http.Header
	status int
}

// Header implements [http.ResponseWriter].
func (s *statusRecorder) Header() http.Header { return s.header }

// WriteHeader implements [http.ResponseWriter].
func (s *statusRecorder) WriteHeader(status int) { s.status = status }

// Write implements [http.ResponseWriter]; the bytes are dropped.
func (s *statusRecorder) Write(p []byte) (int, error) { return len(p), nil }

// status is the one table from errors to answers. What is not in it is an
// internal error, whose text goes to the log and not to the caller.
func (a *App) status(r *http.Request, err error) (status int, detail string) {
	_, tooLarge := errors.AsType[*http.MaxBytesError](err)
	_, wrong := errors.AsType[fieldErrors](err)
	switch {
	case tooLarge:
		return http.StatusRequestEntityTooLarge, "the request must be at most " + strconv.Itoa(maxBodyBytes) + " bytes"
	case wrong:
		return http.StatusUnprocessableEntity, "some fields need another value"
	case errors.Is(err, errNotFound):
		return http.StatusNotFound, errNotFound.Error()
	case errors.Is(err, errMethod):
		return http.StatusMethodNotAllowed, errMethod.Error()
	case errors.Is(err, errMediaType):
		return http.StatusUnsupportedMediaType, errMediaType.Error()
	case errors.Is(err, errMalformed):
		return http.StatusBadRequest, err.Error()
	case errors.Is(err, errClosing):
		return http.StatusServiceUnavailable, errClosing.Error()
	}
	a.opts.Logger.ErrorContext(r.Context(), "request failed",
		slog.String("method", r.Method), slog.String("path", r.URL.Path), slog.Any("error", err))
	return http.StatusInternalServerError, "something went wrong on our side; it has been logged"
}

// pathID reads {id}; whatever is not a positive integer is not found.
func pathID(r *http.Request) (int64, error) {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil || id <= 0 {
		return 0, errNotFound
	}
	return id, nil
}
