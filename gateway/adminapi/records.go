package adminapi

import (
	"context"
	"fmt"
	"strings"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/cli/operatorview"
	"github.com/semel-dev/semel/operator"
)

// page is a part of a list. The next call gives Next as after; without it the
// list has ended.
type page struct {
	Records []operatorview.Record `json:"records"`
	progress
}

type progress struct {
	Examined  int    `json:"examined"`            // the number of records that were looked at
	Next      string `json:"next,omitempty"`      // the cursor of the rest
	Unordered bool   `json:"unordered,omitempty"` // the rest may hold newer records
}

// list shows records, the newest claim first.
func (a *API) list(ctx context.Context, c *call) (any, error) {
	limit, err := c.limit()
	if err != nil {
		return nil, err
	}
	search := operator.Search{
		Scope: c.query["scope"], Name: c.query["name"], After: c.query[paramAfter], Limit: limit, Examine: semel.MaxListExamined,
	}
	for _, name := range c.states {
		state, ok := operatorview.ParseState(name)
		if !ok {
			return nil, badField(paramState, "%q is not one of %s", paramState, joinStates())
		}
		search.States = append(search.States, state)
	}
	out := &page{Records: []operatorview.Record{}}
	found, err := a.records.List(ctx, search, func(rec *semel.Record) error {
		out.Records = append(out.Records, a.view(rec))
		return nil
	})
	if err != nil {
		return nil, err
	}
	out.progress = progress{found.Examined, found.Next, found.Unordered}
	return out, nil
}

func joinStates() string {
	var names []string
	for _, s := range operatorview.SearchStates() {
		names = append(names, s.String())
	}
	return strings.Join(names, ", ")
}

// show shows one record.
func (a *API) show(ctx context.Context, c *call) (any, error) {
	digest, err := c.record()
	if err != nil {
		return nil, err
	}
	rec, err := a.guard.Store().Lookup(ctx, digest)
	if err != nil {
		return nil, fmt.Errorf("look up record: %w", err)
	}
	one := a.view(&rec)
	one.Repeats = operatorview.ViewRepeats(ctx, a.repeats, &rec)
	return one, nil
}

// view is a record as the API shows it, its answer decrypted where the guard can.
func (a *API) view(rec *semel.Record) operatorview.Record {
	_ = operatorview.Reveal(a.guard, rec) // an unreadable answer is shown as encrypted
	return operatorview.ViewRecord(rec)
}

// trail is a part of the audit trail.
type trail struct {
	Entries []operatorview.AuditEntry `json:"entries"`
	progress
}

// audit shows the verdicts, the newest first.
func (a *API) audit(ctx context.Context, c *call) (any, error) {
	limit, err := c.limit()
	if err != nil {
		return nil, err
	}
	found, err := a.records.Audit(ctx, operator.AuditParams{After: c.query[paramAfter], Limit: limit})
	if err != nil {
		return nil, err
	}
	out := &trail{[]operatorview.AuditEntry{}, progress{found.Examined, found.Next, found.Unordered}}
	for i := range found.Entries {
		out.Entries = append(out.Entries, operatorview.ViewAudit(&found.Entries[i]))
	}
	return out, nil
}
