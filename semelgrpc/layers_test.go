package semelgrpc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/recovery"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/semelgrpc"
)

// fails is a server's work that has its effect and then ends without an answer.
type fails func(ctx context.Context) error

func panics(context.Context) error { panic("after the effect") }

func exceeds(ctx context.Context) error {
	var stock map[string]int
	stock["pen"]-- //nolint:staticcheck // the panic is tried.
	return ctx.Err()
}

// hollow is an error whose methods need what a nil pointer does not have.
type hollow struct{ cause error }

func (e *hollow) Error() string { return e.cause.Error() }

func fallsHollow(context.Context) error { return (*hollow)(nil) }

// limited is a layer that ends the context of what is inside of it.
func limited(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	ctx, cancel := claimtest.WithTimeUp(ctx)
	defer cancel()
	return handler(ctx, req)
}

// impatient is a layer that answers when its time is up, while what is inside of it goes on.
func impatient(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	type answer struct {
		resp any
		err  error
	}
	ctx, cancel := claimtest.WithTimeUp(ctx)
	defer cancel()
	answered := make(chan answer, 1)
	go func() {
		resp, err := handler(ctx, req)
		answered <- answer{resp, err}
	}()
	select {
	case a := <-answered:
		return a.resp, a.err
	case <-ctx.Done():
		return nil, status.FromContextError(context.Cause(ctx)).Err()
	}
}

// retries is a layer that calls what is inside of it three times.
func retries(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (resp any, err error) {
	for range 3 {
		if resp, err = handler(ctx, req); err == nil || semelgrpc.ReasonOf(err) != "" {
			break
		}
	}
	return resp, err
}

// TestLayers: promise 3: an unknown outcome stays unknown, in every order of the door and a layer. A layer that
// retries inside of the door repeats the work within one claim.
func TestLayers(t *testing.T) {
	t.Parallel()
	recovers := recovery.UnaryServerInterceptor()
	within := recovery.UnaryServerInterceptor(recovery.WithRecoveryHandler(func(p any) error {
		err, _ := p.(error)
		return err
	}))
	marked := recovery.UnaryServerInterceptor(recovery.WithRecoveryHandler(func(any) error {
		return semel.MarkUnknown(status.Error(codes.Internal, "sorry"))
	}))
	down := func(context.Context) error { return status.Error(codes.Unavailable, "down") }
	for name, c := range map[string]struct {
		outside, inside grpc.UnaryServerInterceptor
		work            fails
		ran             int32
		then            semelgrpc.Reason // of the third attempt
	}{
		"recovery outside":                           {recovers, nil, panics, 1, semelgrpc.ReasonOutcomeUnknown},
		"recovery outside, a panic of the error":     {recovers, nil, fallsHollow, 1, semelgrpc.ReasonOutcomeUnknown},
		"recovery inside":                            {recovers, recovers, panics, 1, semelgrpc.ReasonOutcomeUnknown},
		"recovery inside, of the runtime":            {recovers, within, exceeds, 1, semelgrpc.ReasonOutcomeUnknown},
		"recovery inside, with a handler that marks": {recovers, marked, panics, 1, semelgrpc.ReasonOutcomeUnknown},
		"time-out outside":                           {limited, nil, claimtest.Overruns, 1, semelgrpc.ReasonOutcomeUnknown},
		"time-out inside, which ends the work":       {nil, limited, claimtest.Overruns, 1, semelgrpc.ReasonOutcomeUnknown},
		"time-out inside, not waited for":            {nil, impatient, claimtest.Overruns, 1, semelgrpc.ReasonOutcomeUnknown},
		"retry outside, a failure":                   {retries, nil, down, 9, ""},
		"retry inside, a failure":                    {nil, retries, down, 9, ""},
		"retry outside, a panic":                     {retries, recovers, panics, 1, semelgrpc.ReasonOutcomeUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := doorOptions{guard: semel.Options{Policy: semel.Policy{MaxRun: time.Second, Wait: semel.NoWait}}}
			if c.outside != nil {
				o.outer = append(o.outer, c.outside)
			}
			if c.inside != nil {
				o.inner = append(o.inner, c.inside)
			}
			d := newDoor(t, o)
			d.unary = func(ctx context.Context, _ *pb.SimpleRequest) (*pb.SimpleResponse, error) { return nil, c.work(ctx) }
			for range 2 {
				if got := d.ask(t.Context(), invoice("10"), "k1"); got.err == nil {
					t.Errorf("got %v, want an error", got)
				}
			}
			if got := d.ask(t.Context(), invoice("10"), "k1"); semelgrpc.ReasonOf(got.err) != c.then {
				t.Errorf("the third attempt: got %v, want %q", got.err, c.then)
			}
			d.wantRan(t, "promise 3", c.ran)
		})
	}
}

