package console

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/inbox"
	"github.com/semel-dev/semel/internal/cli/operatorview"
	"github.com/semel-dev/semel/internal/verdict"
	"github.com/semel-dev/semel/operator"
)

// countFresh is the time for which the navigation shows the same counts.
const countFresh = 10 * time.Second

// pending counts records that wait for an operator, among a bounded number of records, the newest first.
type pending struct {
	Needs    int    // records that only a verdict settles
	Parked   int    // flows that wait for one of them
	Messages int    // that a consumer could not handle
	More     bool   // older records were not looked at, so there may be more
	Examined int    // records that were looked at
	Oldest   string // since when the oldest of Needs is unknown
	Digest   string // of that one
}

// countPending counts the records that wait for an operator, and keeps the result for the navigation.
func (c *Console) countPending(ctx context.Context) (*pending, error) {
	p := &pending{}
	at, err := c.records.List(ctx, operator.Search{States: []semel.State{semel.StateUnknown}, Examine: semel.MaxListExamined, Bare: true}, func(rec *semel.Record) error {
		if strings.HasPrefix(rec.Scope, verdict.FlowScopes) && parkedAt(rec.Note).Step != "" {
			p.Parked++
		}
		if kindOf(rec) == ofMessage {
			p.Messages++
		}
		if needs(rec) {
			p.Needs++
			p.Oldest, p.Digest = unknownSince(rec), rec.Digest.String()
		}
		return nil
	})
	p.Examined, p.More = at.Examined, at.Next != ""
	if err != nil {
		return nil, err
	}
	c.waiting.keep(p)
	return p, nil
}

// needs reports whether an unknown record waits for a verdict: a flow waits for its next attempt, or for the verdict on its step,
// unless it is itself the record to settle, and a message is decided on in quarantine.
func needs(rec *semel.Record) bool {
	switch kindOf(rec) {
	case ofMessage:
		return false
	case ofRequest, ofStep, ofFunction:
		return true
	case ofFlow:
	}
	at := parkedAt(rec.Note)
	return at.Step != "" && (at.Digest == "" || at.Digest == rec.Digest.String())
}

// unknownSince returns since when an outcome is unknown: from the beginning of its attempt, or of the one that a reconcile rule asked about.
func unknownSince(rec *semel.Record) string {
	if _, since, ok := reconciled(rec); ok {
		return operatorview.Time(since)
	}
	return operatorview.Time(rec.ClaimedAt)
}

// counted keeps the last counts. The zero value has none.
type counted struct {
	mu   sync.Mutex // guards the fields below
	last *pending   // nil if the store did not answer; not changed any more
	at   time.Time
}

func (c *counted) keep(p *pending) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last, c.at = p, time.Now()
}

// forget lets the next page count anew.
func (c *counted) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = time.Time{}
}

// recent returns the last counts. Of the callers that find them old, one counts anew.
func (c *counted) recent() (p *pending, old bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if old = time.Since(c.at) > countFresh; old {
		c.at = time.Now()
	}
	return c.last, old
}

// recentPending returns counts of the last seconds; nil when the store does not answer.
func (c *Console) recentPending(ctx context.Context) *pending {
	p, old := c.waiting.recent()
	if !old {
		return p
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pingTimeout) // other pages show the counts as well
	defer cancel()
	p, err := c.countPending(ctx)
	if err != nil {
		c.waiting.keep(nil)
	}
	return p
}

// next leads to the oldest record that waits for a verdict.
func (c *Console) next(k *call) {
	ctx, cancel := context.WithTimeout(k.Context(), pageTimeout)
	defer cancel()
	p, err := c.countPending(ctx)
	switch {
	case err != nil:
		c.storeFailed(k, err)
	case p.Needs == 0:
		http.Redirect(k.w, k.Request, Path, http.StatusSeeOther)
	default:
		http.Redirect(k.w, k.Request, Path+"records/"+p.Digest, http.StatusSeeOther)
	}
}

// nextMessage leads to the message that has waited in quarantine for longest.
func (c *Console) nextMessage(k *call) {
	ctx, cancel := context.WithTimeout(k.Context(), pageTimeout)
	defer cancel()
	to, search := Path+"quarantine", operator.Search{Examine: semel.MaxListExamined}
	for more := !c.guard.HidesKeys(); more; {
		at, err := inbox.List(ctx, c.guard, "", search, func(h *inbox.Held) error {
			if h.Decision == "" { // the newest come first
				to = Path + "quarantine/" + h.Digest.String()
			}
			return nil
		})
		if err != nil {
			c.storeFailed(k, err)
			return
		}
		search.After, more = at.Next, at.Next != ""
	}
	http.Redirect(k.w, k.Request, to, http.StatusSeeOther)
}
