package tallybook

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"html/template"
	"log/slog"
	"net/http"
)

const defaultTitle = "Tallybook"

// ErrClosing means that the application was closed while a create was under
// way; nothing was stored.
var ErrClosing = errors.New("the application is shutting down; nothing was stored")

// Tone says how a banner is meant. It changes the symbol and the frame as well
// as the colour.
type Tone string

// The tones of a banner.
const (
	ToneNeutral Tone = ""
	ToneWarning Tone = "warning"
	ToneGood    Tone = "good"
)

// Look is the appearance of the pages of one copy. The zero value is complete.
type Look struct {
	// Title is the name in the page head. Empty means "Tallybook".
	Title string

	// Banner is a sentence shown at the top of every page; empty means none.
	Banner string

	// BannerTone is the tone of Banner. Empty means neutral.
	BannerTone Tone

	// Guard loads Semel's browser client in every page, and marks the forms for
	// it with data-semel. The server does what it always did.
	Guard bool

	// Logger gets one line for every create and every trouble. Nil means silence.
	Logger *slog.Logger
}

// Creates stores the valid drafts of an application. A
// method returns [FieldErrors] or a [*ConflictError] when the caller can fix it.
type Creates interface {
	CreateInvoice(ctx context.Context, draft InvoiceDraft) (Invoice, error)
	CreatePayment(ctx context.Context, invoiceID int64, draft PaymentDraft) (Payment, error)
	CreateCustomer(ctx context.Context, draft CustomerDraft) (Customer, error)
}

// Doors are the middleware in front of the pages and the API.
// The zero value is an open door.
type Doors struct {
	// Form wraps what a form is sent to, API what a program is.
	Form, API func(http.Handler) http.Handler
	// Visitor names a new visitor; nil for any new name.
	Visitor func() string
	// Token makes the text for a hidden field of a form that is about to be
	// shown in answer to r; nil for no such field.
	Token func(r *http.Request) string
	// Explain puts the error of a create into words for the person who sent r,
	// as [FieldErrors] or a [*ConflictError]; nil to leave it as it is.
	Explain func(r *http.Request, err error) error
	// Refuse answers a program whose create met an error, or returns false to
	// leave that to the site; nil to leave all.
	Refuse func(w http.ResponseWriter, r *http.Request, err error) bool
	// Policy says what callers may rely on, at /.well-known/idempotency; nil for
	// nothing there.
	Policy http.Handler
}

// Site serves the pages and the API of an application. [NewSite] is the only
// way to get one; it is safe for concurrent use.
type Site struct {
	look     Look
	doors    Doors
	db       *Database
	creates  Creates
	pages    map[string]*template.Template
	styleTag string // ETag of the style sheet
}

// NewSite returns the site that shows what db holds.
func NewSite(db *Database, creates Creates, doors Doors, look Look) (*Site, error) {
	if look.Title == "" {
		look.Title = defaultTitle
	}
	if look.Logger == nil {
		look.Logger = slog.New(slog.DiscardHandler)
	}
	pages, err := parsePages()
	if err != nil {
		return nil, err
	}
	tag := sha256.Sum256(styleSheet)
	styleTag := `"` + hex.EncodeToString(tag[:8]) + `"`
	return &Site{look: look, doors: doors, db: db, creates: creates, pages: pages, styleTag: styleTag}, nil
}

// createInvoice checks and stores. That the caller has gone does not stop the
// checks; whether it stops the create, the application decides. wrongAmount
// holds the door's findings about the amount.
func (s *Site) createInvoice(ctx context.Context, draft InvoiceDraft, wrongAmount FieldErrors) (Invoice, error) {
	draft = draft.tidy()
	var wrong FieldErrors
	if _, err := FindCustomer(context.WithoutCancel(ctx), s.db, draft.CustomerID); errors.Is(err, ErrNotFound) {
		wrong = wrong.Add("customer_id", ErrCustomerUnknown)
	} else if err != nil {
		return Invoice{}, err
	}
	wrong = append(append(wrong, wrongAmount...), draft.check()...)
	if err := wrong.OrNil(); err != nil {
		return Invoice{}, err
	}
	created, err := s.creates.CreateInvoice(ctx, draft)
	if errors.Is(err, ErrCustomerUnknown) { // gone meanwhile
		return Invoice{}, wrong.Add("customer_id", err)
	}
	if err != nil {
		return Invoice{}, err
	}
	s.look.Logger.InfoContext(ctx, "invoice created", slog.String("number", created.Number))
	return created, nil
}

// createPayment is createInvoice's twin for payments.
func (s *Site) createPayment(ctx context.Context, invoiceID int64, draft PaymentDraft, wrongAmount FieldErrors) (Payment, error) {
	draft = draft.tidy()
	if err := wrongAmount.Add("method", checkMethod(draft.Method)).Add("reference", checkReference(draft.Reference)).OrNil(); err != nil {
		return Payment{}, err
	}
	if _, err := FindInvoice(context.WithoutCancel(ctx), s.db, invoiceID); err != nil {
		return Payment{}, err
	}
	created, err := s.creates.CreatePayment(ctx, invoiceID, draft)
	if err != nil {
		return Payment{}, err
	}
	s.look.Logger.InfoContext(ctx, "payment recorded", slog.Int64("invoice_id", invoiceID), slog.Int64("payment_id", created.ID))
	return created, nil
}

// createCustomer is createInvoice's twin for customers.
func (s *Site) createCustomer(ctx context.Context, draft CustomerDraft) (Customer, error) {
	draft = draft.tidy()
	if err := draft.check().OrNil(); err != nil {
		return Customer{}, err
	}
	created, err := s.creates.CreateCustomer(ctx, draft)
	if err != nil {
		return Customer{}, err
	}
	s.look.Logger.InfoContext(ctx, "customer created", slog.Int64("customer_id", created.ID))
	return created, nil
}
