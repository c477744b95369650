package semelgrpc_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/operator"
	"github.com/semel-dev/semel/outcomelog"
	"github.com/semel-dev/semel/semelgrpc"
	"github.com/semel-dev/semel/store/memstore"
	"github.com/semel-dev/semel/store/storetest"
)

// TestUnary: promises 2 and 6, and a call without a key passes.
func TestUnary(t *testing.T) {
	t.Parallel()
	d := newDoor(t, doorOptions{})
	d.ask(t.Context(), invoice("10"), "k1").want(t, "invoice 1", "executed")
	d.ask(t.Context(), invoice("10"), "k1").want(t, "invoice 1", "replayed")
	d.ask(t.Context(), invoice("10"), `"k1"`).want(t, "invoice 1", "replayed")
	wantRefusal(t, d.ask(t.Context(), invoice("11"), "k1").err, codes.FailedPrecondition, semelgrpc.ReasonKeyReused)
	d.ask(t.Context(), invoice("11"), "k2").want(t, "invoice 2", "executed")
	d.ask(t.Context(), invoice("11")).want(t, "invoice 3", "[]")
	want := []outcomelog.Outcome{"executed", "replayed", "replayed", "mismatch", "executed"}
	if diff := cmp.Diff(want, d.outcomes()); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
}

// TestCodes: promise 3: each code of a handler has one meaning, and what may have happened does not run again. DEADLINE_EXCEEDED is
// the first of what others miss: it comes after the effect as well.
func TestCodes(t *testing.T) {
	t.Parallel()
	const unknown, again, kept = "unknown", "again", "kept"
	want := map[codes.Code]string{
		codes.OK: kept, codes.InvalidArgument: kept, codes.NotFound: kept, codes.AlreadyExists: kept, codes.FailedPrecondition: kept,
		codes.OutOfRange: kept, codes.Unimplemented: kept,
		codes.Unauthenticated: again, codes.PermissionDenied: again, codes.ResourceExhausted: again,
		codes.Unknown: again, codes.Aborted: again, codes.Internal: again, codes.Unavailable: again,
		codes.DeadlineExceeded: unknown, codes.Canceled: unknown, codes.DataLoss: unknown,
	}
	for _, payments := range []bool{false, true} {
		policy := semel.Policy{}
		if payments {
			policy = semel.PaymentPolicy()
		}
		d := newDoor(t, doorOptions{guard: semel.Options{Policy: policy}})
		d.unary = func(_ context.Context, req *pb.SimpleRequest) (*pb.SimpleResponse, error) {
			s := status.New(codes.Code(req.GetResponseStatus().GetCode()), "said the handler")
			if detailed, err := s.WithDetails(&errdetails.ResourceInfo{ResourceName: "invoice"}); err == nil {
				s = detailed
			}
			return &pb.SimpleResponse{}, s.Err()
		}
		for code := codes.OK; code <= codes.Unauthenticated; code++ {
			req, key := &pb.SimpleRequest{ResponseStatus: &pb.EchoStatus{Code: int32(code)}}, code.String()
			d.ran.Store(0)
			first, second := d.ask(t.Context(), req, key), d.ask(t.Context(), req, key)
			if status.Code(first.err) != code {
				t.Errorf("%v: got %v", code, first.err)
			}
			got := again
			switch {
			case d.ran.Load() == 2:
			case semelgrpc.ReasonOf(second.err) == semelgrpc.ReasonOutcomeUnknown:
				got = unknown
			case second.word() == "replayed" && cmp.Diff(status.Convert(first.err).Proto().String(), status.Convert(second.err).Proto().String()) == "":
				got = kept
			}
			meant := want[code]
			released := code == codes.Unauthenticated || code == codes.PermissionDenied || code == codes.ResourceExhausted
			if payments && meant == again && !released {
				meant = unknown
			}
			if got != meant {
				t.Errorf("%v, payments %v: got %s (%q, %v), want %s", code, payments, got, second.word(), second.err, meant)
			}
		}
	}
}

