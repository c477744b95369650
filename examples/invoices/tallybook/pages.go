package tallybook

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

var (
	//go:embed templates
	templateFiles embed.FS
	//go:embed static/style.css
	styleSheet []byte
	//go:embed static/icon.svg
	icon []byte
	//go:embed static/quick.js
	quickScript []byte
)

// view is the data of every template.
type view struct {
	Site    string
	Banner  string
	Tone    Tone
	Guard   bool
	Token   string // for a hidden field of the page's form; empty for none
	Section string // the entry of the navigation that is current
	Counts  Counts
	Flash   string
	Errors  FieldErrors
	Data    any
}

// parsePages joins each page with the common layout.
func parsePages() (map[string]*template.Template, error) {
	functions := template.FuncMap{
		"money":    formatAmount,
		"when":     func(t time.Time) string { return t.UTC().Format("2 Jan 2006, 15:04:05") },
		"stamp":    func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"sentence": sentence,
	}
	layout, err := template.New("layout").Funcs(functions).ParseFS(templateFiles, "templates/layout.html")
	if err != nil {
		return nil, fmt.Errorf("parse layout: %w", err)
	}
	pages := map[string]*template.Template{}
	for _, name := range []string{"invoices", "invoice_form", "quick", "invoice", "customers", "outbox", "error"} {
		page, err := layout.Clone()
		if err == nil {
			page, err = page.ParseFS(templateFiles, "templates/"+name+".html")
		}
		if err != nil {
			return nil, fmt.Errorf("parse page %s: %w", name, err)
		}
		pages[name] = page
	}
	return pages, nil
}

// sentence makes an error's text fit for a page: a capital and a full stop,
// where its language has not given it one.
func sentence(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	text = string(unicode.ToUpper(first)) + text[size:]
	if last, _ := utf8.DecodeLastRuneInString(text); strings.ContainsRune(".?!。।", last) {
		return text
	}
	return text + "."
}

// page turns a function into a handler that gives its visitor a session and
// shows an error page when the function fails.
func (s *Site) page(serve func(w http.ResponseWriter, r *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = startSession(w, r, s.doors.Visitor)
		if err := serve(w, r); err != nil {
			s.writeErrorPage(w, r, err)
		}
	})
}

func (s *Site) showInvoices(w http.ResponseWriter, r *http.Request) error {
	found, err := s.db.listInvoices(r.Context())
	if err != nil {
		return err
	}
	return s.render(w, r, http.StatusOK, "invoices", view{Section: "invoices", Data: found})
}

// invoiceForm is the form as the visitor typed it.
type invoiceForm struct {
	CustomerID, Amount, Currency, Note string

	Customers  []Customer
	Currencies []string
}

func (s *Site) showInvoiceForm(w http.ResponseWriter, r *http.Request) error {
	return s.renderInvoiceForm(w, r, invoiceForm{CustomerID: r.URL.Query().Get("customer_id")}, http.StatusOK, nil)
}

func (s *Site) renderInvoiceForm(w http.ResponseWriter, r *http.Request, form invoiceForm, status int, wrong FieldErrors) error {
	var err error
	if form.Customers, err = s.db.listCustomers(r.Context()); err != nil {
		return err
	}
	form.Currencies = currencies()
	return s.render(w, r, status, "invoice_form", view{Section: "invoices", Errors: wrong, Data: form})
}

// showQuick shows the page that creates an invoice with a script, without a form.
func (s *Site) showQuick(w http.ResponseWriter, r *http.Request) error {
	customers, err := s.db.listCustomers(r.Context())
	if err != nil {
		return err
	}
	return s.render(w, r, http.StatusOK, "quick", view{Section: "invoices", Data: customers})
}

func serveQuickScript(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
	_, _ = w.Write(quickScript) // the browser may be gone
}

func (s *Site) submitInvoice(w http.ResponseWriter, r *http.Request) error {
	posted, err := readForm(r)
	if err != nil {
		return err
	}
	form := invoiceForm{
		CustomerID: posted.Get("customer_id"), Amount: posted.Get("amount"),
		Currency: posted.Get("currency"), Note: posted.Get("note"),
	}
	cents, wrongAmount := parseAmount(form.Amount)
	customerID, _ := strconv.ParseInt(form.CustomerID, 10, 64) // 0 is not an id
	draft := InvoiceDraft{CustomerID: customerID, AmountCents: cents, Currency: form.Currency, Note: form.Note}

	created, err := s.createInvoice(r.Context(), draft, FieldErrors{}.Add("amount", wrongAmount))
	if status, wrong := s.fixable(r, err); wrong != nil {
		return s.renderInvoiceForm(w, r, form, status, wrong)
	}
	if err != nil {
		return err
	}
	redirect(w, r, "/invoices/"+strconv.FormatInt(created.ID, 10), "Invoice "+created.Number+" created.")
	return nil
}

// invoicePage is an invoice with its payments and the form for another.
type invoicePage struct {
	Invoice  Invoice
	Payments []Payment

	Amount, Method, Reference string
	Methods                   []string
}

func (s *Site) showInvoice(w http.ResponseWriter, r *http.Request) error {
	return s.renderInvoice(w, r, invoicePage{}, http.StatusOK, nil)
}

func (s *Site) renderInvoice(w http.ResponseWriter, r *http.Request, shown invoicePage, status int, wrong FieldErrors) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	if shown.Invoice, err = FindInvoice(r.Context(), s.db, id); err != nil {
		return err
	}
	if shown.Payments, err = s.db.listPayments(r.Context(), id); err != nil {
		return err
	}
	shown.Methods = paymentMethods()
	return s.render(w, r, status, "invoice", view{Section: "invoices", Errors: wrong, Data: shown})
}

