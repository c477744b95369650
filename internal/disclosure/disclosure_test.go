package disclosure_test

import (
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/disclosure"
)

// Promise 5: what only a repetition gets reveals an earlier attempt; what a first attempt can get does not.
func TestOf(t *testing.T) {
	t.Parallel()
	for i, err := range []error{
		semel.ErrInFlight, semel.ErrMismatch, semel.ErrUnknown, semel.ErrCancelled, semel.ErrNotKept, semel.ErrDuplicate, semel.ErrUnreadable,
		semel.ErrUnavailable, semel.ErrBusy, semel.ErrQuota, semel.ErrRolledBack, semel.ErrClosed, semel.ErrScopeMissing, semel.ErrKeyInvalid,
	} {
		if rec, reveals := disclosure.Of(&semel.Error{Err: err, Record: &semel.Record{}}); reveals != (i < 7) || (rec != nil) != reveals {
			t.Errorf("%v: reveals %v with %v", err, reveals, rec)
		}
	}
}
