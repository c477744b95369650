package invoices

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
)

// view is what every template gets.
type view struct {
	Site    string
	Banner  string
	Tone    Tone
	Guard   bool
	Section string // the entry of the navigation that is current
	Counts  Counts
	Flash   string
	Errors  fieldErrors
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
	for _, name := range []string{"invoices", "invoice_form", "invoice", "customers", "outbox", "error"} {
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

// sentence makes an error's text fit for a page: a capital and a full stop.
func sentence(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:] + "."
}

// page turns a function into a handler that gives its visitor a session and
// shows an error page when the function fails.
func (a *App) page(serve func(w http.ResponseWriter, r *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		startSession(w, r)
		if err := serve(w, r); err != nil {
			a.writeErrorPage(w, r, err)
		}
	})
}

func (a *App) showInvoices(w http.ResponseWriter, r *http.Request) error {
	found, err := a.db.listInvoices(r.Context())
	if err != nil {
		return err
	}
	return a.render(w, r, http.StatusOK, "invoices", view{Section: "invoices", Data: found})
}

// invoiceForm is the form as the visitor typed it.
type invoiceForm struct {
	CustomerID, Amount, Currency, Note string

	Customers  []customer
	Currencies []string
}

func (a *App) showInvoiceForm(w http.ResponseWriter, r *http.Request) error {
	return a.renderInvoiceForm(w, r, invoiceForm{CustomerID: r.URL.Query().Get("customer_id")}, nil)
}

func (a *App) renderInvoiceForm(w http.ResponseWriter, r *http.Request, form invoiceForm, wrong fieldErrors) error {
	var err error
	if form.Customers, err = a.db.listCustomers(r.Context()); err != nil {
		return err
	}
	form.Currencies = currencies()
	return a.render(w, r, formStatus(wrong), "invoice_form", view{Section: "invoices", Errors: wrong, Data: form})
}

func (a *App) submitInvoice(w http.ResponseWriter, r *http.Request) error {
	posted, err := readForm(r)
	if err != nil {
		return err
	}
	form := invoiceForm{
		CustomerID: posted.Get("customer_id"), Amount: posted.Get("amount"),
		Currency: posted.Get("currency"), Note: posted.Get("note"),
	}
	cents, wrongAmount := parseAmount(form.Amount)
	customerID, _ := strconv.ParseInt(form.CustomerID, 10, 64) // 0 is nobody
	draft := invoiceDraft{CustomerID: customerID, AmountCents: cents, Currency: form.Currency, Note: form.Note}

	ctx, cancel := workContext(r)
	defer cancel()
	created, err := a.createInvoice(ctx, draft, fieldErrors{}.add("amount", wrongAmount))
	if wrong, ok := errors.AsType[fieldErrors](err); ok {
		return a.renderInvoiceForm(w, r, form, wrong)
	}
	if err != nil {
		return err
	}
	setFlash(w, "Invoice "+created.Number+" created.")
	http.Redirect(w, r, "/invoices/"+strconv.FormatInt(created.ID, 10), http.StatusSeeOther)
	return nil
}

// invoicePage is an invoice with its payments and the form for another.
type invoicePage struct {
	Invoice  invoice
	Payments []payment

	Amount, Method string
	Methods        []string
}

func (a *App) showInvoice(w http.ResponseWriter, r *http.Request) error {
	return a.renderInvoice(w, r, invoicePage{}, nil)
}

func (a *App) renderInvoice(w http.ResponseWriter, r *http.Request, shown invoicePage, wrong fieldErrors) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	if shown.Invoice, err = a.db.findInvoice(r.Context(), id); err != nil {
		return err
	}
	if shown.Payments, err = a.db.listPayments(r.Context(), id); err != nil {
		return err
	}
	shown.Methods = paymentMethods()
	return a.render(w, r, formStatus(wrong), "invoice", view{Section: "invoices", Errors: wrong, Data: shown})
}

