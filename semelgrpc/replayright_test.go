package semelgrpc_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/outcomelog"
	"github.com/semel-dev/semel/semelgrpc"
)

// TestBeforeReplay: promise 5: a caller whose right has ended learns nothing of an earlier attempt: neither its answer nor that there was one.
func TestBeforeReplay(t *testing.T) {
	t.Parallel()
	var says atomic.Value
	var mismatched atomic.Bool
	d := newDoor(t, doorOptions{Options: semelgrpc.Options{BeforeReplay: func(_ context.Context, method string, req proto.Message, rec *semel.Record) error {
		if method != "/grpc.testing.TestService/UnaryCall" || req == nil {
			t.Errorf("asked about %s and %v", method, req)
		}
		mismatched.Store(rec == nil)
		err, _ := says.Load().(error)
		return err
	}}})
	d.ask(t.Context(), invoice("10"), "k1").want(t, "invoice 1", "executed")
	d.ask(t.Context(), invoice("10"), "k1").want(t, "invoice 1", "replayed")
	says.Store(status.Error(codes.PermissionDenied, "your account is closed"))
	for _, amount := range []string{"10", "11"} {
		got := d.ask(t.Context(), invoice(amount), "k1")
		if status.Code(got.err) != codes.PermissionDenied || status.Convert(got.err).Message() != "your account is closed" || got.word() != "[]" {
			t.Errorf("%s: got %v, %q, want the denial alone", amount, got.err, got.word())
		}
		if mismatched.Load() != (amount == "11") {
			t.Errorf("%s: the record was given: %v", amount, !mismatched.Load())
		}
	}
	d.ask(t.Context(), invoice("10"), "k2").want(t, "invoice 2", "executed") // an execution asks the handler
}

// TestRightNotKnown: what cannot be checked is not shown, and may be asked again; the reason stays in the log.
func TestRightNotKnown(t *testing.T) {
	t.Parallel()
	down := errors.New("the directory of accounts is down")
	d := newDoor(t, doorOptions{Options: semelgrpc.Options{BeforeReplay: func(context.Context, string, proto.Message, *semel.Record) error {
		return errors.Join(down, semel.ErrCancelled) // not ours to tell
	}}})
	d.ask(t.Context(), invoice("10"), "k1").want(t, "invoice 1", "executed")
	got := d.ask(t.Context(), invoice("10"), "k1")
	wantRefusal(t, got.err, codes.Unavailable, semelgrpc.ReasonRightNotKnown)
	if _, ok := retryInfo(got.err); !ok || strings.Contains(got.err.Error(), "directory") {
		t.Errorf("got %v, want to be asked again, without the reason", got.err)
	}
	if diff := cmp.Diff([]outcomelog.Outcome{"executed", "unavailable"}, d.outcomes()); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
}