// TestUnknownBehind (promise 3): a service behind this one does not know the outcome either. What it says is not recorded.
func TestUnknownBehind(t *testing.T) {
	t.Parallel()
	d := newDoor(t, doorOptions{})
	d.unary = func(context.Context, *pb.SimpleRequest) (*pb.SimpleResponse, error) {
		s, err := status.New(codes.FailedPrecondition, "an earlier attempt may have had its effect").WithDetails(
			&errdetails.ErrorInfo{Domain: semelgrpc.Domain, Reason: string(semelgrpc.ReasonOutcomeUnknown)})
		if err != nil {
			return nil, err
		}
		return nil, s.Err()
	}
	first, second := d.ask(t.Context(), invoice("1"), "k1"), d.ask(t.Context(), invoice("1"), "k1")
	if first.word() != "unknown" || second.word() == "replayed" {
		t.Errorf("got %q and %q, want unknown and no replay", first.word(), second.word())
	}
	wantRefusal(t, second.err, codes.FailedPrecondition, semelgrpc.ReasonOutcomeUnknown)
	d.wantRan(t, "promise 3", 1)
}

// okError is an error whose status is OK.
type okError struct{ error }

// GRPCStatus returns the status that gRPC takes for the error.
func (okError) GRPCStatus() *status.Status { return status.New(codes.OK, "") }

// TestErrorThatSaysOK: such an error is not an answer (promise 3), and a caller does not hear of success.
func TestErrorThatSaysOK(t *testing.T) {
	t.Parallel()
	d := newDoor(t, doorOptions{})
	for _, wrong := range []error{okError{errors.New("failed")}, semel.MarkReleased(okError{errors.New("failed")})} {
		d.unary = func(context.Context, *pb.SimpleRequest) (*pb.SimpleResponse, error) { return nil, wrong }
		if got := d.ask(t.Context(), invoice("10"), "k"); status.Code(got.err) != codes.Unknown || got.word() != "released" {
			t.Errorf("%T: got %v %q", wrong, got.err, got.word())
		}
	}
	d.wantRan(t, "an error that says OK", 2)
}

// TestMarks: a handler says what happened, whatever the code; the mark is not part of the answer.
func TestMarks(t *testing.T) {
	t.Parallel()
	refused, gone := status.Error(codes.NotFound, "no such account"), status.Error(codes.DeadlineExceeded, "no answer of the bank")
	for name, c := range map[string]struct {
		err    error
		code   codes.Code
		reason semelgrpc.Reason
		ran    int32
	}{
		"released":           {semel.MarkReleased(gone), codes.DeadlineExceeded, "", 2},
		"unknown":            {semel.MarkUnknown(refused), codes.FailedPrecondition, semelgrpc.ReasonOutcomeUnknown, 1},
		"final":              {semel.MarkFinal(status.Error(codes.Internal, "never")), codes.Internal, "", 1},
		"a context's end":    {fmt.Errorf("call the bank: %w", context.DeadlineExceeded), codes.FailedPrecondition, semelgrpc.ReasonOutcomeUnknown, 1},
		"a plain error":      {errors.New("disk full"), codes.Unknown, "", 2},
		"a wrapped status":   {fmt.Errorf("charge: %w", refused), codes.NotFound, "", 1},
		"an unusual success": {semel.MarkFinal(errors.New("never")), codes.Unknown, "", 1},
	} {
		d := newDoor(t, doorOptions{})
		d.unary = func(context.Context, *pb.SimpleRequest) (*pb.SimpleResponse, error) { return nil, c.err }
		first, second := d.ask(t.Context(), invoice("10"), "k1"), d.ask(t.Context(), invoice("10"), "k1")
		if status.Code(second.err) != c.code || semelgrpc.ReasonOf(second.err) != c.reason || d.ran.Load() != c.ran {
			t.Errorf("%s: got %v after %d runs, want %v after %d", name, second.err, d.ran.Load(), c.code, c.ran)
		}
		if strings.Contains(status.Convert(first.err).Message(), "rpc error") && name != "a wrapped status" {
			t.Errorf("%s: the mark is part of the answer: %v", name, first.err)
		}
	}
}

// recovering is an interceptor that many servers have.
func recovering(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (resp any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = status.Errorf(codes.Internal, "panic: %v", p)
		}
	}()
	return handler(ctx, req)
}

