package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/semel-dev/semel/internal/waiting"
)

// app is the application behind the gateways, which knows nothing of keys: each
// POST has an effect. It remembers effects for as long as a retry can come.
type app struct {
	address string

	mu            sync.Mutex // guards the fields below
	server        *http.Server
	recent, older map[string]int // effects by intent
	turned        time.Time
	effects       int
	twice         []string // intents with more than one effect
}

func newApp(ctx context.Context) (*app, error) {
	a := &app{recent: map[string]int{}, older: map[string]int{}, turned: time.Now()}
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	a.address = ln.Addr().String()
	a.serve(ln)
	return a, nil
}

func (a *app) serve(ln net.Listener) {
	server := &http.Server{Handler: a, ReadHeaderTimeout: 10 * time.Second}
	a.mu.Lock()
	a.server = server
	a.mu.Unlock()
	go server.Serve(ln) //nolint:errcheck // it ends when the application dies.
}

// die cuts every connection, with requests half way, and comes back after a while.
func (a *app) die(ctx context.Context, away time.Duration) error {
	a.close()
	waiting.Sleep(ctx, away)
	var lc net.ListenConfig
	ln, err := lc.Listen(context.WithoutCancel(ctx), "tcp", a.address)
	if err != nil {
		return fmt.Errorf("bring the application back: %w", err)
	}
	a.serve(ln)
	return nil
}

func (a *app) close() {
	a.mu.Lock()
	server := a.server
	a.mu.Unlock()
	if err := server.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return // its connections are gone anyway
	}
}

// ServeHTTP answers a POST with the intent's name and the number of its effects.
func (a *app) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		_, _ = io.WriteString(w, "fine") // the caller may have gone
		return
	}
	intent, err := io.ReadAll(io.LimitReader(r.Body, 1<<10))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	n := a.effect(string(intent))
	w.WriteHeader(http.StatusCreated)
	_, _ = fmt.Fprintf(w, "%s-%d", intent, n)
}

// effect counts one, and returns its number.
func (a *app) effect(intent string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	if time.Since(a.turned) > retention {
		a.recent, a.older, a.turned = map[string]int{}, a.recent, time.Now()
	}
	a.effects++
	a.recent[intent]++
	if a.recent[intent]+a.older[intent] > 1 {
		a.twice = append(a.twice, intent)
	}
	return a.effects
}

// found returns how many effects there were, and the intents that had several.
func (a *app) found() (effects int, twice []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.effects, append([]string(nil), a.twice...)
}
