package flow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/envelope"
	"github.com/semel-dev/semel/internal/verdict"
)

// missingSteps bounds the numbers without a record that [Steps] passes over: those of
// steps in other databases.
const missingSteps = 8

// Step is the record of one step of a flow.
type Step struct {
	Name   string // as the flow's function names it; empty where neither its own record nor the flow's has it
	Number int    // 1 for the first
	Undo   bool   // it undoes the step of that number
	Record semel.Record
}

// Steps returns the steps of a flow in their order, and then those that were undone,
// for operators; none when the record is not that of a flow, or the store keeps no
// scopes. Steps that ran in another database ([On]) are not among them. guard is one of
// the store's, with the same secrets.
func Steps(ctx context.Context, guard *semel.Guard, flow *semel.Record) ([]Step, error) {
	if _, ok := flowOf(flow.Scope); !ok {
		return nil, nil
	}
	scope := stepScope(semel.Key{Scope: flow.Scope, Name: flow.Name})
	var steps, undone []Step
	for number, missing := 1, 0; number <= maxSteps && missing < missingSteps; number++ {
		name := strconv.Itoa(number)
		step, err := stepAt(ctx, guard, semel.Key{Scope: scope, Name: name})
		if errors.Is(err, semel.ErrNotFound) {
			missing++
			continue
		}
		if err != nil {
			return nil, err
		}
		missing = 0
		if step.Record.Fingerprint == (semel.Fingerprint{}) && step.Record.Note != errLate.Error() { // the seal behind the last step
			continue
		}
		step.Number = number
		steps = append(steps, step)
		undo, err := stepAt(ctx, guard, semel.Key{Scope: scope, Name: undoPrefix + name})
		switch {
		case err == nil:
			undo.Number, undo.Undo = number, true
			undone = append(undone, undo)
		case !errors.Is(err, semel.ErrNotFound):
			return nil, err
		}
	}
	nameOpen(steps, flow)
	for i := range undone {
		if at := slices.IndexFunc(steps, func(s Step) bool { return s.Number == undone[i].Number }); undone[i].Name == "" && steps[at].Name != "" {
			undone[i].Name = undoPrefix + steps[at].Name
		}
	}
	return append(steps, undone...), nil
}

// nameOpen names the last step that has no result: the flow's record says at which step it failed, or where it waits.
func nameOpen(steps []Step, flow *semel.Record) {
	name := openStep(flow.Note)
	if failed, ok := envelope.FailureOf(flow.Outcome, maxMessage); ok {
		name = failed.Step
	}
	for i := len(steps) - 1; i >= 0 && name != ""; i-- {
		switch s := &steps[i]; s.Name {
		case name:
			return
		case "":
			s.Name = name
			return
		}
	}
}

// openStep returns the step that the note of an open flow names: it is the text of [Parked] or [Unfinished].
func openStep(note string) string {
	_, rest, _ := strings.Cut(note, "step ")
	quoted, err := strconv.QuotedPrefix(rest)
	if err != nil || !strings.HasPrefix(note, "flow ") {
		return ""
	}
	name, _ := strconv.Unquote(quoted) // it is quoted
	if strings.HasPrefix(name, undoPrefix) {
		return ""
	}
	return name
}

// Outcome returns a result as the record of a flow or a step keeps it, for an operator
// who resolves that record as completed: give it as [semel.Settlement].Outcome, with
// Kept set. It is an error when the record is of neither, or the store keeps no scopes.
func Outcome(rec *semel.Record, result any) ([]byte, error) {
	value, err := json.Marshal(result)
	if err != nil {
		return nil, fmt.Errorf("flow: the result cannot be kept: %w", err)
	}
	raw := json.RawMessage(value)
	if _, ok := flowOf(rec.Scope); ok {
		return json.Marshal(recordedAnswer[json.RawMessage]{Version: answerVersion, Value: &raw})
	}
	if strings.HasPrefix(rec.Scope, verdict.StepScopes) {
		return semel.OutcomeOf(kept{Value: raw})
	}
	return nil, errors.New("flow: the record is neither that of a flow nor that of a step, or its scope is hidden")
}

func stepAt(ctx context.Context, guard *semel.Guard, key semel.Key) (Step, error) {
	rec, err := guard.Lookup(ctx, key)
	if err != nil && !errors.Is(err, semel.ErrUnreadable) {
		return Step{}, fmt.Errorf("flow: step %s: %w", key.Name, err)
	}
	var outcome struct {
		Value kept `json:"value"`
	}
	_ = json.Unmarshal(rec.Outcome, &outcome) // one that cannot be read has no name
	return Step{Name: outcome.Value.Step, Record: rec}, nil
}
