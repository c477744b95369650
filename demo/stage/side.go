package stage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"sync"

	"github.com/semel-dev/semel/console"
	"github.com/semel-dev/semel/console/operators"
	"github.com/semel-dev/semel/examples/invoices"
	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/gateway/adminapi"
	"github.com/semel-dev/semel/outcomelog/archive"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/store/sqlitestore"
)

// side is one copy of the application, with or without a gateway in front of it.
type side struct {
	app   *invoices.App
	front watch    // the requests of callers
	net   *network // between callers and the copy
	back  watch    // the requests that reach the application
	site  *site    // for callers

	upstream *site // behind the gateway; nil without one
	gate     *gate // nil without one
}

// openSide opens the copy's own database. Call stop to free it.
func openSide(dir, name string, opts *invoices.Options) (*side, error) {
	app, err := invoices.Open(filepath.Join(dir, name+".db"), opts)
	if err != nil {
		return nil, fmt.Errorf("open the %s copy: %w", name, err)
	}
	return &side{app: app, net: newNetwork()}, nil
}

// serve accepts callers, over the network.
func (s *side) serve(ctx context.Context, listener net.Listener, handler http.Handler, notify func(), log *slog.Logger) {
	s.site = serve(ctx, listener, s.front.around(s.net.around(handler), notify), log)
}

func (s *side) url() string     { return s.site.url() }
func (s *side) address() string { return s.site.listener.Addr().String() }

// untilIdle waits until no request that may change something is under way.
func (s *side) untilIdle(ctx context.Context) error {
	if err := s.front.untilIdle(ctx); err != nil {
		return err
	}
	return s.back.untilIdle(ctx)
}

// sideState is the content of the page about one copy.
type sideState struct {
	Requests int `json:"requests"` // that arrived and may change something
	Invoices int `json:"invoices"`
	Emails   int `json:"emails"`
}

func (s *side) state(ctx context.Context) (sideState, error) {
	counts, err := s.app.Counts(ctx)
	return sideState{Requests: s.front.arrived(), Invoices: counts.Invoices, Emails: counts.Emails}, err
}

// networkState is the content of the page about one copy's network.
type networkState struct {
	Condition condition `json:"condition"`
	DelayMS   int64     `json:"delay_ms"`
	Resent    int       `json:"resent"`    // requests that a browser resent on its own
	UnderWay  int       `json:"under_way"` // requests without an answer yet
}

func (s *side) network() networkState {
	now, resent := s.net.look()
	return networkState{Condition: now.condition, DelayMS: now.delay.Milliseconds(), Resent: resent, UnderWay: s.front.underWay()}
}

// reset empties the database, makes the network normal, and replaces the gateway's store.
func (s *side) reset(ctx context.Context) error {
	s.front.forget()
	s.net.forget()
	if s.gate != nil {
		if err := s.gate.renew(ctx); err != nil {
			return err
		}
	}
	return s.app.Reset(ctx)
}

// stop ends the servers from the outside in, then the gateway and the
// application.
func (s *side) stop(ctx context.Context) error {
	s.net.end()
	var errs []error
	for _, site := range []*site{s.site, s.upstream} {
		if site != nil {
			errs = append(errs, site.stop(ctx))
		}
	}
	if s.gate != nil {
		errs = append(errs, s.gate.close())
	}
	return errors.Join(append(errs, s.app.Close())...)
}

var _ http.Handler = (*gate)(nil)

// gate is a gateway whose store can be replaced while it serves.
type gate struct {
	dir      string
	name     string // of its copy
	text     []byte // of its rules
	upstream string
	listen   string // the address for callers
	admin    string // the console's; "" for none
	rules    *rules.File
	log      *slog.Logger
	token    string // of the console's visitor

	mu      sync.RWMutex // guards the fields below
	round   int
	closers []io.Closer // what gateway reads and writes, in the order in which they end
	gateway *gateway.Gateway
	pages   http.Handler // of gateway, for operators
}

// openGateway puts a gateway with the rules in front of the upstream.
func (g *gate) openGateway(ctx context.Context) (err error) {
	if g.rules, err = rules.Parse("rules.yaml", g.text); err != nil {
		return err
	}
	return g.renew(ctx)
}

// renew starts over with an empty store. Requests under way end first.
func (g *gate) renew(ctx context.Context) (err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	name := filepath.Join(g.dir, fmt.Sprintf("%s-gateway-%d.db", g.name, g.round+1))
	store, err := sqlitestore.Open(ctx, name, &sqlitestore.Options{Logger: g.log}) // the other stores would double the program
	if err != nil {
		return err
	}
	closers := []io.Closer{store}
	defer func() { err = errors.Join(err, closeAll(closers)) }()
	db, err := sql.Open("sqlite", "file:"+name+"?_txlock=immediate&_pragma=busy_timeout(5000)")
	if err != nil {
		return err
	}
	closers = []io.Closer{db, store}
	kept, err := archive.Open(ctx, db, &archive.Options{Logger: g.log})
	if err != nil {
		return err
	}
	closers = []io.Closer{kept, db, store}
	visitor, err := adminapi.NewToken("visitor", g.token, false)
	if err != nil {
		return err
	}
	config := &gateway.Config{
		Upstream: g.upstream, Store: store, StoreName: "sqlite:" + name, Rules: g.rules, Logger: g.log,
		Listen: g.listen, AdminListen: g.admin, OutcomeLog: kept,
	}
	config.Operators = operators.Of(config, operators.Options{Tokens: []adminapi.Token{visitor}}) //nolint:contextcheck // it logs at most.
	fresh, err := gateway.New(config)                                                             //nolint:contextcheck // it outlives ctx.
	if err != nil {
		return err
	}
	old := g.closers
	g.round, g.gateway, g.closers, g.pages = g.round+1, fresh, append([]io.Closer{fresh}, closers...), fresh.AdminHandler()
	closers = old // the deferred call ends the round before
	return nil
}

func closeAll(all []io.Closer) (err error) {
	for _, c := range all {
		err = errors.Join(err, c.Close())
	}
	return err
}

// ServeHTTP passes the request to the gateway of this round.
func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	if g.gateway == nil {
		http.Error(w, "the demo is ending", http.StatusServiceUnavailable)
		return
	}
	g.gateway.Handler().ServeHTTP(w, r)
}

// console returns the handler of the operators' pages. Their event streams outlive the gateway of a round for at most a
// second, so they do not hold it.
func (g *gate) console() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /{$}", http.RedirectHandler(console.Path, http.StatusSeeOther))
	mux.HandleFunc(console.Path, func(w http.ResponseWriter, r *http.Request) {
		g.mu.RLock()
		pages := g.pages
		g.mu.RUnlock()
		pages.ServeHTTP(w, r)
	})
	return mux
}

func (g *gate) close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	err := closeAll(g.closers)
	g.gateway, g.closers = nil, nil
	return err
}
