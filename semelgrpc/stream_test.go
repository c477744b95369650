package semelgrpc_test

import (
	"context"
	"errors"
	"io"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/memdb"
	"github.com/semel-dev/semel/semelgrpc"
	"github.com/semel-dev/semel/store/memstore"
)

// output asks for a stream of answers, and returns how many came, the trailer, and the end.
func (d *door) outputOf(ctx context.Context, sizes ...int32) (count int, trailer metadata.MD, err error) {
	req := &pb.StreamingOutputCallRequest{}
	for _, size := range sizes {
		req.ResponseParameters = append(req.ResponseParameters, &pb.ResponseParameters{Size: size})
	}
	stream, err := d.client.StreamingOutputCall(ctx, req)
	if err != nil {
		return 0, nil, err
	}
	for {
		if _, err := stream.Recv(); err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return count, stream.Trailer(), err
		}
		count++
	}
}

// inputOf sends a stream of messages.
func (d *door) inputOf(ctx context.Context, bodies ...string) (*pb.StreamingInputCallResponse, metadata.MD, error) {
	stream, err := d.client.StreamingInputCall(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, body := range bodies {
		if stream.Send(&pb.StreamingInputCallRequest{Payload: &pb.Payload{Body: []byte(body)}}) != nil {
			break // CloseAndRecv says why
		}
	}
	resp, err := stream.CloseAndRecv()
	return resp, stream.Trailer(), err
}

// wantWord fails the test unless the trailer says that Semel did that.
func wantWord(t *testing.T, trailer metadata.MD, want string) {
	t.Helper()
	if got := trailer.Get(semelgrpc.StatusTrailer); len(got) != 1 || got[0] != want {
		t.Errorf("got the words %q, want %q", got, want)
	}
}

// answering streams an answer for each that the request asks for.
func answering(req *pb.StreamingOutputCallRequest, stream grpc.ServerStreamingServer[pb.StreamingOutputCallResponse]) error {
	for range req.GetResponseParameters() {
		if err := stream.Send(&pb.StreamingOutputCallResponse{}); err != nil {
			return err
		}
	}
	return nil
}

// counting answers with the number of messages.
func counting(stream grpc.ClientStreamingServer[pb.StreamingInputCallRequest, pb.StreamingInputCallResponse]) error {
	for n := int32(0); ; n++ {
		_, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return stream.SendAndClose(&pb.StreamingInputCallResponse{AggregatedPayloadSize: n})
		case err != nil:
			return err
		}
	}
}

// TestStreamOfAnswers: promise 3: it happens once; the answer is not kept.
func TestStreamOfAnswers(t *testing.T) {
	t.Parallel()
	d := newDoor(t, doorOptions{})
	d.output = answering
	keyed := with(t, "idempotency-key", "k1")
	n, trailer, err := d.outputOf(keyed, 1, 2, 3)
	wantWord(t, trailer, "executed")
	if n != 3 || err != nil {
		t.Errorf("got %d answers and %v, want 3", n, err)
	}
	n, trailer, err = d.outputOf(keyed, 1, 2, 3)
	wantRefusal(t, err, codes.FailedPrecondition, semelgrpc.ReasonNotKept)
	wantWord(t, trailer, "not-kept")
	if n != 0 {
		t.Errorf("got %d answers again", n)
	}
	_, _, err = d.outputOf(keyed, 1, 2, 4)
	wantRefusal(t, err, codes.FailedPrecondition, semelgrpc.ReasonKeyReused)
	d.wantRan(t, "promise 3", 1)
	if n, trailer, err = d.outputOf(t.Context(), 1); n != 1 || err != nil || len(trailer.Get(semelgrpc.StatusTrailer)) != 0 {
		t.Errorf("without a key: got %d answers, %v, %v", n, trailer, err)
	}
}

