package stage

import (
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/semel-dev/semel/console"
	"github.com/semel-dev/semel/examples/invoices"
)

//go:embed rules.yaml
var rulesFile []byte

// Options are the settings of [Start]. A nil *Options is complete.
type Options struct {
	// Listen is the address of the page; the three copies and the console get the next four
	// ports, or any that are free. Default: any free port on this machine only.
	Listen string
	// Latency is the duration of the simulated accounting call behind every create. Default: 300 ms; negative for none.
	Latency time.Duration
	// Logger logs errors. Default: none.
	Logger *slog.Logger
}

// Demo is the running demonstration. [Start] is the only way to get one.
type Demo struct {
	dir                             string
	unprotected, guarded, protected *side
	decisions                       *decisions
	news                            news
	page, console                   *site
}

// Start serves all copies and the page, with databases in a new temporary
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
	d.decisions = newDecisions(opts.Logger.Handler(), d.news.notify)
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

// startCopies serves all copies.
func (d *Demo) startCopies(ctx context.Context, opts *Options, page string) error {
	var err error
	if d.dir, err = os.MkdirTemp("", "semel-demo-"); err != nil {
		return fmt.Errorf("make a directory for the databases: %w", err)
	}
	d.unprotected, err = d.startBare(ctx, opts, page, 1, "unprotected", &invoices.Options{
		Banner: "This copy is unprotected: a second click makes a second invoice.", BannerTone: invoices.ToneWarning,
	})
	if err != nil {
		return err
	}
	if err := d.startProtected(ctx, opts, page); err != nil {
		return err
	}
	d.guarded, err = d.startBare(ctx, opts, page, 3, "guarded", &invoices.Options{
		Guard:  true,
		Banner: "This copy has the script in its pages, and nothing on its server: the script stops what it can see.",
	})
	return err
}

// startBare serves a copy without a gateway. The copy is returned even with an error, so that it can be stopped.
func (d *Demo) startBare(ctx context.Context, opts *Options, page string, after int, name string, look *invoices.Options) (*side, error) {
	look.Latency, look.Logger = opts.Latency, quiet(opts.Logger)
	s, err := openSide(d.dir, name, look) //nolint:contextcheck // it opens a local file without a context.
	if err != nil {
		return nil, err
	}
	listener, err := listenNear(ctx, page, after)
	if err == nil {
		s.serve(ctx, listener, s.app.Handler(), d.news.notify, opts.Logger)
	}
	return s, err
}

func (d *Demo) startProtected(ctx context.Context, opts *Options, page string) error {
	s, err := openSide(d.dir, "protected", &invoices.Options{ //nolint:contextcheck // as above.
		Latency: opts.Latency, Logger: quiet(opts.Logger),
		Banner: "This copy is behind semel gateway: click twice and you still get one invoice.", BannerTone: invoices.ToneGood,
	})
	if err != nil {
		return err
	}
	d.protected = s
	behind, err := listen(ctx, "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.upstream = serve(ctx, behind, s.net.inside(s.back.around(s.app.Handler(), d.news.notify)), opts.Logger)
	front, err := listenNear(ctx, page, 2)
	if err != nil {
		return err
	}
	admin, err := listenNear(ctx, page, 4)
	if err != nil {
		return errors.Join(err, front.Close())
	}
	s.gate = &gate{
		dir: d.dir, upstream: s.upstream.url(), listen: front.Addr().String(), admin: admin.Addr().String(), log: slog.New(d.decisions),
		token: "demo-" + rand.Text() + rand.Text(),
	}
	if err := s.gate.openGateway(ctx); err != nil {
		return errors.Join(err, front.Close(), admin.Close())
	}
	s.serve(ctx, front, s.gate, d.news.notify, opts.Logger)
	d.console = serve(ctx, admin, s.gate.console(), opts.Logger)
	return nil
}

// quiet drops the application's lines about every create.
func quiet(log *slog.Logger) *slog.Logger {
	return slog.New(atLeast{log.Handler(), slog.LevelWarn})
}

// listenNear listens on the port that is after above the page's, or on any free one.
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

// URLs has the addresses of the page, the copies and the console, and the token to log in to it.
type URLs struct{ Page, Unprotected, Guarded, Protected, Console, Token string }

// URLs returns the addresses.
func (d *Demo) URLs() URLs {
	return URLs{Page: d.page.url(), Unprotected: d.unprotected.url(), Guarded: d.guarded.url(), Protected: d.protected.url(), Console: d.console.url() + console.Path, Token: d.protected.gate.token}
}

// copies returns the started copies, by name.
func (d *Demo) copies() map[string]*side {
	started := map[string]*side{"unprotected": d.unprotected, "guarded": d.guarded, "protected": d.protected}
	maps.DeleteFunc(started, func(_ string, s *side) bool { return s == nil })
	return started
}

// Reset empties all copies, makes their networks normal, and replaces the gateway's store.
func (d *Demo) Reset(ctx context.Context) error {
	var errs []error
	for _, s := range d.copies() {
		errs = append(errs, s.reset(ctx))
	}
	d.decisions.clear()
	d.news.notify()
	return errors.Join(errs...)
}

// Stop ends everything and removes the databases. Running requests may finish for 5 seconds, even if ctx has ended.
func (d *Demo) Stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	var errs []error
	for _, s := range []*site{d.page, d.console} {
		if s != nil {
			errs = append(errs, s.stop(ctx))
		}
	}
	for _, s := range d.copies() {
		errs = append(errs, s.stop(ctx))
	}
	if d.dir != "" {
		errs = append(errs, os.RemoveAll(d.dir))
	}
	return errors.Join(errs...)
}

// state is the content of the page.
type state struct {
	Unprotected sideState  `json:"unprotected"`
	Protected   sideState  `json:"protected"`
	Decisions   []decision `json:"decisions"`
	Guarded     sideState  `json:"guarded"`
	// Networks are those of the copies, by name.
	Networks map[string]networkState `json:"networks"`
}

func (d *Demo) state(ctx context.Context) (state, error) {
	bare, bareErr := d.unprotected.state(ctx)
	guarded, guardedErr := d.guarded.state(ctx)
	kept, keptErr := d.protected.state(ctx)
	now := state{
		Unprotected: bare, Guarded: guarded, Protected: kept,
		Decisions: d.decisions.latest(), Networks: map[string]networkState{},
	}
	for name, s := range d.copies() {
		now.Networks[name] = s.network()
	}
	return now, errors.Join(bareErr, guardedErr, keptErr)
}
