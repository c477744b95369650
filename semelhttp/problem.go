package semelhttp

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/refusal"
	"github.com/semel-dev/semel/outcomelog"
)

var errKeyMissing = errors.New("semelhttp: the request carries no key")

// ErrFormStale is the error of a [KeySource] that takes the key from a token
// which the service itself put into a form, when the token is not its own, is
// too old, or is another caller's (409 form-stale).
var ErrFormStale = errors.New("semelhttp: the form's token is not valid here, or not any more")

// UnverifiedError is the error of a [KeySource] that takes the key from signed
// material, for a request whose signature is missing, wrong or too old. The caller
// gets the problem; nothing runs, and the store is not asked.
type UnverifiedError struct {
	Problem Problem
	Err     error // why, for [Decision]; it holds nothing secret
}

// Error implements error.
func (e *UnverifiedError) Error() string {
	return "semelhttp: the sender is not verified: " + e.Err.Error()
}

// Unwrap returns why.
func (e *UnverifiedError) Unwrap() error { return e.Err }

// optionError is an error of a function that the options name; its text is not
// for callers.
type optionError struct {
	what string
	err  error
}

func (e *optionError) Error() string { return fmt.Sprintf("semelhttp: %s: %v", e.what, e.err) }
func (e *optionError) Unwrap() error { return e.err }

// Problem is a refusal as RFC 9457 has it.
type Problem struct {
	Name       string // the type is urn:semel:problem:NAME
	Title      string
	Detail     string // in plain words: what happened and what to do
	Page       string // the texts that a page shows instead, by their name in templates/texts.json; empty for Title and Detail
	Status     int
	Retryable  bool           // the same request with the same key can succeed
	RetryAfter time.Duration  // sent as Retry-After, in whole seconds, at least one; 0 for none
	Language   string         // of Title and Detail, such as sv; empty means English
	PolicyURL  string         // linked as describedby; empty means DefaultPolicyURL
	Extra      map[string]any // further members; those above win
}

// problem is one row of the table.
type problem struct {
	err       error
	outcome   outcomelog.Outcome
	name      string
	page      string // its texts for people, in templates/texts.json
	status    int
	retryable bool
	title     string
	detail    string
}

// problems is the one table from errors to answers. The first row that
// matches counts; what matches none is internal.
func problems() []problem {
	return slices.Concat(transactionProblems(), requestProblems(), refusals(), replayProblems())
}

// transactionProblems are the outcomes of a transaction that did not commit.
func transactionProblems() []problem {
	const (
		failed = http.StatusInternalServerError
		later  = http.StatusServiceUnavailable
	)
	return []problem{
		{
			errUncertain, outcomelog.Unknown, "commit-unknown", "commit-unknown", later, true, "The outcome is not known yet",
			"The connection to the database was lost at the last moment. Send the same request again with the same key: it gets the recorded answer, or is carried out then.",
		},
		{
			errHeldTooLong, outcomelog.RolledBack, "response-too-large", "result-too-large", failed, false, "The answer is too large",
			"Nothing was done: the answer is larger than this service can hold back until everything is recorded.",
		},
		{
			errStreamInTx, outcomelog.RolledBack, "response-too-large", "result-not-supported", failed, false, "The answer cannot be sent",
			"Nothing was done: the answer is one that cannot be held back until everything is recorded.",
		},
		{
			semel.ErrRolledBack, outcomelog.RolledBack, "rolled-back", "rolled-back", later, true, "The change was rolled back",
			"Nothing was done. Send the same request again with the same key.",
		},
		{
			semel.ErrLost, outcomelog.RolledBack, "rolled-back", "superseded", later, true, "The change was rolled back",
			"Nothing was done by this request. Send it again with the same key.",
		},
	}
}

