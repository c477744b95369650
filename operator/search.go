package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/envelope"
	"github.com/semel-dev/semel/internal/verdict"
)

const (
	// outcomePage is the size of a page whose records come with their answers,
	// which may be large.
	outcomePage = 20
	// maxRead bounds the records that a bounded search reads and may not show.
	maxRead = 2000
	// maxReadBytes bounds their outcomes.
	maxReadBytes = 16 << 20
)

// Search says which records an operator wants to see.
type Search struct {
	States      []semel.State // any of these, as [State] counts; empty for all
	Scope, Name string        // empty for any; the audit trail is shown to who asks for its scope only
	After       string        // the cursor where to continue, or empty
	Limit       int           // how many to show, 0 for all
	// Bare leaves their outcomes out, and so reads more of them at once. A failed or unreadable record then counts as
	// completed; a search for failed or unreadable ones reads outcomes nevertheless.
	Bare    bool
	Examine int // how many of the store's records to look at, 0 for all
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
	if !params.Outcomes {
		most = semel.MaxListLimit
	}
	for shown, read, spent, bytes := 0, 0, 0, 0; ; {
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
		n, size, err := r.give(&s, page.Records, show)
		if err != nil {
			return p, err
		}
		cost := params.Examine // it did what it might
		if len(page.Records) == params.Limit {
			cost = page.Examined
		}
		shown, read, spent, bytes = shown+n, read+len(page.Records), spent+cost, bytes+size
		p = Progress{Examined: p.Examined + page.Examined, Next: page.Next, Unordered: p.Unordered || page.Unordered}
		params.After = page.Next
		enough := s.Limit > 0 && shown >= s.Limit
		far := s.Examine > 0 && (spent >= s.Examine || read >= maxRead || bytes >= maxReadBytes)
		if page.Next == "" || enough || far {
			return p, nil
		}
	}
}

// give shows the records that match, and returns their number, and how large the outcomes of all of them are.
func (r *Records) give(s *Search, records []semel.Record, show func(*semel.Record) error) (n, size int, err error) {
	for i := range records {
		size += len(records[i].Outcome)
		if !r.wanted(s, &records[i]) {
			continue
		}
		if err := show(&records[i]); err != nil {
			return n, size, err
		}
		n++
	}
	return n, size, nil
}

// params asks the store for a page of what may be wanted.
func (s *Search) params() semel.ListParams {
	p := semel.ListParams{Scope: s.Scope, Name: s.Name, After: s.After, Outcomes: !s.Bare}
	add := func(state semel.State) {
		if !slices.Contains(p.States, state) {
			p.States = append(p.States, state)
		}
	}
	for _, state := range s.States {
		switch state {
		case semel.StateUnknown:
			add(state)
			add(semel.StateClaimed) // lapsed ones count as unknown
		case semel.StateFailed, semel.StateUnreadable:
			add(semel.StateCompleted)
			p.Outcomes = true // which tell them apart
		case semel.StateAbsent, semel.StateClaimed, semel.StateCompleted, semel.StateReleased, semel.StateCancelled:
			add(state)
		}
	}
	return p
}

// wanted reports whether a record that the store returned is wanted.
func (r *Records) wanted(s *Search, rec *semel.Record) bool {
	if rec.Scope == verdict.AuditScope && s.Scope != verdict.AuditScope {
		return false
	}
	if len(s.States) == 0 {
		return true
	}
	if revealed := *rec; r.guard.Reveal(&revealed) == nil {
		rec = &revealed
	}
	return slices.Contains(s.States, State(rec))
}

// State returns the state of the record, in which a lapsed claim is unknown. Of a completed record, the outcome tells
// whether its work failed for good ([semel.StateFailed]): decrypt it first ([semel.Guard.Reveal]). While it is encrypted, the
// record is [semel.StateUnreadable]. Without its outcome ([Search.Bare]), the record is completed.
func State(rec *semel.Record) semel.State {
	switch {
	case rec.Lapsed():
		return semel.StateUnknown
	case rec.State != semel.StateCompleted:
		return rec.State
	case envelope.Failed(rec.Outcome):
		return semel.StateFailed
	}
	if _, sealed := semel.SealedWith(rec.Outcome); sealed {
		return semel.StateUnreadable
	}
	return semel.StateCompleted
}
