package semelhttp

import (
	"net/http"
	"strings"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/outcomelog"
)

// Event is the decision in the one shape that all doors log creates in. What a
// guard in the database noted under the handler's context is part of it: the
// rule and its fields, and that an answer below 400 returned what was there
// already. To be called from OnDecision:
//
//	OnDecision: func(ctx context.Context, d semelhttp.Decision) { sink(ctx, d.Event()) }
func (d *Decision) Event() outcomelog.Event {
	e := outcomelog.Event{
		Door: outcomelog.Middleware, Outcome: d.Outcome, Route: d.Pattern, Status: d.Status, Rule: d.Rule, Fields: d.Fields,
	}
	if d.Digest != (semel.Digest{}) {
		e.Key = d.Digest.String()
	}
	ran := d.Outcome == outcomelog.Executed || d.Outcome == outcomelog.NotStored
	switch {
	case d.Outcome == outcomelog.Replayed && d.Waited > 0:
		e.Outcome = outcomelog.Merged
	case ran && d.Status >= http.StatusBadRequest:
		e.Outcome = outcomelog.Rejected
	case ran && d.Said == outcomelog.ReturnedExisting:
		e.Outcome = outcomelog.ReturnedExisting
	case ran:
		e.Outcome = outcomelog.Created
	}
	if d.Status < http.StatusBadRequest {
		e.Made = pathOf(d.Location)
	}
	return e
}

// pathOf returns the path of a location, without a host, a query and a fragment, which can hold what others must not see.
func pathOf(location string) string {
	if i := strings.IndexAny(location, "?#"); i >= 0 {
		location = location[:i]
	}
	scheme, rest, found := strings.Cut(location, "//")
	if absolute := found && (scheme == "" || strings.HasSuffix(scheme, ":")); !absolute {
		return location
	}
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		return rest[i:]
	}
	return ""
}