// requestProblems are about the request itself.
func requestProblems() []problem {
	const (
		bad   = http.StatusBadRequest
		later = http.StatusServiceUnavailable
	)
	return []problem{
		{
			errKeyMissing, outcomelog.KeyMissing, "key-missing", "form-incomplete", bad, false, "The key is missing",
			"This request must carry a key, so that sending it twice is safe. Nothing was done. Choose a new unique key, such as a UUID, and send it again. If the request had one, a proxy on the way removed it.",
		},
		{
			semel.ErrKeyInvalid, outcomelog.KeyInvalid, "key-invalid", "form-damaged", bad, false, "The key is not valid",
			"Nothing was done. Send exactly one key of 1 to 255 printable characters, such as a UUID.",
		},
		{
			semel.ErrScopeMissing, outcomelog.KeyInvalid, "key-invalid", "sign-in", bad, false, "The key has no owner",
			"Nothing was done. The request does not say who sends it, so its key cannot be distinguished from the keys of other callers. Sign in, or send your credentials.",
		},
		{
			ErrFormStale, outcomelog.FormStale, "form-stale", "form-stale", http.StatusConflict, false, "This form can no longer be sent",
			"Nothing was done. The page with the form is too old, or was made for another sign-in. Go back, copy what you typed, reload the page, and send the form again.",
		},
		{
			errBodyTooLarge, outcomelog.BodyTooLarge, "body-too-large", "body-too-large", http.StatusRequestEntityTooLarge, false, "The request is too large",
			"Nothing was done. The body is longer than this service takes together with a key.",
		},
		{
			errBodyIncomplete, outcomelog.BodyIncomplete, "body-incomplete", "body-incomplete", bad, true, "The request was cut off",
			"Nothing was done. The body did not arrive completely. Send the same request again with the same key.",
		},
		{
			errSpool, outcomelog.Unavailable, "store-unavailable", "store-unavailable", later, true, "Temporarily unavailable",
			"Nothing was done. Wait a moment, then send the same request again with the same key.",
		},
	}
}

// refusals are the reasons of the guard not to execute.
func refusals() []problem {
	const (
		conflict = http.StatusConflict
		later    = http.StatusServiceUnavailable
	)
	return []problem{
		{
			semel.ErrInFlight, outcomelog.InFlight, "in-flight", "in-flight", conflict, true, "The same request is still being processed",
			"It was not started a second time. Wait a moment, then send it again with the same key to get its answer.",
		},
		{
			semel.ErrMismatch, outcomelog.Mismatch, "key-reused", "already-sent", http.StatusUnprocessableEntity, false, "The key was used for another request",
			"Nothing was done. Use a new key for a new request, or send exactly what was sent before.",
		},
		{
			semel.ErrUnknown, outcomelog.Unknown, "outcome-unknown", "outcome-unknown", conflict, false, "The outcome is unknown",
			"An earlier attempt was interrupted. It was not repeated, because it may have had its effect. Look for the effect before you send the request with another key; an operator can resolve the record.",
		},
		{
			semel.ErrNotKept, outcomelog.NotKept, "response-not-kept", "response-not-kept", conflict, false, "It was done, but the answer was not kept",
			"Do not send it again with another key. Look the result up.",
		},
		{
			semel.ErrUnreadable, outcomelog.Unreadable, "response-unreadable", "response-unreadable", conflict, false, "It was done, but its answer cannot be read",
			"Do not send it again with another key. Look the result up. An operator may be able to make the recorded answer readable again.",
		},
		{
			semel.ErrCancelled, outcomelog.Cancelled, "cancelled", "cancelled", conflict, false, "It was cancelled",
			"This request was cancelled before it was carried out, and will not be. Use a new key if you want it after all.",
		},
		{
			semel.ErrDuplicate, outcomelog.Duplicate, "duplicate", "duplicate", conflict, false, "It was already done",
			"This request repeats one that was carried out. There is nothing left to do.",
		},
		{
			semel.ErrQuota, outcomelog.Quota, "quota-exceeded", "quota-exceeded", http.StatusTooManyRequests, true, "Too many requests",
			"Nothing was done: you have too many requests running or remembered. Wait, then send the same request again with the same key.",
		},
		{
			semel.ErrClosed, outcomelog.ShuttingDown, "shutting-down", "shutting-down", later, true, "This server is shutting down",
			"Nothing was done. Send the same request again with the same key; another server may take it.",
		},
		{
			semel.ErrUnavailable, outcomelog.Unavailable, "store-unavailable", "store-unavailable", later, true, "Temporarily unavailable",
			"Nothing was done. Wait a moment, then send the same request again with the same key.",
		},
	}
}

