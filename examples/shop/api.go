package shop

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
)

const (
	maxTextBytes = 500
	maxQuantity  = 1000
)

// idForm matches the ids that a client may choose for an order: a UUID, lower case.
var idForm = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

// wrongError is a mistake that the caller can correct.
type wrongError string

// Error implements error.
func (w wrongError) Error() string { return string(w) }

// api answers with what the handler returns, as JSON.
func (s *Shop) api(handle func(r *http.Request) (status int, answer any, err error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, answer, err := handle(r)
		if err != nil {
			s.refuse(w, r, statusOf(err), err)
			return
		}
		s.writeJSON(w, r, status, answer)
	})
}

// statusOf is the one table from errors to statuses.
func statusOf(err error) int {
	var wrong wrongError
	var tooLong *http.MaxBytesError
	switch {
	case errors.As(err, &wrong):
		return http.StatusUnprocessableEntity
	case errors.As(err, &tooLong):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, errNotFound):
		return http.StatusNotFound
	case errors.Is(err, errIDTaken):
		return http.StatusConflict
	default:
		return http.StatusInternalServerError
	}
}

// refuse answers with an error: its text to the caller when the caller can do
// something about it, otherwise to the log.
func (s *Shop) refuse(w http.ResponseWriter, r *http.Request, status int, err error) {
	text := err.Error()
	if status >= http.StatusInternalServerError {
		s.opts.Logger.ErrorContext(r.Context(), "request failed", slog.String("path", r.URL.Path), slog.Any("error", err))
		text = "something went wrong here"
	}
	if !strings.HasPrefix(r.URL.Path, "/api/") {
		s.writePage(w, r, status, "error.html", map[string]any{"Status": status, "Title": errorTitle(status), "Text": strings.ToUpper(text[:1]) + text[1:] + "."})
		return
	}
	s.writeJSON(w, r, status, map[string]string{"error": text})
}

func (s *Shop) writeJSON(w http.ResponseWriter, r *http.Request, status int, answer any) {
	text, err := json.Marshal(answer)
	if err != nil {
		s.opts.Logger.ErrorContext(r.Context(), "cannot encode the answer", slog.Any("error", err))
		status, text = http.StatusInternalServerError, []byte(`{"error":"something went wrong here"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // the client may be gone
}

func (s *Shop) createOrder(r *http.Request) (int, any, error) {
	var asked order
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		return 0, nil, malformed(err)
	}
	created, err := s.placeOrder(r, asked)
	return http.StatusCreated, created, err
}

// placeOrder checks and stores.
func (s *Shop) placeOrder(r *http.Request, asked order) (order, error) {
	if asked.ID == "" {
		asked.ID = newID()
	}
	asked.Customer, asked.Note = strings.TrimSpace(asked.Customer), strings.TrimSpace(asked.Note)
	switch {
	case !idForm.MatchString(asked.ID):
		return order{}, wrongError("id: a UUID in lower case")
	case asked.Customer == "" || len(asked.Customer) > maxTextBytes:
		return order{}, wrongError("customer: 1 to 500 bytes")
	case len(asked.Note) > maxTextBytes:
		return order{}, wrongError("note: at most 500 bytes")
	}
	return s.db.insertOrder(r.Context(), accountOf(r), asked)
}

func (s *Shop) createLine(r *http.Request) (int, any, error) {
	asked := line{Quantity: 1}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		return 0, nil, malformed(err)
	}
	asked.Order, asked.Item = r.PathValue("order"), strings.TrimSpace(asked.Item)
	switch {
	case asked.Item == "" || len(asked.Item) > maxTextBytes:
		return 0, nil, wrongError("item: 1 to 500 bytes")
	case asked.Quantity < 1 || asked.Quantity > maxQuantity:
		return 0, nil, wrongError("quantity: 1 to 1000")
	}
	created, err := s.db.insertLine(r.Context(), accountOf(r), asked)
	return http.StatusCreated, created, err
}

func (s *Shop) showOrders(r *http.Request) (int, any, error) {
	orders, err := s.db.listOrders(r.Context())
	if err != nil {
		return 0, nil, err
	}
	count, _, err := s.db.counts(r.Context())
	return http.StatusOK, map[string]any{"count": count, "orders": orders}, err
}

func (s *Shop) showLines(r *http.Request) (int, any, error) {
	lines, err := s.db.listLines(r.Context(), "")
	if err != nil {
		return 0, nil, err
	}
	_, count, err := s.db.counts(r.Context())
	return http.StatusOK, map[string]any{"count": count, "lines": lines}, err
}

// malformed says that a body is not JSON of the right shape, unless it could
// not be read at all.
func malformed(err error) error {
	if _, tooLong := errors.AsType[*http.MaxBytesError](err); tooLong {
		return err
	}
	return wrongError("the body is not the JSON expected here: " + err.Error())
}

// newID returns a random UUID (version 4).
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