func (s *Site) submitPayment(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	posted, err := readForm(r)
	if err != nil {
		return err
	}
	cents, wrongAmount := parseAmount(posted.Get("amount"))
	draft := PaymentDraft{AmountCents: cents, Method: posted.Get("method"), Reference: posted.Get("reference")}

	_, err = s.createPayment(r.Context(), id, draft, FieldErrors{}.Add("amount", wrongAmount))
	if status, wrong := s.fixable(r, err); wrong != nil {
		return s.renderInvoice(w, r, invoicePage{Amount: posted.Get("amount"), Method: draft.Method, Reference: draft.Reference}, status, wrong)
	}
	if err != nil {
		return err
	}
	redirect(w, r, "/invoices/"+strconv.FormatInt(id, 10), "Payment of "+formatAmount(cents)+" recorded.")
	return nil
}

// customersPage is the list with the form for another customer.
type customersPage struct {
	Name, Email string

	Customers []Customer
}

func (s *Site) showCustomers(w http.ResponseWriter, r *http.Request) error {
	return s.renderCustomers(w, r, customersPage{}, http.StatusOK, nil)
}

func (s *Site) renderCustomers(w http.ResponseWriter, r *http.Request, shown customersPage, status int, wrong FieldErrors) error {
	var err error
	if shown.Customers, err = s.db.listCustomers(r.Context()); err != nil {
		return err
	}
	return s.render(w, r, status, "customers", view{Section: "customers", Errors: wrong, Data: shown})
}

func (s *Site) submitCustomer(w http.ResponseWriter, r *http.Request) error {
	posted, err := readForm(r)
	if err != nil {
		return err
	}
	draft := CustomerDraft{Name: posted.Get("name"), Email: posted.Get("email")}

	created, err := s.createCustomer(r.Context(), draft)
	if status, wrong := s.fixable(r, err); wrong != nil {
		return s.renderCustomers(w, r, customersPage{Name: draft.Name, Email: draft.Email}, status, wrong)
	}
	if err != nil {
		return err
	}
	redirect(w, r, "/customers", "Customer "+created.Name+" added.")
	return nil
}

func (s *Site) showOutbox(w http.ResponseWriter, r *http.Request) error {
	found, err := s.db.listEmails(r.Context())
	if err != nil {
		return err
	}
	return s.render(w, r, http.StatusOK, "outbox", view{Section: "outbox", Data: found})
}

func (s *Site) serveStyle(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("ETag", s.styleTag)
	http.ServeContent(w, r, "style.css", time.Time{}, bytes.NewReader(styleSheet))
}

func (s *Site) serveIcon(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "max-age=3600")
	http.ServeContent(w, r, "icon.svg", time.Time{}, bytes.NewReader(icon))
}

// render fills in what every page shows and writes the page as a whole, so
// that a template's trouble never leaves half a page.
func (s *Site) render(w http.ResponseWriter, r *http.Request, status int, name string, v view) error {
	var err error
	if v.Counts, err = s.db.Counts(r.Context()); err != nil {
		return err
	}
	v.Flash = takeFlash(w, r)
	if s.doors.Token != nil {
		v.Token = s.doors.Token(r)
	}
	return s.write(w, status, name, v)
}

func (s *Site) write(w http.ResponseWriter, status int, name string, v view) error {
	v.Site, v.Banner, v.Tone, v.Guard = s.look.Title, s.look.Banner, s.look.BannerTone, s.look.Guard
	var text bytes.Buffer
	if err := s.pages[name].ExecuteTemplate(&text, "layout.html", v); err != nil {
		return fmt.Errorf("render page %s: %w", name, err)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(text.Bytes()) // the client may have gone; nothing to do
	return nil
}

// errorPage is the data of the error page.
type errorPage struct {
	Status        int
	Title, Detail string
}

// writeErrorPage works without the database, which may be the trouble.
func (s *Site) writeErrorPage(w http.ResponseWriter, r *http.Request, err error) {
	status, detail := s.status(r, err)
	counts, _ := s.db.Counts(r.Context()) // zeros when even that fails
	shown := errorPage{Status: status, Title: http.StatusText(status), Detail: detail}
	if err := s.write(w, status, "error", view{Counts: counts, Data: shown}); err != nil {
		http.Error(w, http.StatusText(status), status)
	}
}

// readForm reads a posted form within the body's bound.
func readForm(r *http.Request) (url.Values, error) {
	if err := r.ParseForm(); err != nil {
		return nil, fmt.Errorf("%w: %w", errMalformed, err)
	}
	for _, values := range r.PostForm {
		for i, value := range values {
			values[i] = strings.ToValidUTF8(value, "\uFFFD")
		}
	}
	return r.PostForm, nil
}

// fixable returns how a form is shown again: the status, and what its author can
// fix. wrong is nil for other errors.
func (s *Site) fixable(r *http.Request, err error) (status int, wrong FieldErrors) {
	if err != nil && s.doors.Explain != nil {
		err = s.doors.Explain(r, err)
	}
	if conflict, ok := errors.AsType[*ConflictError](err); ok {
		return http.StatusConflict, conflict.Fields
	}
	wrong, _ = errors.AsType[FieldErrors](err)
	return http.StatusUnprocessableEntity, wrong
}
