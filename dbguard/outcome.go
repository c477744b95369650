package dbguard

import (
	"context"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/outcomelog"
	"github.com/semel-dev/semel/rules"
)

// told is a guard's report on a row, for its log and for the door that admitted
// the request.
type told struct {
	sink    outcomelog.Sink
	rule    *rules.Unique
	fields  []string
	outcome outcomelog.Outcome
	status  int
}

func (t *told) tell(ctx context.Context) {
	event := outcomelog.Event{
		Door: outcomelog.Database, Outcome: t.outcome, Key: keyOf(ctx), Fields: t.fields, Status: t.status,
	}
	if t.rule != nil {
		event.Rule, event.Fields = t.rule.Name, fieldsOf(t.rule)
	}
	outcomelog.NoteFrom(ctx).Say(event.Outcome, event.Rule, event.Fields)
	if t.sink != nil {
		t.sink(ctx, event)
	}
}

// keyOf names the intent under which ctx works.
func keyOf(ctx context.Context) string {
	var digest semel.Digest
	if claim := semel.ClaimFrom(ctx); claim != nil {
		digest = claim.Digest()
	} else if claim := semel.TxClaimFrom(ctx); claim != nil {
		digest = claim.Digest()
	}
	if digest == (semel.Digest{}) {
		return ""
	}
	return digest.String()
}
