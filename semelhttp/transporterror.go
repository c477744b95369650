package semelhttp

import (
	"fmt"
	"net/http"
	"time"

	"github.com/semel-dev/semel"
)

// UnknownError is returned by a [Transport] whose attempts ended without a
// definitive answer although one of them may have reached the server, and by the
// body of a long answer that breaks off. It is not known whether the effect
// happened. It wraps [semel.ErrUnknown]. Send the same request again, under
// [WithIntent] with Key, to find out.
type UnknownError struct {
	// Key is the key that every attempt carried.
	Key string
	// Attempts counts them.
	Attempts int
	// Reason says why no further attempt was made.
	Reason string
	// Err is the result of the last attempt: an error of the network, of the
	// context, or an [*AnswerError].
	Err error
}

// Error says what is known. It does not show the key.
func (e *UnknownError) Error() string {
	reason := ""
	if e.Reason != "" {
		reason = " (" + e.Reason + ")"
	}
	return fmt.Sprintf("%v after %d attempts%s; send it again with the same key: %v", semel.ErrUnknown, e.Attempts, reason, e.Err)
}

// Unwrap returns [semel.ErrUnknown] and Err.
func (e *UnknownError) Unwrap() []error { return []error{semel.ErrUnknown, e.Err} }

// AnswerError is an answer that is not definitive.
type AnswerError struct {
	// Status is the status code.
	Status int
	// Problem is the type of the problem+json body, if it was one.
	Problem string
	// RetryAfter is the pause that the server asked for; 0 for nothing.
	RetryAfter time.Duration
}

// Error names the status and the problem type.
func (e *AnswerError) Error() string {
	if e.Problem == "" {
		return fmt.Sprintf("the server answered %d %s", e.Status, http.StatusText(e.Status))
	}
	return fmt.Sprintf("the server answered %d %s, %s", e.Status, http.StatusText(e.Status), e.Problem)
}