// TestPanic: promise 3: a panic after the effect does not make it happen twice.
func TestPanic(t *testing.T) {
	t.Parallel()
	d := newDoor(t, doorOptions{outer: []grpc.UnaryServerInterceptor{recovering}})
	d.unary = func(context.Context, *pb.SimpleRequest) (*pb.SimpleResponse, error) { panic("after the effect") }
	if got := d.ask(t.Context(), invoice("10"), "k1"); status.Code(got.err) != codes.Internal {
		t.Errorf("got %v, want the panic to reach the outer interceptor", got.err)
	}
	wantRefusal(t, d.ask(t.Context(), invoice("10"), "k1").err, codes.FailedPrecondition, semelgrpc.ReasonOutcomeUnknown)
	d.wantRan(t, "promise 3", 1)
	if diff := cmp.Diff([]outcomelog.Outcome{"unknown", "unknown"}, d.outcomes()); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
}

// TestClientGoesAway: promise 3: the work goes on, and a retry gets its answer.
func TestClientGoesAway(t *testing.T) {
	t.Parallel()
	begun, done := make(chan struct{}), make(chan error, 1)
	ends := make(chan (<-chan struct{}), 2) // of the calls
	d := newDoor(t, doorOptions{outer: []grpc.UnaryServerInterceptor{
		func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
			ends <- ctx.Done()
			return handler(ctx, req)
		},
	}})
	d.unary = func(ctx context.Context, _ *pb.SimpleRequest) (*pb.SimpleResponse, error) {
		transport := grpc.ServerTransportStreamFromContext(ctx)
		close(begun) // a second run panics
		<-<-ends
		done <- ctx.Err()
		if transport == nil || transport.Method() != "/grpc.testing.TestService/UnaryCall" {
			t.Error("the handler does not see its call")
		}
		return &pb.SimpleResponse{Username: "invoice 1"}, nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	var first sync.WaitGroup
	first.Go(func() { d.ask(ctx, invoice("10"), "k1") })
	<-begun
	cancel()
	first.Wait() // the client has its error
	if err := <-done; err != nil {
		t.Errorf("promise 3: the context of the work ended with the client: %v", err)
	}
	d.ask(t.Context(), invoice("10"), "k1").want(t, "invoice 1", "replayed")
	d.wantRan(t, "promise 3", 1)
}

