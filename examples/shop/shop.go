package shop

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/semelhttp"
	"github.com/semel-dev/semel/store/sqlitestore/sqlitetx"
	"github.com/semel-dev/semel/web"
)

const (
	// KeyField is the form field that carries the key of an order form.
	KeyField = "semel_key"

	// maxBodyBytes bounds the body of one request.
	maxBodyBytes = 8 << 20

	// contentPolicy lets pages run and load what the shop itself serves.
	contentPolicy = "default-src 'self'; base-uri 'self'; form-action 'self'; object-src 'none'; frame-ancestors 'none'"
)

// Options are the settings of a [Shop]. The zero value and nil are complete.
type Options struct {
	// Assets is a directory whose files are served below /assets/. Empty means none.
	Assets string

	// Logger gets one line for every trouble. Nil means silence.
	Logger *slog.Logger
}

// Shop is the application. [Open] is the only way to get one; it is safe for
// concurrent use.
type Shop struct {
	opts   Options
	db     *database
	store  *sqlitetx.Store
	guard  *semel.Guard
	faults *Faults
	door   http.Handler
}

// Open opens the shop whose database lies in dir, an existing directory, and
// makes the database where there is none.
func Open(ctx context.Context, dir string, opts *Options) (*Shop, error) {
	s := &Shop{faults: &Faults{}}
	if opts != nil {
		s.opts = *opts
	}
	if s.opts.Logger == nil {
		s.opts.Logger = slog.New(slog.DiscardHandler)
	}
	var err error
	if s.db, err = openDatabase(ctx, dir); err != nil {
		return nil, err
	}
	if err := s.openRecords(ctx); err != nil {
		return nil, errors.Join(err, s.Close()) //nolint:contextcheck // closing is not the caller's to cancel
	}
	return s, nil
}

func (s *Shop) openRecords(ctx context.Context) error {
	var err error
	if s.store, err = sqlitetx.Open(ctx, s.db.db, &sqlitetx.Options{Logger: s.opts.Logger}); err != nil {
		return fmt.Errorf("open the records: %w", err)
	}
	if s.guard, err = semel.New(s.store, nil); err != nil {
		return fmt.Errorf("make the guard: %w", err)
	}
	s.door, err = s.routes()
	return err
}

// Close waits for what is under way and closes the database. Requests after it
// fail.
func (s *Shop) Close() error {
	var errs []error
	if s.guard != nil {
		errs = append(errs, s.guard.Close())
	}
	if s.store != nil {
		errs = append(errs, s.store.Close())
	}
	return errors.Join(append(errs, s.db.db.Close())...)
}

// Handler returns the whole shop.
func (s *Shop) Handler() http.Handler { return s.door }

// routes builds the door: faults outside, then the session, then Semel, then
// the handlers.
func (s *Shop) routes() (http.Handler, error) {
	byHeader, err := s.once(semelhttp.FromHeader(semelhttp.DefaultHeader))
	if err != nil {
		return nil, err
	}
	byField, err := s.once(semelhttp.FromFormField(KeyField))
	if err != nil {
		return nil, err
	}
	pages, err := s.pages()
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("POST /api/orders", s.signedIn(byHeader.Handler(s.api(s.createOrder))))
	mux.Handle("POST /api/orders/{order}/lines", s.signedIn(byHeader.Handler(s.api(s.createLine))))
	mux.Handle("POST /orders", s.signedIn(byField.Handler(http.HandlerFunc(s.submitOrder))))
	mux.Handle("GET /api/orders", s.api(s.showOrders))
	mux.Handle("GET /api/lines", s.api(s.showLines))
	mux.Handle("GET /orders/{id}", s.signedIn(http.HandlerFunc(s.showOrder)))
	mux.Handle("GET /.well-known/idempotency", byHeader.PolicyHandler())
	mux.Handle("GET /.well-known/idempotency/status", s.signedIn(byHeader.StatusHandler())) // the queue asks after a redirect
	mux.HandleFunc("POST /sign-in", s.signIn)
	mux.HandleFunc("POST /sign-out", s.signOut)
	mux.Handle("GET /faults", s.faults)
	mux.Handle("POST /faults", s.faults)
	if s.opts.Assets != "" {
		mux.Handle("GET /assets/", http.StripPrefix("/assets/", http.FileServer(http.Dir(s.opts.Assets))))
	}
	mux.Handle("GET /semel/", http.StripPrefix("/semel", web.Handler()))
	mux.HandleFunc("GET /{$}", s.showHome)
	mux.HandleFunc("GET /form.html", s.showForm)
	mux.Handle("GET /", pages)
	return s.faults.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", contentPolicy)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Cache-Control", "private, no-cache")
		r.Body = http.MaxBytesReader(w, r.Body, maxBodyBytes)
		mux.ServeHTTP(w, r)
	})), nil
}

// once is the middleware that makes a create happen once: rows and outcome
// commit in one transaction. The scope is the account, not the session, so
// that an attempt after signing in again is still the same intent.
func (s *Shop) once(key semelhttp.KeySource) (*semelhttp.Middleware, error) {
	door, err := semelhttp.New(s.guard, semelhttp.ScopeBy(accountOf), &semelhttp.Options{
		Key: key, Transactor: s.store.Transactor(), MaxBodyBytes: maxBodyBytes,
	})
	if err != nil {
		return nil, fmt.Errorf("make the middleware: %w", err)
	}
	return door, nil
}