// TestStreamOfRequests: promise 3 for a stream to the server; the key belongs to its first message.
func TestStreamOfRequests(t *testing.T) {
	t.Parallel()
	d := newDoor(t, doorOptions{})
	d.input = counting
	for _, bodies := range [][]string{{"a", "b", "c"}, {}} {
		d.ran.Store(0)
		keyed := with(t, "idempotency-key", "k"+string(rune('0'+len(bodies))))
		resp, trailer, err := d.inputOf(keyed, bodies...)
		wantWord(t, trailer, "executed")
		if int(resp.GetAggregatedPayloadSize()) != len(bodies) || err != nil {
			t.Errorf("got %v, %v, want %d", resp, err, len(bodies))
		}
		_, _, err = d.inputOf(keyed, bodies...)
		wantRefusal(t, err, codes.FailedPrecondition, semelgrpc.ReasonNotKept)
		_, _, err = d.inputOf(keyed, "x")
		wantRefusal(t, err, codes.FailedPrecondition, semelgrpc.ReasonKeyReused)
	}
}

// TestRefusedStream: a handler that makes something of a refusal does not change it.
func TestRefusedStream(t *testing.T) {
	t.Parallel()
	d := newDoor(t, doorOptions{})
	d.input = func(stream grpc.ClientStreamingServer[pb.StreamingInputCallRequest, pb.StreamingInputCallResponse]) error {
		for {
			if _, err := stream.Recv(); err != nil {
				_ = stream.SendAndClose(&pb.StreamingInputCallResponse{})
				return nil //nolint:nilerr // that is the fault of the handler.
			}
		}
	}
	keyed := with(t, "idempotency-key", "k1")
	_, _, err := d.inputOf(keyed, "a")
	noError(t, err)
	_, _, err = d.inputOf(keyed, "a")
	wantRefusal(t, err, codes.FailedPrecondition, semelgrpc.ReasonNotKept)
}

// TestStreamBothWays: a key on it is refused before anything runs; without one it passes.
func TestStreamBothWays(t *testing.T) {
	t.Parallel()
	o := newOrders(t)
	d := newDoor(t, doorOptions{Options: semelgrpc.Options{Required: true, Field: "request_id", Files: o.files}, add: o.register})
	desc := &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}
	for _, c := range []struct {
		ctx    context.Context //nolint:containedctx // a row of a table.
		req    string
		reason semelgrpc.Reason
	}{
		{t.Context(), `amount: 1`, ""},
		{with(t, "idempotency-key", "k1"), `amount: 1`, semelgrpc.ReasonKeyUnsupported},
		{t.Context(), `request_id: "k1"`, semelgrpc.ReasonKeyUnsupported},
		{with(t, "idempotency-key", "k1", "idempotency-key", "k2"), `amount: 1`, semelgrpc.ReasonKeyInvalid},
	} {
		stream, err := d.conn.NewStream(c.ctx, desc, "/shop.Orders/Talk")
		noError(t, err)
		_ = stream.SendMsg(o.request(t, c.req)) // a refusal comes with the answer
		noError(t, stream.CloseSend())
		err = stream.RecvMsg(o.request(t, ""))
		if c.reason == "" {
			noError(t, err)
			if err := stream.RecvMsg(o.request(t, "")); !errors.Is(err, io.EOF) && status.Code(err) != codes.Unknown {
				t.Errorf("got %v, want the end", err)
			}
			continue
		}
		code := codes.Unimplemented
		if c.reason == semelgrpc.ReasonKeyInvalid {
			code = codes.InvalidArgument
		}
		wantRefusal(t, err, code, c.reason)
	}
	if n := o.ran.Load(); n != 1 {
		t.Errorf("it answered %d times, want once", n)
	}
}

