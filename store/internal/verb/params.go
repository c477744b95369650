package verb

import (
	"fmt"
	"time"

	"github.com/semel-dev/semel"
)

// Settlement brings v into the form in which stores keep it, or refuses it. most
// is the largest outcome that the store keeps, hint what makes it larger, if
// anything does.
func Settlement(store string, v *semel.Settlement, most int, hint string) error {
	if err := v.Validate(); err != nil {
		return err
	}
	v.Kept = v.Kept && v.State == semel.StateCompleted
	if v.State == semel.StateReleased {
		v.Outcome, v.Retention = nil, 0
	}
	if len(v.Outcome) == 0 {
		v.Outcome = nil
	}
	if len(v.Outcome) > most {
		return fmt.Errorf("%w: %s: the outcome has %d bytes, at most %d are stored%s", semel.ErrFull, store, len(v.Outcome), most, hint)
	}
	return nil
}

// Lease refuses a lease that no store accepts.
func Lease(store string, lease time.Duration) error {
	if lease < time.Millisecond {
		return fmt.Errorf("%s: lease %v is shorter than a millisecond", store, lease)
	}
	return nil
}
