package console

import (
	"strings"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/verdict"
)

// kind is the subject of a record. It decides which fields a form has, and how an operator finds out about the outcome.
type kind string

const (
	ofRequest  kind = "request" // of HTTP
	ofFlow     kind = "flow"
	ofStep     kind = "step"
	ofMessage  kind = "message"
	ofFunction kind = "function" // or a request with a scope of the application's own
)

// inboxScopes begins the scope of a message's record.
const inboxScopes = verdict.OwnScopes + "inbox:"

func kindOf(rec *semel.Record) kind {
	switch _, _, _, ok := routeOf(rec); {
	case strings.HasPrefix(rec.Scope, verdict.FlowScopes):
		return ofFlow
	case strings.HasPrefix(rec.Scope, verdict.StepScopes):
		return ofStep
	case strings.HasPrefix(rec.Scope, inboxScopes):
		return ofMessage
	case ok && !strings.HasPrefix(rec.Scope, verdict.OwnScopes):
		return ofRequest
	}
	return ofFunction
}

// Answers reports whether a completed one may have an answer of HTTP.
func (k kind) Answers() bool { return k == ofRequest || k == ofFunction }

// Returns reports whether a completed one has the result of a function.
func (k kind) Returns() bool { return k == ofFlow || k == ofStep || k == ofFunction }

// Find tells how an operator finds out whether it happened.
func (k kind) Find() string {
	switch k {
	case ofRequest:
		return "Look in the application for the effect of this request: a row, an invoice, a line in its log from that time. If it is there, it happened."
	case ofStep:
		return "Ask the service that this step calls, by the key that it was given, or look there for the effect at that time. If it is there, it happened."
	case ofFlow:
		return "Look for the effect of the whole flow. Where one step is unknown, settle that step instead: the flow goes on with its next attempt."
	case ofMessage:
		return "Look for the effect of this message. If it is there, it happened."
	case ofFunction:
	}
	return "Look for the effect where the program writes it, at that time. If it is there, it happened."
}

// Happened names the effect where an operator decides that it happened.
func (k kind) Happened() string {
	switch k {
	case ofStep:
		return "It happened: the flow goes on with the result below"
	case ofFlow:
		return "It happened: attempts get the result below"
	case ofMessage:
		return "It happened: the message is not handled again"
	case ofRequest, ofFunction:
	}
	return "It happened: attempts get the answer below"
}

// Released names the effect where it did not happen.
func (k kind) Released() string {
	switch k {
	case ofStep:
		return "It did not happen: the next attempt of the flow executes this step"
	case ofMessage:
		return "It did not happen: the next delivery is handled"
	case ofRequest, ofFlow, ofFunction:
	}
	return "It did not happen: the next attempt executes"
}

// Cancelled names the effect where it must not happen.
func (k kind) Cancelled() string {
	switch k {
	case ofStep:
		return "It did not happen and must not: the flow fails, and undoes its other steps"
	case ofMessage:
		return "It did not happen and must not: deliveries are refused"
	case ofRequest, ofFlow, ofFunction:
	}
	return "It did not happen and must not: attempts are refused"
}

// What names it within a sentence.
func (k kind) What() string { return "this " + string(k) }

// Again begins a sentence with it.
func (k kind) Again() string { return "This " + string(k) }
