package invoices

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

// answer is what an API handler gives back.
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
	Errors fieldErrors `json:"errors,omitempty"`
}

// api turns a function into a handler that answers JSON, or a problem.
func (a *App) api(serve func(r *http.Request) (answer, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reply, err := serve(r)
		if err != nil {
			a.writeProblem(w, r, err)
			return
		}
		if reply.location != "" {
			w.Header().Set("Location", reply.location)
		}
		a.writeJSON(w, r, reply.status, "application/json", reply.body)
	})
}

func (a *App) apiListInvoices(r *http.Request) (answer, error) {
	found, err := a.db.listInvoices(r.Context())
	return answer{status: http.StatusOK, body: map[string]any{"invoices": found}}, err
}

func (a *App) apiCreateInvoice(r *http.Request) (answer, error) {
	var draft invoiceDraft
	if err := readJSON(r, &draft); err != nil {
		return answer{}, err
	}
	ctx, cancel := workContext(r)
	defer cancel()
	created, err := a.createInvoice(ctx, draft, fieldErrors{}.add("amount_cents", checkAmount(draft.AmountCents)))
	location := "/api/invoices/" + strconv.FormatInt(created.ID, 10)
	return answer{status: http.StatusCreated, location: location, body: created}, err
}

func (a *App) apiShowInvoice(r *http.Request) (answer, error) {
	id, err := pathID(r)
	if err != nil {
		return answer{}, err
	}
	found, err := a.db.findInvoice(r.Context(), id)
	return answer{status: http.StatusOK, body: found}, err
}

func (a *App) apiCreatePayment(r *http.Request) (answer, error) {
	id, err := pathID(r)
	if err != nil {
		return answer{}, err
	}
	var draft paymentDraft
	if err := readJSON(r, &draft); err != nil {
		return answer{}, err
	}
	ctx, cancel := workContext(r)
	defer cancel()
	created, err := a.createPayment(ctx, id, draft, fieldErrors{}.add("amount_cents", checkAmount(draft.AmountCents)))
	return answer{status: http.StatusCreated, body: created}, err
}

func (a *App) apiListCustomers(r *http.Request) (answer, error) {
	found, err := a.db.listCustomers(r.Context())
	return answer{status: http.StatusOK, body: map[string]any{"customers": found}}, err
}

func (a *App) apiCreateCustomer(r *http.Request) (answer, error) {
	var draft customerDraft
	if err := readJSON(r, &draft); err != nil {
		return answer{}, err
	}
	ctx, cancel := workContext(r)
	defer cancel()
	created, err := a.createCustomer(ctx, draft)
	return answer{status: http.StatusCreated, body: created}, err
}

func (a *App) apiCounts(r *http.Request) (answer, error) {
	counts, err := a.db.counts(r.Context())
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

func (a *App) writeProblem(w http.ResponseWriter, r *http.Request, err error) {
	status, detail := a.status(r, err)
	wrong, _ := errors.AsType[fieldErrors](err)
	a.writeJSON(w, r, status, "application/problem+json", problem{
		Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: detail, Errors: wrong,
	})
}

func (a *App) writeJSON(w http.ResponseWriter, r *http.Request, status int, mediaType string, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		a.opts.Logger.ErrorContext(r.Context(), "encode answer", slog.Any("error", err))
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", mediaType)
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // the client may have gone; nothing to do
}
