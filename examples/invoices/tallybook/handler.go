package tallybook

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

// Handler returns the whole site: pages below /, the JSON API below /api/.
func (s *Site) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/invoices", http.StatusSeeOther)
	})
	mux.HandleFunc("GET /static/style.css", s.serveStyle)
	mux.HandleFunc("GET /static/icon.svg", s.serveIcon)
	mux.HandleFunc("GET /static/quick.js", serveQuickScript)

	if s.look.Guard {
		mux.Handle("GET /semel/", http.StripPrefix("/semel", web.Handler()))
	}

	if s.doors.Policy != nil {
		mux.Handle("GET /.well-known/idempotency", s.doors.Policy)
	}

	mux.Handle("GET /invoices", s.page(s.showInvoices))
	mux.Handle("GET /invoices/new", s.page(s.showInvoiceForm))
	mux.Handle("POST /invoices", s.form(s.submitInvoice))
	mux.Handle("GET /invoices/{id}", s.page(s.showInvoice))
	mux.Handle("POST /invoices/{id}/payments", s.form(s.submitPayment))
	mux.Handle("GET /quick", s.page(s.showQuick))
	mux.Handle("GET /customers", s.page(s.showCustomers))
	mux.Handle("POST /customers", s.form(s.submitCustomer))
	mux.Handle("GET /outbox", s.page(s.showOutbox))

	mux.Handle("GET /api/invoices", s.api(s.apiListInvoices))
	mux.Handle("POST /api/invoices", s.creation(s.apiCreateInvoice))
	mux.Handle("GET /api/invoices/{id}", s.api(s.apiShowInvoice))
	mux.Handle("POST /api/invoices/{id}/payments", s.creation(s.apiCreatePayment))
	mux.Handle("GET /api/customers", s.api(s.apiListCustomers))
	mux.Handle("POST /api/customers", s.creation(s.apiCreateCustomer))
	mux.Handle("GET /api/counts", s.api(s.apiCounts))

	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", contentPolicy)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "same-origin")
		header.Set("Cache-Control", "private, no-cache")
		r.Body = http.MaxBytesReader(w, r.Body, maxBodyBytes)
		if fallback, pattern := mux.Handler(r); pattern == "" {
			s.serveUnrouted(w, r, fallback)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// form is page behind the door for forms.
func (s *Site) form(serve func(w http.ResponseWriter, r *http.Request) error) http.Handler {
	return through(s.doors.Form, s.page(serve))
}

// creation is api behind the door for programs.
func (s *Site) creation(serve func(r *http.Request) (answer, error)) http.Handler {
	return through(s.doors.API, s.api(serve))
}

func through(door func(http.Handler) http.Handler, next http.Handler) http.Handler {
	if door == nil {
		return next
	}
	return door(next)
}

// serveUnrouted says 404 or 405, as the mux found, in the form the caller reads.
func (s *Site) serveUnrouted(w http.ResponseWriter, r *http.Request, fallback http.Handler) {
	found := statusRecorder{header: w.Header(), status: http.StatusOK}
	fallback.ServeHTTP(&found, r)
	err := ErrNotFound
	if found.status == http.StatusMethodNotAllowed {
		err = errMethod
	}
	if strings.HasPrefix(r.URL.Path, "/api/") {
		s.writeProblem(w, r, err)
		return
	}
	s.writeErrorPage(w, r, err)
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
func (s *Site) status(r *http.Request, err error) (status int, detail string) {
	_, tooLarge := errors.AsType[*http.MaxBytesError](err)
	_, wrong := errors.AsType[FieldErrors](err)
	switch {
	case tooLarge:
		return http.StatusRequestEntityTooLarge, "the request must be at most " + strconv.Itoa(maxBodyBytes) + " bytes"
	case wrong:
		return http.StatusUnprocessableEntity, "please correct the fields that errors names"
	case errors.Is(err, ErrNotFound):
		return http.StatusNotFound, ErrNotFound.Error()
	case errors.Is(err, errMethod):
		return http.StatusMethodNotAllowed, errMethod.Error()
	case errors.Is(err, errMediaType):
		return http.StatusUnsupportedMediaType, errMediaType.Error()
	case errors.Is(err, errMalformed):
		return http.StatusBadRequest, err.Error()
	case errors.Is(err, ErrClosing):
		return http.StatusServiceUnavailable, ErrClosing.Error()
	}
	s.look.Logger.ErrorContext(r.Context(), "request failed",
		slog.String("method", r.Method), slog.String("path", r.URL.Path), slog.Any("error", err))
	return http.StatusInternalServerError, "something went wrong on our side; it has been logged"
}

// pathID reads {id}; whatever is not a positive integer is not found.
func pathID(r *http.Request) (int64, error) {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil || id <= 0 {
		return 0, ErrNotFound
	}
	return id, nil
}