// TestServerSpeaksFirst: a key in the first message of a stream in both directions is refused, even when the server has sent before.
func TestServerSpeaksFirst(t *testing.T) {
	t.Parallel()
	d := newDoor(t, doorOptions{Options: semelgrpc.Options{Field: "response_status.message"}})
	d.duplex = func(stream grpc.BidiStreamingServer[pb.StreamingOutputCallRequest, pb.StreamingOutputCallResponse]) error {
		noError(t, stream.Send(&pb.StreamingOutputCallResponse{}))
		if _, err := stream.Recv(); err != nil && stream.Send(&pb.StreamingOutputCallResponse{}) == nil {
			t.Error("it sent after the refusal")
		}
		return nil
	}
	for key, reason := range map[string]semelgrpc.Reason{"": "", "k1": semelgrpc.ReasonKeyUnsupported} {
		stream, err := d.client.FullDuplexCall(t.Context())
		noError(t, err)
		_, err = stream.Recv()
		noError(t, err)
		noError(t, stream.Send(&pb.StreamingOutputCallRequest{ResponseStatus: &pb.EchoStatus{Message: key}}))
		if _, err = stream.Recv(); semelgrpc.ReasonOf(err) != reason || !errors.Is(err, io.EOF) && reason == "" {
			t.Errorf("key %q: got %v, want %q", key, err, reason)
		}
	}
}

// TestFailedStreams: promise 3: how a stream that fails ends.
func TestFailedStreams(t *testing.T) {
	t.Parallel()
	unavailable := status.Error(codes.Unavailable, "restarts")
	for name, c := range map[string]struct {
		sends int
		err   error
		word  string
		then  semelgrpc.Reason
		ran   int32
	}{
		"before an answer":         {0, unavailable, "released", "", 2},
		"after one":                {1, unavailable, "unknown", semelgrpc.ReasonOutcomeUnknown, 1},
		"after one, and it knows":  {1, semel.MarkReleased(unavailable), "released", "", 2},
		"with a code that is kept": {0, status.Error(codes.NotFound, "no such account"), "executed", semelgrpc.ReasonNotKept, 1},
		"without an answer":        {0, context.DeadlineExceeded, "unknown", semelgrpc.ReasonOutcomeUnknown, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDoor(t, doorOptions{})
			d.output = func(_ *pb.StreamingOutputCallRequest, stream grpc.ServerStreamingServer[pb.StreamingOutputCallResponse]) error {
				for range c.sends {
					noError(t, stream.Send(&pb.StreamingOutputCallResponse{}))
				}
				return c.err
			}
			_, trailer, err := d.outputOf(with(t, "idempotency-key", "k1"))
			wantWord(t, trailer, c.word)
			if status.Code(err) == codes.OK || semelgrpc.ReasonOf(err) != "" {
				t.Errorf("got %v, want the handler's error", err)
			}
			_, _, err = d.outputOf(with(t, "idempotency-key", "k1"))
			if got := semelgrpc.ReasonOf(err); got != c.then {
				t.Errorf("repeated: got %q (%v), want %q", got, err, c.then)
			}
			d.wantRan(t, name, c.ran)
		})
	}
}

// TestStreamPanics: promise 3, as for other calls.
func TestStreamPanics(t *testing.T) {
	t.Parallel()
	d := newDoor(t, doorOptions{server: []grpc.ServerOption{grpc.StreamInterceptor(
		func(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) (err error) {
			defer func() {
				if recover() != nil {
					err = status.Error(codes.Internal, "panic")
				}
			}()
			return handler(srv, ss)
		})}})
	d.output = func(*pb.StreamingOutputCallRequest, grpc.ServerStreamingServer[pb.StreamingOutputCallResponse]) error {
		panic("after the effect")
	}
	_, _, err := d.outputOf(with(t, "idempotency-key", "k1"))
	if status.Code(err) != codes.Internal {
		t.Errorf("got %v", err)
	}
	_, _, err = d.outputOf(with(t, "idempotency-key", "k1"))
	wantRefusal(t, err, codes.FailedPrecondition, semelgrpc.ReasonOutcomeUnknown)
	d.wantRan(t, "promise 3", 1)
}

