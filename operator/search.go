package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/verdict"
)

const (
	// outcomePage is the size of a page whose records come with their answers,
	// which may be large.
	outcomePage = 20
	// maxRead bounds the records that a bounded search reads and may not show.
	maxRead = 2000
)

// Search says which records an operator wants to see.
type Search struct {
	States      []semel.State // any of these, as [State] counts; empty for all
	Scope, Name string        // empty for any; the audit trail is shown to who asks for its scope only
	After       string        // the cursor where to continue, or empty
	Limit       int           // how many to show, 0 for all
	Bare        bool          // leave their outcomes out, and so read more of them at once
	Examine     int           // how many of the store's records to look at, 0 for all
}

// Progress reports how far a search went.
type Progress struct {
	Examined  int    // how many records it looked at
	Next      string // the cursor of the rest; empty when there is none
	Unordered bool   // the rest may hold newer records
}

// List calls show with the records that match, the newest claim first, and looks at no
// more of them than s.Examine. The store must be a [semel.Lister]. The error is that of
// the store, or show's own.
func (r *Records) List(ctx context.Context, s Search, show func(*semel.Record) error) (p Progress, err error) {
	lister, ok := semel.StoreAs[semel.Lister](r.guard.Store())
	if !ok {
		return p, errors.New("semel: operator: this store cannot show its records")
	}
	params := s.params()
	most := outcomePage
	if s.Bare {
		most = semel.MaxListLimit
	}
	for shown, read, spent := 0, 0, 0; ; {
		params.Limit = most
		if s.Limit > 0 {
			params.Limit = min(most, s.Limit-shown)
		}
		if s.Examine > 0 {
			params.Examine = min(semel.MaxListExamined, s.Examine-spent)
		}
		page, err := lister.List(ctx, params)
		if err != nil {
			return p, fmt.Errorf("list records: %w", err)
		}
		n, err := s.give(page.Records, show)
		if err != nil {
			return p, err
		}
		cost := params.Examine // it did what it might
		if len(page.Records) == params.Limit {
			cost = page.Examined
		}
		shown, read, spent = shown+n, read+len(page.Records), spent+cost
		p = Progress{Examined: p.Examined + page.Examined, Next: page.Next, Unordered: p.Unordered || page.Unordered}
		params.After = page.Next
		enough := s.Limit > 0 && shown >= s.Limit
		far := s.Examine > 0 && (spent >= s.Examine || read >= maxRead)
		if page.Next == "" || enough || far {
			return p, nil
		}
	}
}

// give shows the records that match, and returns their number.
func (s *Search) give(records []semel.Record, show func(*semel.Record) error) (n int, err error) {
	for i := range records {
		if !s.shows(&records[i]) {
			continue
		}
		if err := show(&records[i]); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// params asks the store for a page of what may be wanted.
func (s *Search) params() semel.ListParams {
	p := semel.ListParams{Scope: s.Scope, Name: s.Name, After: s.After, Outcomes: !s.Bare, States: slices.Clone(s.States)}
	if slices.Contains(p.States, semel.StateUnknown) && !slices.Contains(p.States, semel.StateClaimed) {
		p.States = append(p.States, semel.StateClaimed) // lapsed ones count as unknown
	}
	return p
}

// shows reports whether a record that the store returned is wanted.
func (s *Search) shows(rec *semel.Record) bool {
	if len(s.States) > 0 && !slices.Contains(s.States, State(rec)) {
		return false
	}
	return rec.Scope != verdict.AuditScope || s.Scope == verdict.AuditScope
}

// State returns the state of the record, in which a lapsed claim is unknown.
func State(rec *semel.Record) semel.State {
	if rec.Lapsed() {
		return semel.StateUnknown
	}
	return rec.State
}