// TestImpatientLayerOutside: a time-out outside of the door ends the call, not the work, whose answer is recorded.
func TestImpatientLayerOutside(t *testing.T) {
	t.Parallel()
	var first atomic.Bool
	d := newDoor(t, doorOptions{outer: []grpc.UnaryServerInterceptor{
		func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
			if first.CompareAndSwap(false, true) {
				return impatient(ctx, req, info, handler)
			}
			return handler(ctx, req)
		},
	}})
	given := make(chan struct{})
	d.unary = func(ctx context.Context, _ *pb.SimpleRequest) (*pb.SimpleResponse, error) {
		claimtest.TimeIsUp(ctx)
		<-given // a second run would find it closed, and be counted
		return &pb.SimpleResponse{Username: "invoice 1"}, nil
	}
	if got := d.ask(t.Context(), invoice("10"), "k1"); status.Code(got.err) != codes.DeadlineExceeded {
		t.Errorf("got %v, want the layer's answer", got.err)
	}
	close(given)
	d.ask(t.Context(), invoice("10"), "k1").want(t, "invoice 1", "replayed")
	d.wantRan(t, "promise 3", 1)
}

// TestLayersOfStreams: promise 3: likewise with streams.
func TestLayersOfStreams(t *testing.T) {
	t.Parallel()
	recovers := recovery.StreamServerInterceptor()
	for name, c := range map[string]struct {
		inside grpc.StreamServerInterceptor
		work   fails
	}{"outside": {nil, panics}, "inside": {recovers, panics}, "outside, a panic of the error": {nil, fallsHollow}} {
		o := doorOptions{outerStream: []grpc.StreamServerInterceptor{recovers}}
		if c.inside != nil {
			o.innerStream = append(o.innerStream, c.inside)
		}
		d := newDoor(t, o)
		var ran atomic.Int32
		d.output = func(_ *pb.StreamingOutputCallRequest, stream grpc.ServerStreamingServer[pb.StreamingOutputCallResponse]) error {
			ran.Add(1)
			return c.work(stream.Context())
		}
		d.input = func(stream grpc.ClientStreamingServer[pb.StreamingInputCallRequest, pb.StreamingInputCallResponse]) error {
			if _, err := stream.Recv(); err != nil && !errors.Is(err, io.EOF) {
				return err
			}
			ran.Add(1)
			return c.work(stream.Context())
		}
		for range 2 {
			_, _, _ = d.outputOf(with(t, "idempotency-key", "k1"))
			_, _, _ = d.inputOf(with(t, "idempotency-key", "k2"), "a")
		}
		_, _, err := d.outputOf(with(t, "idempotency-key", "k1"))
		wantRefusal(t, err, codes.FailedPrecondition, semelgrpc.ReasonOutcomeUnknown)
		_, _, err = d.inputOf(with(t, "idempotency-key", "k2"), "a")
		wantRefusal(t, err, codes.FailedPrecondition, semelgrpc.ReasonOutcomeUnknown)
		if got := ran.Load(); got != 2 {
			t.Errorf("recovery %s: the handlers ran %d times, want once each", name, got)
		}
	}
}

// TestStatusInDo: promise 3: the time-out of a call is one for the work that made it, though gRPC returns a status in place of the context's
// error.
func TestStatusInDo(t *testing.T) {
	t.Parallel()
	for code, ran := range map[codes.Code]int32{codes.DeadlineExceeded: 1, codes.Canceled: 1, codes.DataLoss: 1, codes.NotFound: 2, codes.Unavailable: 2} {
		t.Run(code.String(), func(t *testing.T) {
			t.Parallel()
			d := newDoor(t, doorOptions{})
			d.unary = func(context.Context, *pb.SimpleRequest) (*pb.SimpleResponse, error) {
				return nil, status.Error(code, "no")
			}
			for range 2 {
				_, err := semel.Do(t.Context(), d.guard, semel.Key{Scope: "bank", Name: "k1"}, semel.Fingerprint{1}, func(ctx context.Context) (string, error) {
					resp, err := d.client.UnaryCall(ctx, invoice("10"))
					if err != nil {
						err = fmt.Errorf("charge: %w", err)
					}
					return resp.GetUsername(), err
				})
				if err == nil {
					t.Error("got no error")
				}
			}
			d.wantRan(t, "promise 3", ran)
		})
	}
}

// TestGoexit: promise 3: a handler whose goroutine ends, as by a test's FailNow, is unknown.
func TestGoexit(t *testing.T) {
	t.Parallel()
	d := newDoor(t, doorOptions{})
	i, err := semelgrpc.New(d.guard, semelgrpc.ScopeBy(everyone), nil)
	noError(t, err)
	ctx := metadata.NewIncomingContext(t.Context(), metadata.Pairs(semelgrpc.DefaultMetadata, "k1"))
	info := &grpc.UnaryServerInfo{FullMethod: pb.TestService_UnaryCall_FullMethodName}
	ran := 0
	call := func() (err error) {
		_, err = recovery.UnaryServerInterceptor()(ctx, invoice("10"), info, func(ctx context.Context, req any) (any, error) {
			return i.Unary(ctx, req, info, func(context.Context, any) (any, error) {
				ran++
				runtime.Goexit()
				return nil, nil
			})
		})
		return err
	}
	var first sync.WaitGroup
	first.Go(func() { _ = call() })
	first.Wait()
	wantRefusal(t, call(), codes.FailedPrecondition, semelgrpc.ReasonOutcomeUnknown)
	if ran != 1 {
		t.Errorf("promise 3: the handler ran %d times, want 1", ran)
	}
}
