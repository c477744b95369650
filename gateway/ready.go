package gateway

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/outcomelog"
)

const (
	// A claim that was won speaks for the store for readyFor.
	readyFor = time.Second
	// readyTimeout bounds what /readyz asks the store; a claim that it cannot release is gone after readyLease and readyRetention.
	readyTimeout   = 2 * time.Second
	readyLease     = 5 * time.Second
	readyRetention = time.Second
)

// readiness knows whether the store takes claims: from callers' claims and, if none was won lately, from one of its own, which
// it releases. A store that answers questions and takes no claims (a replica, a full disk) is not ready.
type readiness struct {
	won atomic.Int64 // when a claim was last won, in nanoseconds since 1970; 0 once one has failed

	mu     sync.Mutex        // one probe at a time; it guards the rest
	claim  semel.ClaimParams // of the probes
	probed time.Time         // when the last one ended
	err    error             // of the last one
}

func newReadiness() *readiness {
	r := &readiness{claim: semel.ClaimParams{Scope: semel.ScopeGlobal, Lease: readyLease, Retention: readyRetention}}
	_, _ = rand.Read(r.claim.Owner[:]) // it never fails
	r.claim.Name = fmt.Sprintf("readiness of process %x", r.claim.Owner[:4])
	r.claim.Digest = semel.Key{Scope: r.claim.Scope, Name: r.claim.Name}.Digest()
	return r
}

// notes is a hook of [semel.Trace].Began.
func (r *readiness) notes(_ context.Context, i semel.BeginInfo) {
	switch {
	case i.Outcome == outcomelog.Claimed:
		r.won.Store(time.Now().UnixNano())
	case errors.Is(i.Err, semel.ErrUnavailable) && !errors.Is(i.Err, semel.ErrBusy):
		r.won.Store(0)
	}
}

func (r *readiness) fresh() bool { return time.Since(time.Unix(0, r.won.Load())) < readyFor }

// probe reports why the store takes no claims, or nil. Callers that come while another one asks share its answer.
func (r *readiness) probe(ctx context.Context, store semel.Store) error {
	came := time.Now()
	if r.fresh() {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.probed.After(came) {
		ctx, cancel := context.WithTimeout(ctx, readyTimeout)
		defer cancel()
		r.err = r.ask(ctx, store)
		r.probed = time.Now()
		if r.err == nil {
			r.won.Store(r.probed.UnixNano())
		}
	}
	return r.err
}

// ask claims and releases. What an earlier probe had to leave behind is its own claim, or one to take over.
func (r *readiness) ask(ctx context.Context, store semel.Store) error {
	rec, won, err := store.Claim(ctx, r.claim)
	if err == nil && !won {
		again := r.claim
		again.TakeOver = rec.Fence
		rec, won, err = store.Claim(ctx, again)
	}
	switch {
	case err != nil:
		return err
	case !won:
		return fmt.Errorf("the claim of an earlier look is %s still", rec.State)
	}
	return store.Settle(ctx, rec.Digest, rec.Fence, semel.Settlement{State: semel.StateReleased})
}

// serveReady answers /readyz.
func (g *Gateway) serveReady(w http.ResponseWriter, r *http.Request) {
	if g.draining.Load() {
		say(w, http.StatusServiceUnavailable, "draining")
		return
	}
	if err := g.ready.probe(r.Context(), g.config.Store); err != nil {
		g.log.LogAttrs(r.Context(), slog.LevelWarn, "store takes no claims", slog.String("error", err.Error()))
		say(w, http.StatusServiceUnavailable, "the store takes no claims; the log says why")
		return
	}
	if monitor, ok := semel.StoreAs[semel.Monitor](g.config.Store); ok && monitor.Health() != nil { // the store has logged why
		say(w, http.StatusServiceUnavailable, "the store's server breaks a promise of the store; the log says which setting to change")
		return
	}
	if g.certificates.stale() {
		say(w, http.StatusOK, "ready, with the former certificate: the new one cannot be served; see the log")
		return
	}
	say(w, http.StatusOK, "ready")
}