// TestScopes: promise 5: a scope is mandatory, and a wall.
func TestScopes(t *testing.T) {
	t.Parallel()
	if _, err := semelgrpc.New(newDoor(t, doorOptions{}).guard, nil, nil); err == nil || !strings.Contains(err.Error(), "ScopeBy") {
		t.Errorf("without a scope: got %v, want a refusal that names ScopeBy", err)
	}
	broken := errors.New("the directory of accounts is down")
	d := newDoor(t, doorOptions{scope: func(ctx context.Context, method string) (string, error) {
		caller := metadata.ValueFromIncomingContext(ctx, "account")
		switch {
		case len(caller) == 0:
			return semelgrpc.ScopeBy(func(context.Context) string { return "" })(ctx, method)
		case caller[0] == "broken":
			return "", broken
		}
		return semelgrpc.ScopeBy(func(context.Context) string { return caller[0] })(ctx, method)
	}})
	as := func(account string) context.Context {
		return metadata.AppendToOutgoingContext(t.Context(), "account", account)
	}
	d.ask(as("alice"), invoice("10"), "k1").want(t, "invoice 1", "executed")
	d.ask(as("bob"), invoice("99"), "k1").want(t, "invoice 2", "executed")
	d.ask(as("alice"), invoice("10"), "k1").want(t, "invoice 1", "replayed")
	wantRefusal(t, d.ask(t.Context(), invoice("10"), "k1").err, codes.InvalidArgument, semelgrpc.ReasonKeyInvalid)
	got := d.ask(as("broken"), invoice("10"), "k1")
	wantRefusal(t, got.err, codes.Internal, semelgrpc.ReasonInternal)
	if strings.Contains(got.err.Error(), "directory") {
		t.Errorf("the caller sees %v", got.err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if last := d.decisions[len(d.decisions)-1]; !errors.Is(last.Err, broken) {
		t.Errorf("the log sees %v, want why", last.Err)
	}
}

// busy has the door work on the key k1 until finish is called.
func (d *door) busy(t *testing.T) (finish func()) {
	t.Helper()
	running, end := make(chan struct{}), make(chan struct{})
	d.unary = func(context.Context, *pb.SimpleRequest) (*pb.SimpleResponse, error) {
		close(running) // a second run panics
		<-end
		return &pb.SimpleResponse{Username: "invoice 1"}, nil
	}
	var first sync.WaitGroup
	first.Go(func() { d.ask(t.Context(), invoice("10"), "k1") })
	<-running
	return func() {
		close(end)
		first.Wait()
	}
}

// TestTwins: a concurrent duplicate waits and gets the answer, or learns when to come again.
func TestTwins(t *testing.T) {
	t.Parallel()
	t.Run("waits", func(t *testing.T) {
		t.Parallel()
		d := newDoor(t, doorOptions{guard: semel.Options{Policy: semel.Policy{Wait: time.Minute}}})
		finish := d.busy(t)
		var twin sync.WaitGroup
		twin.Go(func() { d.ask(t.Context(), invoice("10"), "k1").want(t, "invoice 1", "replayed") })
		for d.guard.Waiting() == 0 {
			time.Sleep(time.Millisecond)
		}
		finish()
		twin.Wait()
		d.mu.Lock()
		defer d.mu.Unlock()
		for _, decision := range d.decisions {
			if event := decision.Event(); event.Outcome != outcomelog.Created && event.Outcome != outcomelog.Merged || event.Door != outcomelog.GRPC {
				t.Errorf("got the event %+v, want created or merged", event)
			}
		}
	})
	t.Run("does not wait", func(t *testing.T) {
		t.Parallel()
		d := newDoor(t, doorOptions{guard: semel.Options{Policy: semel.Policy{Wait: semel.NoWait}}})
		finish := d.busy(t)
		got := d.ask(t.Context(), invoice("10"), "k1")
		wantRefusal(t, got.err, codes.Aborted, semelgrpc.ReasonInFlight)
		if delay, ok := retryInfo(got.err); !ok || delay <= 0 || len(got.trailer.Get("grpc-retry-pushback-ms")) != 1 {
			t.Errorf("got a delay of %v and the trailer %v, want both to say when", delay, got.trailer)
		}
		wantRefusal(t, d.ask(t.Context(), invoice("11"), "k1").err, codes.FailedPrecondition, semelgrpc.ReasonKeyReused)
		finish()
	})
	t.Run("gives up", func(t *testing.T) {
		t.Parallel()
		d := newDoor(t, doorOptions{guard: semel.Options{Policy: semel.Policy{Wait: time.Minute}}})
		finish := d.busy(t)
		ctx, cancel := context.WithCancel(t.Context())
		var twin sync.WaitGroup
		twin.Go(func() { d.ask(ctx, invoice("10"), "k1") })
		for d.guard.Waiting() == 0 {
			time.Sleep(time.Millisecond)
		}
		cancel()
		twin.Wait()
		for d.guard.Waiting() > 0 {
			time.Sleep(time.Millisecond)
		}
		finish()
		d.wantRan(t, "promise 1", 1)
	})
}

func retryInfo(err error) (delay time.Duration, ok bool) {
	for _, detail := range status.Convert(err).Details() {
		if info, is := detail.(*errdetails.RetryInfo); is {
			return info.GetRetryDelay().AsDuration(), true
		}
	}
	return 0, false
}

// TestMetadataOfAnswers: promise 2: the first answer has headers and trailers; so have replays. What belongs to a session or a connection
// is not recorded.
func TestMetadataOfAnswers(t *testing.T) {
	t.Parallel()
	d := newDoor(t, doorOptions{})
	d.unary = func(ctx context.Context, _ *pb.SimpleRequest) (*pb.SimpleResponse, error) {
		noError(t, grpc.SetHeader(ctx, metadata.Pairs("location", "invoices/1", "set-cookie", "session=1")))
		noError(t, grpc.SendHeader(ctx, metadata.Pairs("etag-bin", "\x00\xff", "x", "1", "x", "2")))
		if grpc.SetHeader(ctx, metadata.Pairs("late", "1")) == nil || grpc.SendHeader(ctx, nil) == nil {
			t.Error("a header was set after it had been sent")
		}
		return &pb.SimpleResponse{Username: "invoice 1"}, grpc.SetTrailer(ctx, metadata.Pairs("cost", "3"))
	}
	for _, word := range []string{"executed", "replayed"} {
		got := d.ask(t.Context(), invoice("10"), "k1")
		got.want(t, "invoice 1", word)
		if cookie := got.header.Get("set-cookie"); (word == "replayed") != (len(cookie) == 0) {
			t.Errorf("promise 5: %s: got the cookie %q", word, cookie)
		}
		delete(got.header, "content-type")
		delete(got.header, "set-cookie")
		delete(got.trailer, semelgrpc.StatusTrailer)
		want := metadata.MD{"location": {"invoices/1"}, "etag-bin": {"\x00\xff"}, "x": {"1", "2"}}
		if diff := cmp.Diff(want, got.header) + cmp.Diff(metadata.MD{"cost": {"3"}}, got.trailer); diff != "" {
			t.Errorf("%s (-want +got):\n%s", word, diff)
		}
	}
}

// TestHeartbeat: promise 1: a handler that runs for many leases keeps its claim.
func TestHeartbeat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New(nil)
		claimtest.Closes(t, store)
		guard := claimtest.Guard(t, store, &semel.Options{Policy: semel.Policy{OnUnknown: semel.Rerun, Wait: semel.NoWait}})
		door, err := semelgrpc.New(guard, semelgrpc.ScopeBy(everyone), nil)
		noError(t, err)
		ran := 0
		call := func() (any, error) {
			ctx := metadata.NewIncomingContext(t.Context(), metadata.Pairs(semelgrpc.DefaultMetadata, "k1"))
			return door.Unary(ctx, invoice("10"), &grpc.UnaryServerInfo{FullMethod: "/s/m"}, func(ctx context.Context, _ any) (any, error) {
				ran++
				time.Sleep(20 * semel.DefaultLease)
				return &pb.SimpleResponse{}, ctx.Err()
			})
		}
		var first sync.WaitGroup
		first.Go(func() {
			if _, err := call(); err != nil {
				t.Error(err)
			}
		})
		time.Sleep(19 * semel.DefaultLease)
		_, err = call()
		wantRefusal(t, err, codes.Aborted, semelgrpc.ReasonInFlight)
		first.Wait()
		if _, err := call(); err != nil || ran != 1 {
			t.Errorf("promise 1: it ran %d times, %v", ran, err)
		}
	})
}

