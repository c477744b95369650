package services

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"sync"
)

//go:embed templates static
var files embed.FS

const latest = 8 // orders shown of each shop

// Page shows two fleets that get the same orders: one naive, one protected.
type Page struct {
	shops   []pageShop
	pages   *template.Template
	log     *slog.Logger
	context context.Context //nolint:containedctx // orders outlive the request that sends them
	sending sync.WaitGroup

	mu   sync.Mutex
	sent int
}

type pageShop struct {
	name    string
	fleet   *Fleet
	ledgers *ledgers
}

// NewPage returns the page of two fleets. Orders go on until ctx ends. Without a logger, it is silent.
func NewPage(ctx context.Context, naive, protected *Fleet, log *slog.Logger) (*Page, error) {
	pages, err := template.ParseFS(files, "templates/*.html")
	if err != nil {
		return nil, err
	}
	p := &Page{pages: pages, log: log, context: ctx}
	if log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	for _, s := range []pageShop{{name: "Unprotected", fleet: naive}, {name: "Semel", fleet: protected}} {
		if s.ledgers, err = openLedgers(ctx, &s.fleet.config); err != nil {
			return nil, err
		}
		p.shops = append(p.shops, s)
	}
	return p, nil
}

// Close waits for the orders and closes the databases.
func (p *Page) Close() {
	p.sending.Wait()
	for _, s := range p.shops {
		_ = s.ledgers.close() // they were only read
	}
}

// Handler returns the page.
func (p *Page) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", p.show)
	mux.HandleFunc("GET /state", p.showState)
	mux.HandleFunc("POST /orders", p.order)
	mux.HandleFunc("POST /kill", p.kill)
	for name, kind := range map[string]string{"style.css": "text/css; charset=utf-8", "live.js": "text/javascript; charset=utf-8"} {
		mux.HandleFunc("GET /"+name, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", kind)
			http.ServeFileFS(w, r, files, "static/"+name)
		})
	}
	return http.NewCrossOriginProtection().Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'self'; img-src data:; frame-ancestors 'none'")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		mux.ServeHTTP(w, r)
	}))
}

func (p *Page) show(w http.ResponseWriter, r *http.Request) {
	state, err := p.state(r.Context())
	if err != nil {
		p.fail(w, r, err)
		return
	}
	p.render(w, r, "page.html", map[string]any{
		"Points": points(), "Roles": roles(), "State": state,
		"Chosen": r.URL.Query().Get("point"), "Said": said(r.URL.Query().Get("said")),
	})
}

// said returns the text about the last act. An address cannot make it say anything else.
func said(what string) string {
	return map[string]string{"ordered": "The order is on its way.", "killed": "The process was killed and is started again."}[what]
}

func (p *Page) showState(w http.ResponseWriter, r *http.Request) {
	state, err := p.state(r.Context())
	if err != nil {
		p.fail(w, r, err)
		return
	}
	p.render(w, r, "state.html", state)
}

func (p *Page) render(w http.ResponseWriter, r *http.Request, name string, data any) {
	var page bytes.Buffer
	if err := p.pages.ExecuteTemplate(&page, name, data); err != nil {
		p.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = page.WriteTo(w) // the browser may be gone
}

func (p *Page) fail(w http.ResponseWriter, r *http.Request, err error) {
	p.log.WarnContext(r.Context(), "answer a request", slog.Any("error", err))
	http.Error(w, err.Error(), http.StatusInternalServerError)
}

// order sends one order to both shops, each with the chosen fault.
func (p *Page) order(w http.ResponseWriter, r *http.Request) {
	point := r.PostFormValue("point")
	if point != "" && !slices.ContainsFunc(points(), func(one Point) bool { return one.Name == point }) {
		http.Error(w, fmt.Sprintf("%q is not a point of the list", point), http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	p.sent++
	customer := fmt.Sprint(p.sent)
	p.mu.Unlock()
	for _, s := range p.shops {
		if point != "" {
			if err := s.fleet.Arm(point); err != nil {
				p.fail(w, r, err)
				return
			}
		}
		p.sending.Go(func() {
			if err := s.fleet.Order(p.context, customer); err != nil {
				p.log.WarnContext(p.context, "send an order", slog.String("shop", s.name), slog.Any("error", err))
			}
		})
	}
	back := url.URL{Path: "/", RawQuery: url.Values{"said": {"ordered"}, "point": {point}}.Encode()}
	http.Redirect(w, r, back.String(), http.StatusSeeOther)
}

func (p *Page) kill(w http.ResponseWriter, r *http.Request) {
	role := r.PostFormValue("role")
	for _, s := range p.shops {
		if err := s.fleet.Kill(role); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
	}
	http.Redirect(w, r, "/?said=killed", http.StatusSeeOther)
}

// pageState holds the counts of the page.
type pageState struct {
	Expected int
	Rows     []pageRow
	Shops    []pageOrders
}

type pageRow struct {
	Name     string
	Expected int
	Counts   []int
}

type pageOrders struct {
	Name   string
	Deaths int
	Orders []orderEffects
}

func (p *Page) state(ctx context.Context) (*pageState, error) {
	p.mu.Lock()
	state := &pageState{Expected: p.sent}
	p.mu.Unlock()
	counts := make([][]int, len(effectNames()))
	for _, s := range p.shops {
		e, err := s.ledgers.count(ctx)
		if err != nil {
			return nil, err
		}
		for i, n := range e.List() {
			counts[i] = append(counts[i], n)
		}
		orders, err := s.ledgers.latest(ctx, latest)
		if err != nil {
			return nil, err
		}
		state.Shops = append(state.Shops, pageOrders{s.name, s.fleet.Deaths(), orders})
	}
	for i, name := range effectNames() {
		state.Rows = append(state.Rows, pageRow{name, state.Expected, counts[i]})
	}
	return state, nil
}
