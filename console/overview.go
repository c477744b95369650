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
	"github.com/semel-dev/semel/outcomelog"
)

// pingTimeout bounds the wait for the store's sign of life.
const pingTimeout = 2 * time.Second

// overviewPage tells whether a record needs the operator, and the counts of this process.
type overviewPage struct {
	Since      string
	News       *news
	Now        figures
	Bound      int  // of live claims; 0 if it is not known
	Counted    bool // this process serves requests, and counts them
	Stopped    liveNumber
	Day        bool // Stopped is of the last day, not of the whole life of the process
	Reasons    []reason
	Rates      *chart
	Charts     []chart
	Prometheus string

	Down    string // why the store does not answer
	Unfit   string // why the store's server breaks a promise
	Took    string // milliseconds for one read
	Pending *pending
}

// liveNumber follows a number of an event, of which it leaves out Base.
type liveNumber struct {
	Name        string
	Value, Base uint64
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
	day := c.history.day()
	p.Stopped = liveNumber{"stopped", p.Now.Stopped - day[0].tally.Stopped, day[0].tally.Stopped}
	p.Day = day[0].at.After(c.history.since)
	if p.Charts = c.history.charts(); len(p.Charts) > 0 {
		p.Rates, p.Charts = &p.Charts[0], p.Charts[1:]
	}
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
	_, err := c.guard.Lookup(soon, semel.Key{Scope: semel.ScopeGlobal, Name: "readiness"})
	if err != nil && !errors.Is(err, semel.ErrNotFound) {
		return err
	}
	p.Took = number(float64(time.Since(start).Microseconds())/1000, 100)
	p.Pending, err = c.countPending(ctx)
	return err
}