// TestStreamContext: the handler's context is the caller's before the claim and the claim's after it, which outlives the client.
func TestStreamContext(t *testing.T) {
	t.Parallel()
	begun, done := make(chan struct{}), make(chan error, 1)
	ends := make(chan (<-chan struct{}), 2) // of the calls
	d := newDoor(t, doorOptions{server: []grpc.ServerOption{grpc.StreamInterceptor(
		func(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
			ends <- ss.Context().Done()
			return handler(srv, ss)
		})}})
	d.input = func(stream grpc.ClientStreamingServer[pb.StreamingInputCallRequest, pb.StreamingInputCallResponse]) error {
		ctx := stream.Context()
		if semel.ClaimFrom(ctx) != nil || len(metadata.ValueFromIncomingContext(ctx, "idempotency-key")) != 1 {
			t.Error("before the first message: a claim, or no metadata")
		}
		if _, err := stream.Recv(); err != nil {
			return err
		}
		if semel.ClaimFrom(ctx) == nil || semel.FenceFrom(ctx) == 0 || len(metadata.ValueFromIncomingContext(ctx, "idempotency-key")) != 1 {
			t.Error("after the first message: no claim, or no metadata")
		}
		close(begun)
		<-<-ends
		done <- ctx.Err()
		return stream.SendAndClose(&pb.StreamingInputCallResponse{})
	}
	ctx, cancel := context.WithCancel(with(t, "idempotency-key", "k1"))
	stream, err := d.client.StreamingInputCall(ctx)
	noError(t, err)
	noError(t, stream.Send(&pb.StreamingInputCallRequest{Payload: &pb.Payload{Body: []byte("a")}}))
	<-begun
	cancel()
	if err := <-done; err != nil {
		t.Errorf("promise 3: the context of the work ended with the client: %v", err)
	}
	_, _, err = d.inputOf(with(t, "idempotency-key", "k1"), "a")
	wantRefusal(t, err, codes.FailedPrecondition, semelgrpc.ReasonNotKept)
	d.wantRan(t, "promise 3", 2) // the second only asked for a message
}

// TestStreamsInTransactions: a stream of requests commits before its answer goes out; a stream of answers takes no key.
func TestStreamsInTransactions(t *testing.T) {
	t.Parallel()
	db := memdb.New(memstore.New(nil), nil)
	t.Cleanup(func() { _ = db.Close() })
	d := newDoor(t, doorOptions{store: db, Options: semelgrpc.Options{Transactor: db}})
	d.output = answering
	var fails sync.Once
	d.input = func(stream grpc.ClientStreamingServer[pb.StreamingInputCallRequest, pb.StreamingInputCallResponse]) (err error) {
		if _, err := stream.Recv(); err != nil {
			return err
		}
		noError(t, db.Insert(stream.Context(), "order"))
		fails.Do(func() { err = status.Error(codes.Internal, "after the row") })
		if err != nil {
			return err
		}
		return stream.SendAndClose(&pb.StreamingInputCallResponse{AggregatedPayloadSize: 1})
	}
	keyed := with(t, "idempotency-key", "k1")
	_, _, err := d.inputOf(keyed, "a")
	if status.Code(err) != codes.Internal || db.Count("order") != 0 {
		t.Errorf("promise 4: got %v and %d rows, want none", err, db.Count("order"))
	}
	resp, trailer, err := d.inputOf(keyed, "a")
	wantWord(t, trailer, "executed")
	if err != nil || resp.GetAggregatedPayloadSize() != 1 || db.Count("order") != 1 {
		t.Errorf("promise 4: got %v, %v and %d rows, want one", resp, err, db.Count("order"))
	}
	_, _, err = d.inputOf(keyed, "a")
	wantRefusal(t, err, codes.FailedPrecondition, semelgrpc.ReasonNotKept)
	_, _, err = d.outputOf(with(t, "idempotency-key", "k2"), 1)
	wantRefusal(t, err, codes.Unimplemented, semelgrpc.ReasonKeyUnsupported)
}
