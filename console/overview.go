package console

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/cli/operatorview"
	"github.com/semel-dev/semel/operator"
	"github.com/semel-dev/semel/outcomelog"
)

// pingTimeout bounds the wait for the store's sign of life.
const pingTimeout = 2 * time.Second

// overviewPage shows this process, and the newest records of the store.
type overviewPage struct {
	Since      string
	News       *news
	Now        figures
	Bound      int  // of live claims; 0 if it is not known
	Counted    bool // this process serves requests, and counts them
	Reasons    []reason
	Charts     []chart
	Prometheus string

	Down          string // why the store does not answer
	Unfit         string // why the store's server breaks a promise
	Took          string // milliseconds for one read
	Newest        []share
	Examined      int
	OldestUnknown *row
}

// share counts the newest records of a state.
type share struct {
	State string
	Label string
	Count int
}

// reason counts the requests that came to one thing.
type reason struct {
	Outcome outcomelog.Outcome
	Count   uint64
	Text    string
}

func (c *Console) overview(k *call) {
	ctx, cancel := context.WithTimeout(k.Context(), pageTimeout)
	defer cancel()
	p := overviewPage{Since: operatorview.Time(c.since), Bound: c.bound, Prometheus: c.prometheus}
	c.count(&p)
	if err := c.ask(ctx, &p); err != nil {
		p.Down = err.Error()
	}
	c.show(k, http.StatusOK, "overview", "Overview", p)
}

// count adds what this process has counted.
func (c *Console) count(p *overviewPage) {
	p.Now = figures{Live: c.guard.LiveClaims(), Waiting: c.guard.Waiting(), Detached: c.guard.Detached()}
	if c.history == nil {
		return
	}
	p.Counted, p.Since = true, operatorview.Time(c.history.since)
	p.News, p.Now = c.newsOf(openNews, "unknown outcomes", Path+"unknown"), c.figures()
	for outcome, n := range c.history.requests() {
		if n > 0 {
			p.Reasons = append(p.Reasons, reason{outcome, n, meaning(outcome).text})
		}
	}
	slices.SortFunc(p.Reasons, func(a, b reason) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Outcome, b.Outcome)) })
	p.Charts = c.history.charts()
}

// ask adds what the store says.
func (c *Console) ask(ctx context.Context, p *overviewPage) error {
	if monitor, ok := semel.StoreAs[semel.Monitor](c.guard.Store()); ok {
		if err := monitor.Health(); err != nil {
			p.Unfit = err.Error()
		}
	}
	start := time.Now()
	soon, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	if _, err := c.guard.Lookup(soon, semel.Key{Scope: semel.ScopeGlobal, Name: "readiness"}); err != nil && !errors.Is(err, semel.ErrNotFound) {
		return err
	}
	p.Took = number(float64(time.Since(start).Microseconds())/1000, 100)
	counts := map[string]int{}
	progress, err := c.records.List(ctx, operator.Search{Examine: semel.MaxListExamined, Bare: true}, func(rec *semel.Record) error {
		state := operator.State(rec).String()
		counts[state]++
		if state == semel.StateUnknown.String() {
			oldest := viewRow(rec)
			p.OldestUnknown = &oldest
		}
		return nil
	})
	p.Examined = progress.Examined
	for _, state := range operatorview.SearchStates() {
		one := share{state.String(), state.String(), counts[state.String()]}
		switch state {
		case semel.StateFailed, semel.StateUnreadable: // their answers are not read here
			continue
		case semel.StateCompleted:
			one.Label = "completed or failed"
		case semel.StateAbsent, semel.StateClaimed, semel.StateReleased, semel.StateUnknown, semel.StateCancelled:
		}
		p.Newest = append(p.Newest, one)
	}
	return err
}
