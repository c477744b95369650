package demo

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/semel-dev/semel/examples/invoices"
)

//go:embed rules.yaml
var rulesFile []byte

// Options are the settings of [Start]. A nil *Options is complete.
type Options struct {
	// Listen is the address of the page; the two copies get the next two
	// ports, or any that are free. Default: any free port on this machine only.
	Listen string
	// Latency is how long the pretended accounting service behind every create
	// takes. Default: 300 ms; negative for none.
	Latency time.Duration
	// Logger gets what goes wrong. Default: nothing is written.
	Logger *slog.Logger
}

// Demo is the running demonstration. [Start] is the only way to get one.
type Demo struct {
	dir                    string
	unprotected, protected *side
	decisions              *decisions
	news                   news
	page                   *site
}

// Start serves both copies and the page, with databases in a new temporary
// directory. Call Stop to end it.
func Start(ctx context.Context, o *Options) (*Demo, error) {
	opts := Options{}
	if o != nil {
		opts = *o
	}
	if opts.Listen == "" {
		opts.Listen = "127.0.0.1:0"
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	d := &Demo{}
	d.decisions = newDecisions(opts.Logger.Handler(), d.news.tell)
	if err := d.start(ctx, &opts); err != nil {
		return nil, errors.Join(err, d.Stop(ctx))
	}
	return d, nil
}

func (d *Demo) start(ctx context.Context, opts *Options) error {
	listener, err := listen(ctx, opts.Listen)
	if err != nil {
		return err
	}
	if err := d.startCopies(ctx, opts, listener.Addr().String()); err != nil {
		return errors.Join(err, listener.Close())
	}
	d.page = serve(ctx, listener, d.pageHandler(), opts.Logger)
	return nil
}

// startCopies serves both copies beside the page.
func (d *Demo) startCopies(ctx context.Context, opts *Options, page string) error {
	var err error
	if d.dir, err = os.MkdirTemp("", "semel-demo-"); err != nil {
		return fmt.Errorf("make a directory for the databases: %w", err)
	}
	if err := d.startUnprotected(ctx, opts, page); err != nil {
		return err
	}
	return d.startProtected(ctx, opts, page)
}

func (d *Demo) startUnprotected(ctx context.Context, opts *Options, page string) error {
	s, err := openSide(d.dir, "unprotected", &invoices.Options{ //nolint:contextcheck // it opens a local file and knows no context.
		Latency: opts.Latency, Logger: quiet(opts.Logger),
		Banner: "This copy is unprotected: a second click makes a second invoice.", BannerTone: invoices.ToneWarning,
	})
	if err != nil {
		return err
	}
	d.unprotected = s
	listener, err := listenNear(ctx, page, 1)
	if err != nil {
		return err
	}
	s.site = serve(ctx, listener, s.front.around(s.app.Handler(), d.news.tell), opts.Logger)
	return nil
}

func (d *Demo) startProtected(ctx context.Context, opts *Options, page string) error {
	s, err := openSide(d.dir, "protected", &invoices.Options{ //nolint:contextcheck // as above.
		Latency: opts.Latency, Logger: quiet(opts.Logger),
		Banner: "This copy stands behind semel gateway: a second click gets the first answer.", BannerTone: invoices.ToneGood,
	})
	if err != nil {
		return err
	}
	d.protected = s
	behind, err := listen(ctx, "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.upstream = serve(ctx, behind, s.back.around(s.app.Handler(), d.news.tell), opts.Logger)
	if s.gate, err = openGate(ctx, d.dir, s.upstream.url(), slog.New(d.decisions)); err != nil {
		return err
	}
	listener, err := listenNear(ctx, page, 2)
	if err != nil {
		return err
	}
	s.site = serve(ctx, listener, s.front.around(s.gate, d.news.tell), opts.Logger)
	return nil
}

// quiet leaves out what the application tells of every create.
func quiet(log *slog.Logger) *slog.Logger {
	return slog.New(atLeast{log.Handler(), slog.LevelWarn})
}

// listenNear takes the port so many after the page's, or any that is free.
func listenNear(ctx context.Context, page string, after int) (net.Listener, error) {
	host, text, err := net.SplitHostPort(page)
	if err != nil {
		return nil, err
	}
	if port, err := strconv.Atoi(text); err == nil {
		if listener, err := listen(ctx, net.JoinHostPort(host, strconv.Itoa(port+after))); err == nil {
			return listener, nil
		}
	}
	return listen(ctx, net.JoinHostPort(host, "0"))
}

// URLs returns where the page and the two copies are.
func (d *Demo) URLs() (page, unprotected, protected string) {
	return d.page.url(), d.unprotected.url(), d.protected.url()
}

// Reset empties both copies and lets the gateway forget everything.
func (d *Demo) Reset(ctx context.Context) error {
	err := errors.Join(d.unprotected.reset(ctx), d.protected.reset(ctx))
	d.decisions.clear()
	d.news.tell()
	return err
}

// Stop ends everything and removes the databases. Running requests end until
// ctx does.
func (d *Demo) Stop(ctx context.Context) error {
	var errs []error
	if d.page != nil {
		errs = append(errs, d.page.stop(ctx))
	}
	for _, s := range []*side{d.unprotected, d.protected} {
		if s != nil {
			errs = append(errs, s.stop(ctx))
		}
	}
	if d.dir != "" {
		errs = append(errs, os.RemoveAll(d.dir))
	}
	return errors.Join(errs...)
}

// state is what the page shows.
type state struct {
	Unprotected sideState  `json:"unprotected"`
	Protected   sideState  `json:"protected"`
	Decisions   []decision `json:"decisions"`
}

func (d *Demo) state(ctx context.Context) (state, error) {
	bare, bareErr := d.unprotected.state(ctx)
	kept, keptErr := d.protected.state(ctx)
	return state{Unprotected: bare, Protected: kept, Decisions: d.decisions.latest()}, errors.Join(bareErr, keptErr)
}