// TestSaveFails: promise 7: the caller has the answer, marked; a retry does not run.
func TestSaveFails(t *testing.T) {
	t.Parallel()
	broken := storetest.Break(memstore.New(nil), storetest.Faults{Before: func(c storetest.Call) error {
		if c.Verb == "settle" {
			return errors.New("disk full")
		}
		return nil
	}})
	t.Cleanup(func() { _ = broken.Close() })
	d := newDoor(t, doorOptions{store: broken, guard: semel.Options{StoreTimeout: 100 * time.Millisecond, Policy: semel.Policy{Lease: 30 * time.Millisecond, Wait: time.Minute}}})
	d.ask(t.Context(), invoice("10"), "k1").want(t, "invoice 1", "not-stored")
	wantRefusal(t, d.ask(t.Context(), invoice("10"), "k1").err, codes.FailedPrecondition, semelgrpc.ReasonOutcomeUnknown)
	d.wantRan(t, "promise 3", 1)
}

// TestStoreDown: promise 10: nothing runs without a claim.
func TestStoreDown(t *testing.T) {
	t.Parallel()
	down := storetest.Break(memstore.New(nil), storetest.Faults{})
	t.Cleanup(func() { _ = down.Close() })
	d := newDoor(t, doorOptions{store: down, guard: semel.Options{StoreTimeout: 100 * time.Millisecond}})
	down.Partition()
	got := d.ask(t.Context(), invoice("10"), "k1")
	wantRefusal(t, got.err, codes.Unavailable, semelgrpc.ReasonUnavailable)
	if _, ok := retryInfo(got.err); !ok {
		t.Error("it does not say when to come again")
	}
	d.wantRan(t, "promise 10", 0)
	down.Heal()
	d.ask(t.Context(), invoice("10"), "k1").want(t, "invoice 1", "executed")
}

