package semelhttp

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/outcomelog"
)

// DeniedError is the error with which [Options.BeforeReplay] says that the
// caller may no longer see what an earlier attempt came to.
type DeniedError struct {
	// Answer replies to the caller instead; nil for 403 not-allowed. It must
	// not tell whether there was an earlier attempt.
	Answer http.Handler
	// Err is why, for [Decision]; it may be nil.
	Err error
}

// Error implements error.
func (e *DeniedError) Error() string {
	if e.Err == nil {
		return "semelhttp: the caller may not see the answer"
	}
	return "semelhttp: the caller may not see the answer: " + e.Err.Error()
}

// Unwrap returns why.
func (e *DeniedError) Unwrap() error { return e.Err }

var (
	errNotAllowed    = errors.New("semelhttp: the caller may not see the answer")
	errRightNotKnown = errors.New("semelhttp: it could not be checked whether the caller may see the answer")
)

// replayProblems are the answers to who may not be told.
func replayProblems() []problem {
	return []problem{
		{
			errNotAllowed, outcomelog.Denied, "not-allowed", "not-allowed", http.StatusForbidden, false, "You may not see the answer",
			"Nothing was done. Sign in with an account that may do this.",
		},
		{
			errRightNotKnown, outcomelog.Unavailable, "authorisation-unavailable", "authorisation-unavailable", http.StatusServiceUnavailable, true, "Temporarily unavailable",
			"Nothing was done, because it could not be checked whether you may do this. Wait a moment, then send the same request again with the same key.",
		},
	}
}

// denial asks [Options.BeforeReplay] whether the caller may learn of an
// earlier attempt. It returns no error if so; otherwise answer replies to the
// caller, or is nil for the problem of the error.
func (m *Middleware) denial(r *http.Request, rec *semel.Record) (answer http.Handler, err error) {
	if m.set.BeforeReplay == nil {
		return nil, nil
	}
	err = m.set.BeforeReplay(r, rec)
	refused, ok := errors.AsType[*DeniedError](err)
	switch {
	case err == nil:
		return nil, nil
	case !ok:
		return nil, fmt.Errorf("%w: %w", errRightNotKnown, hidden(err))
	case refused.Answer == nil:
		return nil, fmt.Errorf("%w: %w", errNotAllowed, hidden(err))
	}
	return refused.Answer, err
}

// mayTell asks whether the caller may learn of an earlier attempt, and
// answers if not.
func (ex *exchange) mayTell(w http.ResponseWriter, rec *semel.Record) bool {
	answer, err := ex.m.denial(ex.request, rec)
	switch {
	case err == nil:
		return true
	case answer == nil:
		ex.refuse(w, err)
	default:
		ex.decision.Outcome, ex.decision.Err = outcomelog.Denied, err
		ex.m.page(ex.request).Allow(w.Header())
		seen := &statusRecorder{ResponseWriter: w}
		answer.ServeHTTP(seen, ex.request)
		ex.decision.Status = seen.status
	}
	return false
}

// hidden makes an error of a function of the options one that no row of the
// table of problems matches.
func hidden(err error) error { return errors.New(err.Error()) }

// statusRecorder remembers the status of an answer.
type statusRecorder struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements http.ResponseWriter.
func (w *statusRecorder) WriteHeader(status int) {
	if w.status == 0 && status >= http.StatusOK {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *statusRecorder) Write(p []byte) (int, error) {
	w.status = cmp.Or(w.status, http.StatusOK)
	return w.ResponseWriter.Write(p)
}

// Unwrap is for http.ResponseController.
func (w *statusRecorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }
