package semelgrpc

import (
	"errors"

	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/semel-dev/semel"
)

var errRightNotKnown = errors.New("semelgrpc: it could not be checked whether the caller may see the answer")

// deniedError holds the status with which [Options.BeforeReplay] has refused.
type deniedError struct {
	status *status.Status
	err    error
}

func (e *deniedError) Error() string {
	return "semelgrpc: the caller may not see the answer: " + e.err.Error()
}
func (e *deniedError) Unwrap() error { return e.err }

// reveals returns the record of which a replay or an error tells the caller, nil where it may know nothing of it, and
// whether it reveals an earlier attempt at all.
func reveals(rec *semel.Record, err error) (*semel.Record, bool) {
	if rec != nil {
		return rec, true
	}
	for _, telling := range []error{
		semel.ErrInFlight, semel.ErrMismatch, semel.ErrUnknown, semel.ErrNotKept, semel.ErrUnreadable, semel.ErrCancelled, semel.ErrDuplicate,
	} {
		if errors.Is(err, telling) {
			if e, ok := errors.AsType[*semel.Error](err); ok {
				return e.Record, true
			}
			return nil, true
		}
	}
	return nil, false
}

// denial asks [Options.BeforeReplay] whether the caller may learn of an earlier attempt, and returns nil if so.
func (c *call) denial(req proto.Message, rec *semel.Record) error {
	if c.i.set.BeforeReplay == nil {
		return nil
	}
	err := c.i.set.BeforeReplay(c.ctx, c.method, req, rec)
	if err == nil {
		return nil
	}
	if said, ok := status.FromError(err); ok {
		return &deniedError{said, err}
	}
	return errors.Join(errRightNotKnown, errors.New(err.Error())) // no row of the table matches its own error
}