// TestRefusals: the other reasons of a guard.
func TestRefusals(t *testing.T) {
	t.Parallel()
	alice := operator.Identity{Name: "alice"}
	for name, c := range map[string]struct {
		guard   semel.Options
		prepare func(*door)
		code    codes.Code
		reason  semelgrpc.Reason
	}{
		"duplicate": {
			semel.Options{Policy: semel.Policy{Dedup: true}},
			func(d *door) { d.ask(t.Context(), invoice("10"), "k1").want(t, "invoice 1", "executed") }, codes.AlreadyExists, semelgrpc.ReasonDuplicate,
		},
		"not kept": {
			semel.Options{Policy: semel.Policy{MaxOutcomeBytes: 10}},
			func(d *door) { d.ask(t.Context(), invoice("10"), "k1").want(t, "invoice 1", "executed") }, codes.FailedPrecondition, semelgrpc.ReasonNotKept,
		},
		"quota": {
			semel.Options{RecordsPerScope: 1},
			func(d *door) { d.ask(t.Context(), invoice("10"), "k0").want(t, "invoice 1", "executed") }, codes.ResourceExhausted, semelgrpc.ReasonQuota,
		},
		"shutting down": {semel.Options{}, func(d *door) { noError(t, d.guard.Shutdown(t.Context())) }, codes.Unavailable, semelgrpc.ReasonShuttingDown},
		"cancelled": {semel.Options{}, func(d *door) {
			records, err := operator.New(d.guard, nil)
			noError(t, err)
			scope, err := semelgrpc.ScopeBy(everyone)(t.Context(), "/grpc.testing.TestService/UnaryCall")
			noError(t, err)
			_, err = records.Cancel(t.Context(), alice, semel.Key{Scope: scope, Name: "k1"}, 0, "changed my mind")
			noError(t, err)
		}, codes.FailedPrecondition, semelgrpc.ReasonCancelled},
		"another door's": {semel.Options{}, func(d *door) {
			scope, err := semelgrpc.ScopeBy(everyone)(t.Context(), "/grpc.testing.TestService/UnaryCall")
			noError(t, err)
			fp := semelgrpc.Fingerprint("/grpc.testing.TestService/UnaryCall", invoice("10"))
			_, err = semel.Do(t.Context(), d.guard, semel.Key{Scope: scope, Name: "k1"}, fp, func(context.Context) (int, error) { return 1, nil })
			noError(t, err)
		}, codes.FailedPrecondition, semelgrpc.ReasonUnreadable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDoor(t, doorOptions{guard: c.guard})
			c.prepare(d)
			ran := d.ran.Load()
			got := d.ask(t.Context(), invoice("10"), "k1")
			wantRefusal(t, got.err, c.code, c.reason)
			if got.word() == "" || d.ran.Load() != ran {
				t.Errorf("got the word %q after %d more runs, want a word and no run", got.word(), d.ran.Load()-ran)
			}
		})
	}
}

// TestReconciled: an unknown outcome that each repetition looks up can be asked for again.
func TestReconciled(t *testing.T) {
	t.Parallel()
	verdicts := make(chan semel.Reconciliation, 2)
	verdicts <- semel.Reconciliation{Verdict: semel.StillUnknown, Again: 3 * time.Second}
	verdicts <- semel.Reconciliation{Verdict: semel.NotHappened}
	d := newDoor(t, doorOptions{guard: semel.Options{Policy: semel.Policy{
		OnUnknown: semel.Reconcile, Reconcile: func(context.Context, semel.Record) (semel.Reconciliation, error) { return <-verdicts, nil },
	}}})
	d.unary = func(context.Context, *pb.SimpleRequest) (*pb.SimpleResponse, error) {
		if d.ran.Load() == 1 {
			return nil, context.DeadlineExceeded
		}
		return &pb.SimpleResponse{Username: "invoice 2"}, nil
	}
	d.ask(t.Context(), invoice("10"), "k1")
	got := d.ask(t.Context(), invoice("10"), "k1")
	wantRefusal(t, got.err, codes.Aborted, semelgrpc.ReasonOutcomeUnknown)
	if delay, _ := retryInfo(got.err); delay != 3*time.Second || got.trailer.Get("grpc-retry-pushback-ms")[0] != "3000" {
		t.Errorf("got %v and %v, want three seconds", delay, got.trailer)
	}
	d.ask(t.Context(), invoice("10"), "k1").want(t, "invoice 2", "executed")
}

