package adminapi

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/desk"
)

// maxScan bounds the records that one call reads to find those that are wanted.
const maxScan = 2000

// page is a part of a list. Next is what the next call gives as before; without
// it the list has ended.
type page struct {
	Records []desk.Record `json:"records"`
	Next    semel.Fence   `json:"next,omitempty"`
}

func parseQuery(raw string) (url.Values, error) { return url.ParseQuery(raw) }

// list shows what the store remembers, the newest claim first.
func (a *API) list(ctx context.Context, c *call) (any, error) {
	limit, before, err := c.window()
	if err != nil {
		return nil, err
	}
	search := &desk.Search{Scope: c.query["scope"], Name: c.query["name"], Before: before}
	for _, name := range c.states {
		state, ok := desk.ParseState(name)
		if !ok {
			return nil, badField(paramState, "%q is none of %s", paramState, joinStates())
		}
		search.States = append(search.States, state)
	}
	return a.search(ctx, search, limit)
}

func (a *API) search(ctx context.Context, search *desk.Search, limit int) (*page, error) {
	out := &page{Records: []desk.Record{}}
	params := search.Params()
	var last semel.Fence
	for scanned := 0; ; {
		records, err := a.lister.List(ctx, params)
		if err != nil {
			return nil, fmt.Errorf("list records: %w", err)
		}
		for i := range records {
			params.Before = records[i].Fence
			if !search.Shows(&records[i]) {
				continue
			}
			if len(out.Records) == limit {
				out.Next = last
				return out, nil
			}
			out.Records, last = append(out.Records, a.view(&records[i])), records[i].Fence
		}
		if len(records) < params.Limit {
			return out, nil
		}
		if scanned += len(records); scanned >= maxScan {
			out.Next = params.Before
			return out, nil
		}
	}
}

func joinStates() string {
	var names []string
	for _, s := range desk.SearchStates() {
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
	return a.view(&rec), nil
}

// view is a record as the API shows it, its answer decrypted where the guard can.
func (a *API) view(rec *semel.Record) desk.Record {
	_ = desk.Reveal(a.guard, rec) // what cannot be read is shown as encrypted
	return desk.ViewRecord(rec)
}

// trail is a part of the audit trail; Next as in page.
type trail struct {
	Entries []desk.AuditEntry `json:"entries"`
	Next    semel.Fence       `json:"next,omitempty"`
}

// audit shows the verdicts, the newest first.
func (a *API) audit(ctx context.Context, c *call) (any, error) {
	limit, before, err := c.window()
	if err != nil {
		return nil, err
	}
	entries, err := a.guard.Audit(ctx, semel.AuditParams{Before: before, Limit: limit + 1})
	if err != nil {
		return nil, err
	}
	out := &trail{Entries: []desk.AuditEntry{}}
	for i := range entries[:min(limit, len(entries))] {
		out.Entries = append(out.Entries, desk.ViewAudit(&entries[i]))
	}
	if len(entries) > limit {
		out.Next = entries[limit-1].Position
	}
	return out, nil
}
