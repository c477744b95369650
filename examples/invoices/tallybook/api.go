package tallybook

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"strconv"
)

// answer is the result of an API handler.
type answer struct {
	status   int
	location string
	body     any
}

// problem is an RFC 9457 problem, with the fields at fault as an extension.
type problem struct {
	Type   string      `json:"type"`
	Title  string      `json:"title"`
	Status int         `json:"status"`
	Detail string      `json:"detail"`
	Errors FieldErrors `json:"errors,omitempty"`
}

// api turns a function into a handler that answers JSON, or a problem.
func (s *Site) api(serve func(r *http.Request) (answer, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reply, err := serve(r)
		if err != nil {
			s.writeProblem(w, r, err)
			return
		}
		if reply.location != "" {
			w.Header().Set("Location", reply.location)
		}
		s.writeJSON(w, r, reply.status, "application/json", reply.body)
	})
}

func (s *Site) apiListInvoices(r *http.Request) (answer, error) {
	found, err := s.db.listInvoices(r.Context())
	return answer{status: http.StatusOK, body: map[string]any{"invoices": found}}, err
}

func (s *Site) apiCreateInvoice(r *http.Request) (answer, error) {
	var draft InvoiceDraft
	if err := readJSON(r, &draft); err != nil {
		return answer{}, err
	}
	created, err := s.createInvoice(r.Context(), draft, FieldErrors{}.Add("amount_cents", checkAmount(draft.AmountCents)))
	location := "/api/invoices/" + strconv.FormatInt(created.ID, 10)
	return answer{status: http.StatusCreated, location: location, body: created}, err
}

func (s *Site) apiShowInvoice(r *http.Request) (answer, error) {
	id, err := pathID(r)
	if err != nil {
		return answer{}, err
	}
	found, err := FindInvoice(r.Context(), s.db, id)
	return answer{status: http.StatusOK, body: found}, err
}

func (s *Site) apiCreatePayment(r *http.Request) (answer, error) {
	id, err := pathID(r)
	if err != nil {
		return answer{}, err
	}
	var draft PaymentDraft
	if err := readJSON(r, &draft); err != nil {
		return answer{}, err
	}
	created, err := s.createPayment(r.Context(), id, draft, FieldErrors{}.Add("amount_cents", checkAmount(draft.AmountCents)))
	return answer{status: http.StatusCreated, body: created}, err
}

func (s *Site) apiListCustomers(r *http.Request) (answer, error) {
	found, err := s.db.listCustomers(r.Context())
	return answer{status: http.StatusOK, body: map[string]any{"customers": found}}, err
}

func (s *Site) apiCreateCustomer(r *http.Request) (answer, error) {
	var draft CustomerDraft
	if err := readJSON(r, &draft); err != nil {
		return answer{}, err
	}
	created, err := s.createCustomer(r.Context(), draft)
	return answer{status: http.StatusCreated, body: created}, err
}

func (s *Site) apiCounts(r *http.Request) (answer, error) {
	counts, err := s.db.Counts(r.Context())
	return answer{status: http.StatusOK, body: counts}, err
}

// readJSON reads exactly one JSON value without unknown fields into target.
func readJSON(r *http.Request, target any) error {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != "application/json" {
		return errMediaType
	}
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(target); err != nil {
		return fmt.Errorf("%w: %w", errMalformed, err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		if err == nil {
			err = errors.New("there is more after the first JSON value")
		}
		return fmt.Errorf("%w: %w", errMalformed, err)
	}
	return nil
}

func (s *Site) writeProblem(w http.ResponseWriter, r *http.Request, err error) {
	if s.doors.Refuse != nil && s.doors.Refuse(w, r, err) {
		return
	}
	status, detail := s.status(r, err)
	shown := problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: detail}
	shown.Errors, _ = errors.AsType[FieldErrors](err)
	s.writeJSON(w, r, status, "application/problem+json", shown)
}

func (s *Site) writeJSON(w http.ResponseWriter, r *http.Request, status int, mediaType string, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		s.look.Logger.ErrorContext(r.Context(), "encode answer", slog.Any("error", err))
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", mediaType)
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // the client may have gone; nothing to do
}
