package protected

import (
	"context"
	_ "embed"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"sync"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/dbguard"
	"github.com/semel-dev/semel/examples/invoices/tallybook"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/store/sqlitestore/sqlitetx"
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
	db        *tallybook.Database
	site      *tallybook.Site
	store     *sqlitetx.Store     // the records, in the same file as the rows
	guard     *semel.Guard        // runs an intent once
	rules     *rules.File         // semel.yaml
	conflicts *dbguard.Translator // knows the rules by their indexes

	open      []io.Closer // in the order in which they were opened
	closeOnce sync.Once
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
	db, err := tallybook.OpenDatabase(path, schemaSQL)
	if err != nil {
		return nil, err
	}
	a := &App{db: db, open: []io.Closer{db}}
	look := tallybook.Look{Title: o.Title, Banner: o.Banner, BannerTone: o.BannerTone, Guard: o.Guard, Logger: o.Logger}
	if err := a.protect(look); err != nil {
		_ = a.Close() // the first error says more
		return nil, err
	}
	return a, nil
}

// Close stops creates that wait for their turn and closes the database.
// Requests after it fail. Calling it again returns the same error.
func (a *App) Close() error {
	a.closeOnce.Do(func() {
		for _, open := range slices.Backward(a.open) {
			a.closeErr = errors.Join(a.closeErr, open.Close())
		}
	})
	return a.closeErr
}

// Handler returns the whole application: pages below /, the JSON API below /api/.
func (a *App) Handler() http.Handler { return a.site.Handler() }

// Counts says how many rows each table holds at one instant.
func (a *App) Counts(ctx context.Context) (Counts, error) { return a.db.Counts(ctx) }

// protect puts the rules, the records and the doors around the site.
func (a *App) protect(look tallybook.Look) (err error) {
	if a.rules, err = rules.Parse("semel.yaml", rulesFile); err != nil {
		return err
	}
	a.conflicts = dbguard.NewTranslator(a.rules.Unique)
	if a.store, err = sqlitetx.Open(context.Background(), a.db.DB, &sqlitetx.Options{Logger: look.Logger}); err != nil {
		return err
	}
	a.open = append(a.open, a.store)
	if a.guard, err = semel.New(a.store, nil); err != nil {
		return err
	}
	a.open = append(a.open, a.guard)
	doors, err := a.doors(look.Logger)
	if err != nil {
		return err
	}
	a.site, err = tallybook.NewSite(a.db, a, doors, look)
	return err
}
