// Package disclosure decides which errors of a guard reveal an earlier attempt, so that every door asks for the caller's right before the
// same ones.
package disclosure

import (
	"errors"

	"github.com/semel-dev/semel"
)

// Of reports whether the error of a Begin reveals that there was an earlier attempt. The record is that of the error: nil where it has
// none, as a mismatch, whose caller may know nothing of it.
func Of(err error) (rec *semel.Record, reveals bool) {
	for _, revealing := range []error{
		semel.ErrInFlight, semel.ErrMismatch, semel.ErrUnknown, semel.ErrNotKept, semel.ErrUnreadable, semel.ErrCancelled, semel.ErrDuplicate,
	} {
		if !errors.Is(err, revealing) {
			continue
		}
		if e, ok := errors.AsType[*semel.Error](err); ok {
			rec = e.Record
		}
		return rec, true
	}
	return nil, false
}
