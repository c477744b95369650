package console

import (
	"context"
	"errors"
	"net/http"
	"strings"

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
}

func (c *Console) flows(k *call) {
	p := flowsPage{Parked: k.URL.Query().Has("parked"), Hidden: c.guard.HidesKeys()}
	var err error
	if !p.Hidden {
		p.rest, err = c.scan(k, func(shown int) { p.Flows = p.Flows[:shown] }, func(ctx context.Context, s operator.Search) (int, operator.Progress, error) {
			if p.Parked {
				s.States = []semel.State{semel.StateUnknown}
			}
			s.Bare = true // most records are none; readEnds separates failed ones from completed ones
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
	f.Flow, f.Scope, _ = strings.Cut(strings.TrimPrefix(rec.Scope, verdict.FlowScopes), ":")
	return f
}

// flowStep is one step of a flow.
type flowStep struct {
	operatorview.Record

	Number int
	Step   string // its name; empty as long as it has no result
	Undo   bool
	In     string
}

// addSteps adds the steps of a flow. Their absence does not keep the record from its page.
func (c *Console) addSteps(ctx context.Context, p *recordPage, rec *semel.Record) {
	all, err := flow.Steps(ctx, c.guard, rec)
	if err != nil {
		p.Gone = err.Error()
	}
	for i := range all {
		s := &all[i]
		p.Steps = append(p.Steps, flowStep{operatorview.ViewRecord(&s.Record), s.Number, s.Name, s.Undo, became(&s.Record)})
	}
	if len(p.Steps) > 0 {
		p.Graph = draw(p.Steps)
	}
}

const (
	// maxDrawn bounds the steps of a drawing; the list has all.
	maxDrawn = 40
	// maxLabel bounds the letters in a box.
	maxLabel  = 22
	boxWidth  = 180
	boxHeight = 34
	rowHeight = 52
	undoLeft  = boxWidth + 40
)

// graph is a drawing of a flow: its steps one below the other, and what was undone on the right of each.
type graph struct {
	Width, Height int
	Boxes         []box
	Left          int // steps that are not drawn
}

type box struct {
	X, Y, MiddleX, TextY int
	From                 int // the right end of the box that an arrow comes from; 0 for an arrow from above, if any
	First, Undo          bool
	State, Label         string
}

// draw places the steps.
func draw(steps []flowStep) *graph {
	g, rows := &graph{Width: boxWidth + 2}, map[int]int{}
	for i := range steps {
		s := &steps[i]
		at, known := rows[s.Number]
		if !known {
			at = len(rows)
			rows[s.Number] = at
		}
		if at >= maxDrawn {
			g.Left++
			continue
		}
		b := box{X: 1, Y: 1 + at*rowHeight, First: at == 0, Undo: s.Undo, State: s.State, Label: boxLabel(s)}
		if s.Undo {
			b.X, b.From, g.Width = undoLeft, boxWidth+1, undoLeft+boxWidth+1
		}
		b.MiddleX, b.TextY = b.X+boxWidth/2, b.Y+boxHeight/2+5
		g.Height = max(g.Height, b.Y+boxHeight+1)
		g.Boxes = append(g.Boxes, b)
	}
	return g
}

// boxLabel names a step in its box: the letters that fit.
func boxLabel(s *flowStep) string {
	text := []rune(visible(s.Title()))
	if len(text) > maxLabel {
		text = append(text[:maxLabel-1], '…')
	}
	return string(text)
}

// Title names the step.
func (s *flowStep) Title() string {
	name := s.Step
	if name == "" {
		name = "step " + s.Name
	}
	if s.Undo && !strings.HasPrefix(name, "undo ") && !strings.HasPrefix(name, "step undo ") {
		return "undo " + name
	}
	return name
}
