package invoices

import (
	"context"
	_ "embed"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/semel-dev/semel/examples/invoices/tallybook"
)

//go:embed sql/schema.sql
var schemaSQL string

// Tone says how a banner is meant. It changes the symbol and the frame as well
// as the colour.
type Tone = tallybook.Tone

// The tones of a banner.
const (
	ToneNeutral = tallybook.ToneNeutral
	ToneWarning = tallybook.ToneWarning
	ToneGood    = tallybook.ToneGood
)

// Counts says how many rows each table holds.
type Counts = tallybook.Counts

// Options are the settings of an [App]. The zero value and nil are complete.
type Options struct {
	// Latency is the time that the simulated accounting service takes for every
	// create. Zero means 300 ms, negative means none.
	Latency time.Duration

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

// App is the invoicing application. [Open] is the only way to get one; it is
// safe for concurrent use.
type App struct {
	db      *tallybook.Database
	site    *tallybook.Site
	latency time.Duration

	closeOnce sync.Once
	closing   chan struct{} // closed by Close
	closeErr  error
}

// Open opens the database file at path, creating it if absent, with three
// sample customers if it has none. An empty path means a private temporary
// database that [App.Close] removes.
func Open(path string, opts *Options) (*App, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Latency == 0 {
		o.Latency = defaultLatency
	}
	db, err := tallybook.OpenDatabase(path, schemaSQL)
	if err != nil {
		return nil, err
	}
	a := &App{db: db, latency: o.Latency, closing: make(chan struct{})}
	look := tallybook.Look{Title: o.Title, Banner: o.Banner, BannerTone: o.BannerTone, Guard: o.Guard, Logger: o.Logger}
	if a.site, err = tallybook.NewSite(db, a, tallybook.Doors{}, look); err != nil {
		_ = db.Close() // the first error says more
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
		a.closeErr = a.db.Close()
	})
	return a.closeErr
}

// Handler returns the whole application: pages below /, the JSON API below /api/.
func (a *App) Handler() http.Handler { return a.site.Handler() }

// Counts says how many rows each table holds at one instant.
func (a *App) Counts(ctx context.Context) (Counts, error) { return a.db.Counts(ctx) }

// Reset empties every table and puts the three sample customers back. Ids
// start at 1 again. A create that is under way stores its row afterwards.
func (a *App) Reset(ctx context.Context) error { return a.db.Reset(ctx) }
