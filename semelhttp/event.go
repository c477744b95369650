package semelhttp

import (
	"net/http"

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
	e := outcomelog.Event{Door: outcomelog.Middleware, Outcome: d.created(), Route: d.Pattern, Status: d.Status}
	if d.Digest != (semel.Digest{}) {
		e.Key = d.Digest.String()[:outcomelog.KeyDigits]
	}
	if e.Outcome == outcomelog.Created || e.Outcome == outcomelog.Rejected {
		e.Rule, e.Fields = d.Rule, d.Fields
	}
	if e.Outcome == outcomelog.Created && d.Said == outcomelog.ReturnedExisting {
		e.Outcome = outcomelog.ReturnedExisting
	}
	return e
}

// created says what the decision means to somebody who wanted one thing to be
// created.
func (d *Decision) created() outcomelog.Outcome {
	switch d.Outcome {
	case OutcomeReplayed:
		if d.Waited > 0 {
			return outcomelog.MergedRequest
		}
		return outcomelog.Replayed
	case OutcomeNotKept, OutcomeUnreadable, OutcomeDuplicate: // it was done, and this is a repetition
		return outcomelog.Replayed
	case OutcomeUnknown, OutcomeUnprotected: // its status is not known here
		return outcomelog.Unknown
	case OutcomeExecuted, OutcomeNotStored:
		if d.Executed && d.Status < http.StatusBadRequest {
			return outcomelog.Created
		}
	case OutcomeReleased, OutcomeQuota, OutcomeRolledBack, OutcomeInFlight, OutcomeMismatch, OutcomeCancelled, OutcomeDenied,
		OutcomeUnavailable, OutcomeShuttingDown, OutcomeAborted, OutcomeKeyMissing, OutcomeKeyInvalid, OutcomeFormStale,
		OutcomeBodyTooLarge, OutcomeBodyIncomplete, OutcomeInternal:
	}
	return outcomelog.Rejected
}
