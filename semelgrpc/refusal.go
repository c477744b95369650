package semelgrpc

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/outcomelog"
)

// Domain is that of the google.rpc.ErrorInfo in every refusal.
const Domain = "semel"

// Reason is that of the google.rpc.ErrorInfo in a refusal. [ReasonOf] reads it.
type Reason string

// The reasons of refusals. Every call that gets one did not run its handler, except that of COMMIT_UNKNOWN and
// ROLLED_BACK.
const (
	// ReasonInFlight: the same call is still running. Send it again after the RetryInfo.
	ReasonInFlight Reason = "IN_FLIGHT"
	// ReasonKeyReused: the key was used for another request.
	ReasonKeyReused Reason = "KEY_REUSED"
	// ReasonOutcomeUnknown: an earlier attempt may have had its effect. With a RetryInfo, sending it again looks that up.
	ReasonOutcomeUnknown Reason = "OUTCOME_UNKNOWN"
	// ReasonNotKept: it was done, but its answer was not kept.
	ReasonNotKept Reason = "RESPONSE_NOT_KEPT"
	// ReasonUnreadable: it was done, but its recorded answer cannot be read.
	ReasonUnreadable Reason = "RESPONSE_UNREADABLE"
	// ReasonCancelled: it was cancelled before it ran.
	ReasonCancelled Reason = "CANCELLED"
	// ReasonDuplicate: it was done before, and this service replays nothing.
	ReasonDuplicate Reason = "DUPLICATE"
	// ReasonKeyMissing: the method needs a key.
	ReasonKeyMissing Reason = "KEY_MISSING"
	// ReasonKeyInvalid: there are several keys, or it is too long, holds forbidden bytes, or has no owner.
	ReasonKeyInvalid Reason = "KEY_INVALID"
	// ReasonKeyUnsupported: a call of this kind cannot be made to happen once.
	ReasonKeyUnsupported Reason = "KEY_UNSUPPORTED"
	// ReasonQuota: the caller has too many calls running or remembered.
	ReasonQuota Reason = "QUOTA_EXCEEDED"
	// ReasonUnavailable: the store could not be reached.
	ReasonUnavailable Reason = "STORE_UNAVAILABLE"
	// ReasonShuttingDown: this server takes no new calls.
	ReasonShuttingDown Reason = "SHUTTING_DOWN"
	// ReasonRolledBack: the database undid the transaction, so nothing happened.
	ReasonRolledBack Reason = "ROLLED_BACK"
	// ReasonCommitUnknown: the connection was lost at the commit. Sent again, it gets its answer or runs.
	ReasonCommitUnknown Reason = "COMMIT_UNKNOWN"
	// ReasonRightNotKnown: it could not be checked whether the caller may see an earlier answer.
	ReasonRightNotKnown Reason = "AUTHORISATION_UNAVAILABLE"
	// ReasonInternal: a fault of the service, whose log has the error.
	ReasonInternal Reason = "INTERNAL"
)

// optionError is an error of a function that the options name; its text is not for callers.
type optionError struct{ err error }

func (e *optionError) Error() string { return "semelgrpc: " + e.err.Error() }
func (e *optionError) Unwrap() error { return e.err }

// refusal is one row of the table.
type refusal struct {
	err       error
	outcome   outcomelog.Outcome
	code      codes.Code
	reason    Reason
	retryable bool // the same call with the same key can succeed
	text      string
}

var internal = refusal{ //nolint:gochecknoglobals // the last row of the table.
	outcome: outcomelog.Internal, code: codes.Internal, reason: ReasonInternal,
	text: "nothing was done: this is a fault of the service",
}

