package console

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/flow"
	"github.com/semel-dev/semel/internal/cli/operatorview"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/internal/verdict"
	"github.com/semel-dev/semel/operator"
)

// pageScan bounds the records of the store that one question for a page of messages or flows looks at: so that a page ends
// where it is full, and goes on there.
const pageScan = pageRecords / 2

// emptyScan bounds the parts in which nothing is found, and which grow to it.
const emptyScan = semel.MaxListLimit

// maxScan bounds the records of all parts of a page: a quarter of what a search may look at, because messages are read with their outcomes.
const maxScan = semel.MaxListExamined / 4

// rest says how far a search went.
type rest struct {
	Examined int
	// Older leads to the rest; empty when there is none.
	Older     string
	Unordered bool
}

// scan looks at a bounded number of records in parts, until a page is full. part looks at one, and returns how many it has
// shown so far. Parts grow where nothing is found; one that finds more than fits is looked at again in small ones, after cut
// has taken back all but the first of what was shown.
func (c *Console) scan(k *call, cut func(shown int), part func(ctx context.Context, s operator.Search) (shown int, p operator.Progress, err error)) (rest, error) {
	ctx, cancel := context.WithTimeout(k.Context(), pageTimeout)
	defer cancel()
	s, r := operator.Search{After: k.URL.Query().Get("after"), Examine: pageScan}, rest{}
	for before := 0; ; {
		shown, p, err := part(ctx, s)
		switch {
		case err != nil:
			return r, err
		case shown > pageRecords && s.Examine > pageScan:
			cut(before)
			s.Examine = pageScan
			continue
		case shown > before:
			s.Examine = pageScan
		default:
			s.Examine = min(2*s.Examine, emptyScan)
		}
		before = shown
		r.Examined, r.Unordered, s.After = r.Examined+p.Examined, r.Unordered || p.Unordered, p.Next
		if p.Next == "" {
			return r, nil
		}
		if shown > pageRecords-pageScan || r.Examined >= maxScan {
			older := k.URL.Query()
			older.Set("after", p.Next)
			r.Older = "?" + older.Encode()
			return r, nil
		}
	}
}

// flowsPage lists flows.
type flowsPage struct {
	rest

	Flows  []flowRow
	Parked bool // only those
	Hidden bool // the store does not know which records are flows
}

type flowRow struct {
	row

	Flow string
	At   string // the step at which it is parked or failed
}

func (c *Console) flows(k *call) {
	p := flowsPage{Parked: k.URL.Query().Has("parked"), Hidden: c.guard.HidesKeys()}
	var err error
	if !p.Hidden {
		p.rest, err = c.scan(k, func(shown int) { p.Flows = p.Flows[:shown] }, func(ctx context.Context, s operator.Search) (int, operator.Progress, error) {
			if p.Parked {
				s.States = []semel.State{semel.StateUnknown}
			}
			s.Bare = true // most records belong to no flow; readEnds separates failed ones from completed ones
			at, err := c.records.List(ctx, s, func(rec *semel.Record) error {
				if strings.HasPrefix(rec.Scope, verdict.FlowScopes) {
					p.Flows = append(p.Flows, viewFlow(rec))
				}
				return nil
			})
			return len(p.Flows), at, err
		})
	}
	if err == nil {
		err = c.readEnds(k, &p)
	}
	if err != nil {
		c.storeFailed(k, err)
		return
	}
	c.show(k, http.StatusOK, "flows", "Flows", p)
}

// readEnds reads how the completed flows of a page ended, which their outcomes tell.
func (c *Console) readEnds(k *call, p *flowsPage) error {
	ctx, cancel := context.WithTimeout(k.Context(), pageTimeout)
	defer cancel()
	kept := p.Flows[:0]
	for _, f := range p.Flows {
		if f.State == semel.StateCompleted.String() {
			rec, err := c.guard.Store().Lookup(ctx, must.Get(semel.ParseDigest(f.Digest)))
			switch {
			case errors.Is(err, semel.ErrNotFound): // it has expired since
				continue
			case err != nil:
				return err
			}
			_ = operatorview.Reveal(c.guard, &rec) // an unreadable answer is shown as such
			f = viewFlow(&rec)
		}
		kept = append(kept, f)
	}
	p.Flows = kept
	return nil
}

func viewFlow(rec *semel.Record) flowRow {
	f := flowRow{row: viewRow(rec)}
	if f.At = parkedAt(rec.Note).Step; f.Failure != nil {
		f.At = strings.TrimSuffix("failed at "+f.Failure.Step+": "+f.Failure.Error, ": ")
	}
	f.Flow, f.Scope, _ = strings.Cut(strings.TrimPrefix(rec.Scope, verdict.FlowScopes), ":")
	return f
}

// flowStep is one step of a flow.
type flowStep struct {
	operatorview.Record

	Number int
	Step   string // its name; empty as long as nothing tells it
	Undo   bool
	Took   string // how long its attempt ran; empty where that is not known
	Why    string // its error, or why its outcome is unknown
	// Undone is the step that undid this one; nil for none.
	Undone *flowStep
}

// addSteps adds the steps of a flow. Their absence does not keep the record from its page.
func (c *Console) addSteps(ctx context.Context, p *recordPage, rec *semel.Record) {
	all, err := flow.Steps(ctx, c.guard, rec)
	if err != nil {
		p.Gone = err.Error()
	}
	places := map[int]int{}
	for i := range all {
		s := viewStep(&all[i])
		if at, known := places[s.Number]; known && s.Undo {
			p.Steps[at].Undone = &s
			continue
		}
		places[s.Number] = len(p.Steps)
		p.Steps = append(p.Steps, s)
	}
}

func viewStep(s *flow.Step) flowStep {
	v := flowStep{Record: operatorview.ViewRecord(&s.Record), Number: s.Number, Step: s.Name, Undo: s.Undo, Why: s.Record.Note}
	if took := s.Record.SettledAt.Sub(s.Record.ClaimedAt); took >= 0 && !s.Record.ClaimedAt.IsZero() {
		v.Took = took.Round(time.Millisecond).String()
	}
	if v.Failure != nil {
		v.Why = v.Failure.Error
	}
	return v
}

// Title names the step.
func (s *flowStep) Title() string {
	name := s.Step
	if name == "" {
		name = "step " + strconv.Itoa(s.Number)
	}
	if s.Undo && !strings.HasPrefix(name, "undo ") {
		return "undo " + name
	}
	return name
}
