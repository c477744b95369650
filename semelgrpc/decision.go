package semelgrpc

import (
	"time"

	"google.golang.org/grpc/codes"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/outcomelog"
)

// Decision describes one call, for logs and metrics. It holds neither the key nor anything else that is secret.
type Decision struct {
	Outcome  outcomelog.Outcome
	Executed bool       // the handler ran
	Code     codes.Code // of the answer
	Method   string     // the full name
	Digest   semel.Digest
	Fence    semel.Fence
	Attempt  int
	Begin    time.Duration // spent in Guard.Begin: the store, and waiting for a running twin
	Waited   time.Duration // of Begin, for a running twin whose answer was replayed
	Took     time.Duration // all of it
	Err      error         // why, when it did not go well
	// Said, Rule and Fields were noted by guards in the database under the handler's context, see [outcomelog.Note]: what it
	// came to there, and by which uniqueness rule.
	Said   outcomelog.Outcome
	Rule   string
	Fields []string
}

// Event is the decision in the one shape that all doors log creates in. To be called from OnDecision:
//
//	OnDecision: func(ctx context.Context, d semelgrpc.Decision) { sink(ctx, d.Event()) }
func (d *Decision) Event() outcomelog.Event {
	e := outcomelog.Event{Door: outcomelog.GRPC, Outcome: d.Outcome, Route: d.Method, Rule: d.Rule, Fields: d.Fields}
	if d.Digest != (semel.Digest{}) {
		e.Key = d.Digest.String()
	}
	ran := d.Outcome == outcomelog.Executed || d.Outcome == outcomelog.NotStored
	switch {
	case d.Outcome == outcomelog.Replayed && d.Waited > 0:
		e.Outcome = outcomelog.Merged
	case ran && d.Code != codes.OK && d.Said == outcomelog.Failed:
		e.Outcome = outcomelog.Failed
	case ran && d.Code != codes.OK:
		e.Outcome = outcomelog.Rejected
	case ran && d.Said == outcomelog.ReturnedExisting:
		e.Outcome = outcomelog.ReturnedExisting
	case ran:
		e.Outcome = outcomelog.Created
	}
	return e
}