// refusals is the one table from errors to answers. The first row that matches counts; what matches none is internal.
func refusals() []refusal {
	const unmet = codes.FailedPrecondition
	return []refusal{
		{errCommitUnknown, outcomelog.Unknown, codes.Unavailable, ReasonCommitUnknown, true, "the connection to the database was lost at the last moment: send the same call again with the same key"},
		{semel.ErrRolledBack, outcomelog.RolledBack, codes.Aborted, ReasonRolledBack, true, "the change was rolled back: send the same call again with the same key"},
		{semel.ErrLost, outcomelog.RolledBack, codes.Aborted, ReasonRolledBack, true, "the change was rolled back: send the same call again with the same key"},
		{errRightNotKnown, outcomelog.Unavailable, codes.Unavailable, ReasonRightNotKnown, true, "nothing was done, because it could not be checked whether you may do this: wait a moment, then send the same call again with the same key"},
		{errKeyMissing, outcomelog.KeyMissing, codes.InvalidArgument, ReasonKeyMissing, false, "nothing was done: this method needs a key, such as a UUID, so that sending it twice is safe"},
		{semel.ErrKeyInvalid, outcomelog.KeyInvalid, codes.InvalidArgument, ReasonKeyInvalid, false, "nothing was done: the key is not valid"},
		{semel.ErrScopeMissing, outcomelog.KeyInvalid, codes.InvalidArgument, ReasonKeyInvalid, false, "nothing was done: the call does not say who sends it, so its key has no owner"},
		{errBothWays, outcomelog.KeyInvalid, codes.Unimplemented, ReasonKeyUnsupported, false, "nothing was done: a stream in both directions cannot be made to happen once; leave the key out"},
		{errBeforeEnd, outcomelog.KeyInvalid, codes.Unimplemented, ReasonKeyUnsupported, false, "nothing was done: this stream of answers cannot be made to happen once; leave the key out"},
		{errNotProto, outcomelog.KeyInvalid, codes.Unimplemented, ReasonKeyUnsupported, false, "nothing was done: a request of this kind cannot be compared with another one; leave the key out"},
		{errNotText, outcomelog.KeyInvalid, codes.Unimplemented, ReasonKeyUnsupported, false, "nothing was done: this method takes no key in that field"},
		{semel.ErrInFlight, outcomelog.InFlight, codes.Aborted, ReasonInFlight, true, "the same call is still being processed: send it again with the same key to get its answer"},
		{semel.ErrMismatch, outcomelog.Mismatch, unmet, ReasonKeyReused, false, "nothing was done: the key was used for another request"},
		{semel.ErrUnknown, outcomelog.Unknown, unmet, ReasonOutcomeUnknown, false, "an earlier attempt may have had its effect, and was not repeated: look for the effect, or ask an operator to resolve the record"},
		{semel.ErrNotKept, outcomelog.NotKept, unmet, ReasonNotKept, false, "it was done, but the answer was not kept: look the result up"},
		{semel.ErrUnreadable, outcomelog.Unreadable, unmet, ReasonUnreadable, false, "it was done, but its recorded answer cannot be read: look the result up"},
		{semel.ErrCancelled, outcomelog.Cancelled, unmet, ReasonCancelled, false, "it was cancelled before it was carried out, and will not be"},
		{semel.ErrDuplicate, outcomelog.Duplicate, codes.AlreadyExists, ReasonDuplicate, false, "it was done before: there is nothing left to do"},
		{semel.ErrQuota, outcomelog.Quota, codes.ResourceExhausted, ReasonQuota, true, "nothing was done: too many calls are running or remembered; wait, then send it again with the same key"},
		{semel.ErrClosed, outcomelog.ShuttingDown, codes.Unavailable, ReasonShuttingDown, true, "nothing was done: this server is shutting down; send the same call again with the same key"},
		{semel.ErrUnavailable, outcomelog.Unavailable, codes.Unavailable, ReasonUnavailable, true, "nothing was done: wait a moment, then send the same call again with the same key"},
	}
}

// refuse returns the answer to an error, and what it came to.
func refuse(ctx context.Context, err error) (*status.Status, outcomelog.Outcome) {
	fromGuard, ok := errors.AsType[*semel.Error](err)
	_, fromOption := errors.AsType[*optionError](err)
	if fromOption {
		return internal.status(0, nil), internal.outcome
	}
	if denied, ok := errors.AsType[*deniedError](err); ok {
		return denied.status, outcomelog.Denied
	}
	for _, row := range refusals() {
		if !errors.Is(err, row.err) {
			continue
		}
		after, known := time.Duration(0), map[string]string(nil)
		if ok {
			after, known = fromGuard.RetryAfter, recorded(fromGuard.Record)
		}
		if errors.Is(err, semel.ErrKeyInvalid) {
			row.text += strings.TrimPrefix(err.Error(), semel.ErrKeyInvalid.Error())
		}
		if row.err == errKeyMissing { //nolint:errorlint // the row of the table.
			row.text += strings.TrimPrefix(err.Error(), errKeyMissing.Error())
		}
		if errors.Is(err, semel.ErrUnknown) && after > 0 { // the next attempt looks it up
			row.code, row.retryable = codes.Aborted, true
		}
		return row.status(after, known), row.outcome
	}
	if ok && ctx.Err() != nil { // the caller gave up while it waited
		return status.FromContextError(ctx.Err()), outcomelog.Aborted
	}
	return internal.status(0, nil), internal.outcome
}

// status returns the row as a status with its details.
func (r *refusal) status(after time.Duration, known map[string]string) *status.Status {
	details := []protoadapt.MessageV1{&errdetails.ErrorInfo{Reason: string(r.reason), Domain: Domain, Metadata: known}}
	if r.retryable {
		details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(cmp.Or(after, time.Second))})
	}
	plain := status.New(r.code, "semel: "+r.text)
	if detailed, err := plain.WithDetails(details...); err == nil {
		return detailed
	}
	return plain
}

// recorded returns what is known of an answer that was not kept.
func recorded(rec *semel.Record) map[string]string {
	if rec == nil || rec.State != semel.StateCompleted {
		return nil
	}
	a, err := readAnswer(rec.Outcome)
	if err != nil {
		return nil
	}
	return map[string]string{"recorded_code": a.code.String()}
}

// pushBack tells the client's own retries when to come again.
func pushBack(to grpc.ServerTransportStream, s *status.Status) {
	for _, detail := range s.Details() {
		if info, ok := detail.(*errdetails.RetryInfo); ok && to != nil {
			millis := max(1, info.GetRetryDelay().AsDuration().Milliseconds())
			_ = to.SetTrailer(metadata.MD{pushbackTrailer: {strconv.FormatInt(millis, 10)}}) // it fails for a connection that has gone
		}
	}
}

// ReasonOf returns the reason of a refusal by Semel, or "" for any other error.
func ReasonOf(err error) Reason {
	for _, detail := range status.Convert(err).Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok && info.GetDomain() == Domain {
			return Reason(info.GetReason())
		}
	}
	return ""
}