// foundOutDetail is that of an unknown outcome which the next repetition looks up.
const foundOutDetail = "An earlier attempt was interrupted. Whether it happened is looked up with each repetition: wait as long as Retry-After says, then send the same request again with the same key. With another key it may happen twice."

// problemOf returns the answer to an error.
func problemOf(err error) (Problem, outcomelog.Outcome) {
	guardError, fromGuard := errors.AsType[*semel.Error](err)
	_, fromOption := errors.AsType[*optionError](err)
	if unverified, ok := errors.AsType[*UnverifiedError](err); ok && !fromOption {
		return unverified.Problem, outcomelog.Unverified
	}
	for _, row := range problems() {
		if fromOption || !errors.Is(err, row.err) {
			continue
		}
		p := Problem{Name: row.name, Page: row.page, Title: row.title, Detail: row.detail, Status: row.status, Retryable: row.retryable}
		if row.retryable {
			p.RetryAfter = time.Second
		}
		if errors.Is(err, semel.ErrKeyInvalid) {
			p.Extra = map[string]any{"reason": strings.TrimPrefix(err.Error(), semel.ErrKeyInvalid.Error()+": ")}
		}
		if fromGuard {
			p.learn(guardError)
		}
		return p, row.outcome
	}
	if !fromOption && fromGuard { // the caller's context ended while it waited
		p, _ := problemOf(semel.ErrUnavailable)
		return p, outcomelog.Aborted
	}
	return Problem{
		Name: "internal", Page: "internal", Title: "Something went wrong", Status: http.StatusInternalServerError,
		Detail: "Nothing was done. This is a fault of the service.",
	}, outcomelog.Internal
}

// learn adds the guard's knowledge of the earlier attempt.
func (p *Problem) learn(refusal *semel.Error) {
	p.RetryAfter = max(p.RetryAfter, refusal.RetryAfter)
	if p.RetryAfter > 0 && errors.Is(refusal, semel.ErrUnknown) && !p.Retryable { // the next attempt looks it up
		p.Retryable, p.Detail = true, foundOutDetail
	}
	if known := recorded(refusal.Record); known != nil {
		p.Extra = known
	}
	if errors.Is(refusal, semel.ErrUnknown) && refusal.Digest != (semel.Digest{}) {
		p.Extra = map[string]any{"reference": reference(refusal.Digest)}
	}
}

// reference returns the digits by which an operator finds the record.
func reference(d semel.Digest) string { return refusal.Reference(d.String()) }

// recorded returns what is known of an answer that was not kept.
func recorded(rec *semel.Record) map[string]any {
	if rec == nil || rec.State != semel.StateCompleted {
		return nil
	}
	summary, err := ParseResponse(rec.Outcome)
	if err != nil {
		return nil
	}
	known := map[string]any{"recorded_status": summary.Status}
	if location := summary.Header.Get("Location"); location != "" {
		known["location"] = location
	}
	return known
}

// WriteProblem answers with the problem: as application/problem+json, or as a
// small page to a caller that prefers HTML. Nothing of it may be cached. A writer
// with a method NoteProblem(name string) receives the problem's name.
func WriteProblem(w http.ResponseWriter, r *http.Request, p Problem) {
	refusal.Write(w, r, refusal.Problem(p))
}

// writeProblem is [WriteProblem] in the format of the options.
func (m *Middleware) writeProblem(w http.ResponseWriter, r *http.Request, p Problem) {
	if m.set.StripeErrors {
		r = r.WithContext(refusal.ForStripe(r.Context()))
	}
	WriteProblem(w, r, p)
}
