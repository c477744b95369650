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

// denial asks [Options.BeforeReplay] whether the caller may learn of an earlier attempt, and returns nil if so.
func (c *call) denial(req proto.Message, rec *semel.Record) error {
	if c.i.set.BeforeReplay == nil {
		return nil
	}
	err := c.i.set.BeforeReplay(c.ctx, c.method, req, rec)
	if err == nil {
		return nil
	}
	if refused, ok := status.FromError(err); ok {
		return &deniedError{refused, err}
	}
	return errors.Join(errRightNotKnown, errors.New(err.Error())) // no row of the table matches its own error
}
