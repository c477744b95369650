package invoices

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"sync"
	"time"
)

const (
	defaultLatency = 300 * time.Millisecond
	defaultTitle   = "Tallybook"

	// workTimeout bounds a create, which the client's leaving does not stop.
	workTimeout = 30 * time.Second
)

// errClosing means that Close was called while a create was under way;
// nothing was stored.
var errClosing = errors.New("the application is shutting down; nothing was stored")

// Tone says how a banner is meant. It changes the symbol and the frame as well
// as the colour.
type Tone string

// The tones of a banner.
const (
	ToneNeutral Tone = ""
	ToneWarning Tone = "warning"
	ToneGood    Tone = "good"
)

// Options are the settings of an [App]. The zero value and nil are complete.
type Options struct {
	// Latency is how long the pretended accounting service takes for every
	// create. Zero means 300 ms, negative means none.
	Latency time.Duration

	// Title is the name in the page head. Empty means "Tallybook".
	Title string

	// Banner is a sentence shown at the top of every page; empty means none.
	Banner string

	// BannerTone is how Banner is meant. Empty means neutral.
	BannerTone Tone

	// Guard loads Semel's browser client in every page, and marks the forms for
	// it with data-semel. The server does what it always did.
	Guard bool

	// Logger gets one line for every create and every trouble. Nil means silence.
	Logger *slog.Logger
}

// App is the invoicing application. [Open] is the only way to get one; it is
// safe for concurrent use.
type App struct {
	opts     Options
	db       *database
	pages    map[string]*template.Template
	styleTag string // ETag of the style sheet

	closeOnce sync.Once
	closing   chan struct{} // closed by Close
	closeErr  error
}

// Open opens the database file at path, creating it if absent, with three
// sample customers if it has none. An empty path means a private temporary
// database that [App.Close] removes.
func Open(path string, opts *Options) (*App, error) {
	a := &App{closing: make(chan struct{})}
	if opts != nil {
		a.opts = *opts
	}
	if a.opts.Latency == 0 {
		a.opts.Latency = defaultLatency
	}
	if a.opts.Title == "" {
		a.opts.Title = defaultTitle
	}
	if a.opts.Logger == nil {
		a.opts.Logger = slog.New(slog.DiscardHandler)
	}
	var err error
	if a.pages, err = parsePages(); err != nil {
		return nil, err
	}
	tag := sha256.Sum256(styleSheet)
	a.styleTag = `"` + hex.EncodeToString(tag[:8]) + `"`
	if a.db, err = openDatabase(path); err != nil {
		return nil, err
	}
	return a, nil
}

// Close stops creates that still wait for the accounting service (they store
// nothing and answer 503) and closes the database. Requests after it fail.
// Calling it again returns the same error.
func (a *App) Close() error {
	a.closeOnce.Do(func() {
		close(a.closing)
		a.closeErr = a.db.close()
	})
	return a.closeErr
}

// Counts says how many rows each table holds at one instant.
func (a *App) Counts(ctx context.Context) (Counts, error) {
	return a.db.counts(ctx)
}

// Reset empties every table and puts the three sample customers back. Ids
// start at 1 again. A create that is under way stores its row afterwards.
func (a *App) Reset(ctx context.Context) error {
	return a.db.reset(ctx)
}

// createInvoice checks, waits and stores. wrongAmount is what the door found
// wrong with the amount. The error is fieldErrors when the caller can mend it.
func (a *App) createInvoice(ctx context.Context, draft invoiceDraft, wrongAmount fieldErrors) (invoice, error) {
	draft = draft.tidy()
	var wrong fieldErrors
	if _, err := a.db.findCustomer(ctx, draft.CustomerID); errors.Is(err, errNotFound) {
		wrong = wrong.add("customer_id", errCustomerUnknown)
	} else if err != nil {
		return invoice{}, err
	}
	wrong = append(append(wrong, wrongAmount...), draft.check()...)
	if err := wrong.orNil(); err != nil {
		return invoice{}, err
	}
	if err := a.tellAccounting(ctx); err != nil {
		return invoice{}, err
	}
	created, err := a.db.insertInvoice(ctx, draft)
	if errors.Is(err, errCustomerUnknown) { // gone while we waited
		return invoice{}, wrong.add("customer_id", err)
	}
	if err != nil {
		return invoice{}, err
	}
	a.opts.Logger.InfoContext(ctx, "invoice created", slog.String("number", created.Number))
	return created, nil
}

// createPayment is createInvoice's twin for payments.
func (a *App) createPayment(ctx context.Context, invoiceID int64, draft paymentDraft, wrongAmount fieldErrors) (payment, error) {
	draft = draft.tidy()
	if err := wrongAmount.add("method", checkMethod(draft.Method)).orNil(); err != nil {
		return payment{}, err
	}
	if _, err := a.db.findInvoice(ctx, invoiceID); err != nil {
		return payment{}, err
	}
	if err := a.tellAccounting(ctx); err != nil {
		return payment{}, err
	}
	created, err := a.db.insertPayment(ctx, invoiceID, draft)
	if err != nil {
		return payment{}, err
	}
	a.opts.Logger.InfoContext(ctx, "payment recorded", slog.Int64("invoice_id", invoiceID), slog.Int64("payment_id", created.ID))
	return created, nil
}

// createCustomer is createInvoice's twin for customers.
func (a *App) createCustomer(ctx context.Context, draft customerDraft) (customer, error) {
	draft = draft.tidy()
	if err := draft.check().orNil(); err != nil {
		return customer{}, err
	}
	if err := a.tellAccounting(ctx); err != nil {
		return customer{}, err
	}
	created, err := a.db.insertCustomer(ctx, draft)
	if err != nil {
		return customer{}, err
	}
	a.opts.Logger.InfoContext(ctx, "customer created", slog.Int64("customer_id", created.ID))
	return created, nil
}

// tellAccounting stands for a call to a slow accounting service.
func (a *App) tellAccounting(ctx context.Context) error {
	timer := time.NewTimer(a.opts.Latency)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-a.closing:
		return errClosing
	case <-ctx.Done():
		return fmt.Errorf("tell accounting: %w", ctx.Err())
	}
}

// workContext is the context of a create: as in many real applications, the
// work goes on when the client has gone. That is how a lost answer and a
// second try become two invoices.
func workContext(r *http.Request) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(r.Context()), workTimeout)
}
