package stage

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Tally is the result of one scenario on one copy of the application.
type Tally struct {
	Invoices int `json:"invoices"`
	Emails   int `json:"emails"`
	// Saw describes the answer to the second caller.
	Saw string `json:"saw"`
}

// Result is the result of one scenario on both copies: without a gateway, and behind one.
type Result struct {
	Scenario    string `json:"scenario"`
	Unprotected Tally  `json:"unprotected"`
	Protected   Tally  `json:"protected"`
}

// Once reports whether the protected copy did what was wanted exactly once.
func (r *Result) Once() bool { return r.Protected.Invoices == 1 && r.Protected.Emails == 1 }

// Play plays every scenario against both copies, over real connections, within 50 seconds, and calls after, unless nil, after each.
// No other caller may create anything meanwhile.
func (d *Demo) Play(ctx context.Context, after func(Result)) ([]Result, error) {
	ctx, cancel := context.WithTimeout(ctx, 50*time.Second)
	defer cancel()
	var results []Result
	for i, s := range scenarios() {
		r := Result{Scenario: s.name}
		// Every scenario has its own invoice, so that none counts as a repetition of another.
		note := fmt.Sprintf("scenario %d: %s", i+1, s.name)
		var errs [2]error
		var both sync.WaitGroup
		bare, kept := d.unprotected, d.protected
		if s.scripted {
			bare, kept = d.scripts, d.paged
		}
		both.Go(func() { r.Unprotected, errs[0] = playOn(ctx, s, bare, note) })
		both.Go(func() { r.Protected, errs[1] = playOn(ctx, s, kept, note) })
		both.Wait()
		for j, err := range errs {
			if err != nil {
				return results, fmt.Errorf("play %q on the %s copy: %w", s.name, []string{"unprotected", "protected"}[j], err)
			}
		}
		results = append(results, r)
		if after != nil {
			after(r)
		}
	}
	return results, nil
}

// playOn plays one scenario on one copy, and counts the results when nothing is under way any more.
func playOn(ctx context.Context, s scenario, on *side, note string) (Tally, error) {
	before, err := on.app.Counts(ctx)
	if err != nil {
		return Tally{}, err
	}
	p := &player{on: on, note: note}
	defer p.leave()
	saw, err := s.play(ctx, p)
	if err != nil {
		return Tally{}, err
	}
	if err := on.untilIdle(ctx); err != nil {
		return Tally{}, err
	}
	after, err := on.app.Counts(ctx)
	if err != nil {
		return Tally{}, err
	}
	return Tally{Invoices: after.Invoices - before.Invoices, Emails: after.Emails - before.Emails, Saw: saw}, nil
}
