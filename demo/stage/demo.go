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

var (
	//go:embed rules.yaml
	rulesFile []byte
	//go:embed scripts.yaml
	scriptRulesFile []byte
)

// Options are the settings of [Start]. A nil *Options is complete.
type Options struct {
	// Listen is the address of the page; the copies and the console get the next six
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
	scripts, paged                  *side // whose page has no form: alone, and behind a gateway with page: true
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
	if err != nil {
		return err
	}
	d.scripts, err = d.startBare(ctx, opts, page, 5, "scripts", &invoices.Options{
		Banner: "This page has no form, and this copy is unprotected: a second click makes a second invoice.", BannerTone: invoices.ToneWarning,
	})
	if err != nil {
		return err
	}
	d.paged, err = d.startBehind(ctx, opts, page, 6, "paged", &gate{text: scriptRulesFile}, &invoices.Options{
		Banner: "This page has no form, and the gateway has page: true for it: click twice and you still get one invoice.", BannerTone: invoices.ToneGood,
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
	admin, err := listenNear(ctx, page, 4)
	if err != nil {
		return err
	}
	d.protected, err = d.startBehind(ctx, opts, page, 2, "protected", &gate{text: rulesFile, admin: admin.Addr().String()}, &invoices.Options{
		Banner: "This copy is behind semel gateway: click twice and you still get one invoice.", BannerTone: invoices.ToneGood,
	})
	if err != nil {
		return errors.Join(err, admin.Close())
	}
	d.console = serve(ctx, admin, d.protected.gate.console(), opts.Logger)
	return nil
}

// startBehind serves a copy behind a gateway, which has its rules. The copy is returned even with an error, as by startBare.
func (d *Demo) startBehind(ctx context.Context, opts *Options, page string, after int, name string, g *gate, look *invoices.Options) (*side, error) {
	look.Latency, look.Logger = opts.Latency, quiet(opts.Logger)
	s, err := openSide(d.dir, name, look) //nolint:contextcheck // as above.
	if err != nil {
		return nil, err
	}
	behind, err := listen(ctx, "127.0.0.1:0")
	if err != nil {
		return s, err
	}
	s.upstream = serve(ctx, behind, s.net.inside(s.back.around(s.app.Handler(), d.news.notify)), opts.Logger)
	front, err := listenNear(ctx, page, after)
	if err != nil {
		return s, err
	}
	g.dir, g.name, g.upstream, g.listen, g.log = d.dir, name, s.upstream.url(), front.Addr().String(), slog.New(d.decisions)
	g.token = "demo-" + rand.Text() + rand.Text()
	s.gate = g
	if err := g.openGateway(ctx); err != nil {
		return s, errors.Join(err, front.Close())
	}
	s.serve(ctx, front, g, d.news.notify, opts.Logger)
	return s, nil
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
type URLs struct{ Page, Unprotected, Guarded, Protected, Scripts, Paged, Console, Token string }

// URLs returns the addresses.
func (d *Demo) URLs() URLs {
	return URLs{
		Page: d.page.url(), Unprotected: d.unprotected.url(), Guarded: d.guarded.url(), Protected: d.protected.url(), Scripts: d.scripts.url(), Paged: d.paged.url(),
		Console: d.console.url() + console.Path, Token: d.protected.gate.token,
	}
}

// copies returns the started copies, by name.
func (d *Demo) copies() map[string]*side {
	started := map[string]*side{"unprotected": d.unprotected, "guarded": d.guarded, "protected": d.protected, "scripts": d.scripts, "paged": d.paged}
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
	Scripts     sideState  `json:"scripts"`
	Paged       sideState  `json:"paged"`
	// Networks are those of the copies, by name.
	Networks map[string]networkState `json:"networks"`
}

func (d *Demo) state(ctx context.Context) (state, error) {
	bare, bareErr := d.unprotected.state(ctx)
	guarded, guardedErr := d.guarded.state(ctx)
	kept, keptErr := d.protected.state(ctx)
	scripts, scriptsErr := d.scripts.state(ctx)
	paged, pagedErr := d.paged.state(ctx)
	now := state{
		Unprotected: bare, Guarded: guarded, Protected: kept, Scripts: scripts, Paged: paged,
		Decisions: d.decisions.latest(), Networks: map[string]networkState{},
	}
	for name, s := range d.copies() {
		now.Networks[name] = s.network()
	}
	return now, errors.Join(bareErr, guardedErr, keptErr, scriptsErr, pagedErr)
}