func (a *App) submitPayment(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	posted, err := readForm(r)
	if err != nil {
		return err
	}
	cents, wrongAmount := parseAmount(posted.Get("amount"))
	draft := paymentDraft{AmountCents: cents, Method: posted.Get("method")}

	ctx, cancel := workContext(r)
	defer cancel()
	_, err = a.createPayment(ctx, id, draft, fieldErrors{}.add("amount", wrongAmount))
	if wrong, ok := errors.AsType[fieldErrors](err); ok {
		return a.renderInvoice(w, r, invoicePage{Amount: posted.Get("amount"), Method: draft.Method}, wrong)
	}
	if err != nil {
		return err
	}
	setFlash(w, "Payment of "+formatAmount(cents)+" recorded.")
	http.Redirect(w, r, "/invoices/"+strconv.FormatInt(id, 10), http.StatusSeeOther)
	return nil
}

// customersPage is the list with the form for another customer.
type customersPage struct {
	Name, Email string

	Customers []customer
}

func (a *App) showCustomers(w http.ResponseWriter, r *http.Request) error {
	return a.renderCustomers(w, r, customersPage{}, nil)
}

func (a *App) renderCustomers(w http.ResponseWriter, r *http.Request, shown customersPage, wrong fieldErrors) error {
	var err error
	if shown.Customers, err = a.db.listCustomers(r.Context()); err != nil {
		return err
	}
	return a.render(w, r, formStatus(wrong), "customers", view{Section: "customers", Errors: wrong, Data: shown})
}

func (a *App) submitCustomer(w http.ResponseWriter, r *http.Request) error {
	posted, err := readForm(r)
	if err != nil {
		return err
	}
	draft := customerDraft{Name: posted.Get("name"), Email: posted.Get("email")}

	ctx, cancel := workContext(r)
	defer cancel()
	created, err := a.createCustomer(ctx, draft)
	if wrong, ok := errors.AsType[fieldErrors](err); ok {
		return a.renderCustomers(w, r, customersPage{Name: draft.Name, Email: draft.Email}, wrong)
	}
	if err != nil {
		return err
	}
	setFlash(w, "Customer "+created.Name+" added.")
	http.Redirect(w, r, "/customers", http.StatusSeeOther)
	return nil
}

func (a *App) showOutbox(w http.ResponseWriter, r *http.Request) error {
	found, err := a.db.listEmails(r.Context())
	if err != nil {
		return err
	}
	return a.render(w, r, http.StatusOK, "outbox", view{Section: "outbox", Data: found})
}

func (a *App) serveStyle(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("ETag", a.styleTag)
	http.ServeContent(w, r, "style.css", time.Time{}, bytes.NewReader(styleSheet))
}

func (a *App) serveIcon(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "max-age=3600")
	http.ServeContent(w, r, "icon.svg", time.Time{}, bytes.NewReader(icon))
}

// render fills in what every page shows and writes the page as a whole, so
// that a template's trouble never leaves half a page.
func (a *App) render(w http.ResponseWriter, r *http.Request, status int, name string, v view) error {
	var err error
	if v.Counts, err = a.db.counts(r.Context()); err != nil {
		return err
	}
	v.Flash = takeFlash(w, r)
	return a.write(w, status, name, v)
}

func (a *App) write(w http.ResponseWriter, status int, name string, v view) error {
	v.Site, v.Banner, v.Tone, v.Guard = a.opts.Title, a.opts.Banner, a.opts.BannerTone, a.opts.Guard
	var text bytes.Buffer
	if err := a.pages[name].ExecuteTemplate(&text, "layout.html", v); err != nil {
		return fmt.Errorf("render page %s: %w", name, err)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(text.Bytes()) // the client may have gone; nothing to do
	return nil
}

// errorPage is what the error page shows.
type errorPage struct {
	Status        int
	Title, Detail string
}

// writeErrorPage works without the database, which may be the trouble.
func (a *App) writeErrorPage(w http.ResponseWriter, r *http.Request, err error) {
	status, detail := a.status(r, err)
	counts, _ := a.db.counts(r.Context()) // zeros when even that fails
	shown := errorPage{Status: status, Title: http.StatusText(status), Detail: detail}
	if err := a.write(w, status, "error", view{Counts: counts, Data: shown}); err != nil {
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

// formStatus is 422 for a form that is shown again with errors.
func formStatus(wrong fieldErrors) int {
	if len(wrong) > 0 {
		return http.StatusUnprocessableEntity
	}
	return http.StatusOK
}