// TestChainedTwice: the inner door lets its own call pass.
func TestChainedTwice(t *testing.T) {
	t.Parallel()
	d := newDoor(t, doorOptions{})
	again, err := semelgrpc.New(d.guard, semelgrpc.ScopeBy(everyone), nil)
	noError(t, err)
	ctx := metadata.NewIncomingContext(t.Context(), metadata.Pairs(semelgrpc.DefaultMetadata, "k1"))
	info := &grpc.UnaryServerInfo{FullMethod: "/grpc.testing.TestService/UnaryCall"}
	ran := 0
	_, err = again.Unary(ctx, invoice("10"), info, func(ctx context.Context, req any) (any, error) {
		return again.Unary(ctx, req, info, func(context.Context, any) (any, error) {
			ran++
			return &pb.SimpleResponse{}, nil
		})
	})
	if err != nil || ran != 1 {
		t.Errorf("got %v after %d runs, want one run", err, ran)
	}
}

// order notes in which order an answer is recorded and sent.
type order struct {
	mu   sync.Mutex // guards the field below
	said []string
}

func (o *order) say(word string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.said = append(o.said, word)
}

func (o *order) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (o *order) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (o *order) HandleConn(context.Context, stats.ConnStats)                       {}

func (o *order) HandleRPC(_ context.Context, s stats.RPCStats) {
	switch s.(type) {
	case *stats.OutPayload:
		o.say("sent")
	case *stats.OutHeader:
		o.say("header")
	}
}

// TestAnswerAfterRecord: promise 7: neither the answer nor its header goes out before it is recorded.
func TestAnswerAfterRecord(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]func(*door) error{
		"one request": func(d *door) error { return d.ask(t.Context(), invoice("10"), "k1").err },
		"a stream of requests": func(d *door) error {
			_, _, err := d.inputOf(with(t, "idempotency-key", "k1"), "a", "b")
			return err
		},
	} {
		var o order
		d := newDoor(t, doorOptions{
			server: []grpc.ServerOption{grpc.StatsHandler(&o)},
			guard:  semel.Options{Trace: &semel.Trace{Settled: func(context.Context, semel.SettleInfo) { o.say("recorded") }}},
		})
		d.input = counting
		d.unary = func(ctx context.Context, _ *pb.SimpleRequest) (*pb.SimpleResponse, error) {
			return &pb.SimpleResponse{}, grpc.SendHeader(ctx, metadata.Pairs("location", "invoices/1"))
		}
		noError(t, call(d))
		o.mu.Lock()
		if got := strings.Join(o.said, " "); got != "recorded header sent" {
			t.Errorf("%s: got %q, want recorded header sent", name, got)
		}
		o.mu.Unlock()
	}
}

// TestEventOfFinalError: the outcome log calls a refusal failed where work under the handler failed for good.
func TestEventOfFinalError(t *testing.T) {
	t.Parallel()
	for code, want := range map[codes.Code]outcomelog.Outcome{codes.FailedPrecondition: outcomelog.Failed, codes.OK: outcomelog.Created} {
		d := newDoor(t, doorOptions{})
		d.unary = func(ctx context.Context, _ *pb.SimpleRequest) (*pb.SimpleResponse, error) {
			_, err := semel.Do(ctx, d.guard, semel.Key{Scope: "cards", Name: "1"}, semel.Fingerprint{}, func(context.Context) (int, error) {
				return 0, semel.MarkFinal(errors.New("the card is declined"))
			})
			if err == nil {
				t.Error("the charge succeeded")
			}
			return &pb.SimpleResponse{}, status.Error(code, "declined") // nil for OK
		}
		d.ask(t.Context(), invoice("10"), "k1")
		d.mu.Lock()
		if got := d.decisions[0].Event().Outcome; got != want {
			t.Errorf("%v: got %q, want %q", code, got, want)
		}
		d.mu.Unlock()
	}
}
