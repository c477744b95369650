package semeltemporal_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/semel-dev/semel"
	semeltemporal "github.com/semel-dev/semel/adapters/temporal"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/memstore"
	"github.com/semel-dev/semel/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench runs attempts of one activity, charge, of one workflow, as a worker does.
type bench struct {
	guard *semel.Guard
	store *storetest.Faulty
	o     semeltemporal.Options
	runs  int
	left  time.Duration // for an attempt; 0 for Temporal's own limit
}

// limited limits the time of an attempt.
type limited struct {
	interceptor.WorkerInterceptorBase
	interceptor.ActivityInboundInterceptorBase

	left time.Duration
}

// InterceptActivity implements interceptor.WorkerInterceptor.
func (l *limited) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return &limited{ActivityInboundInterceptorBase: interceptor.ActivityInboundInterceptorBase{Next: next}, left: l.left}
}

// ExecuteActivity implements interceptor.ActivityInboundInterceptor.
func (l *limited) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	if l.left > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, l.left)
		defer cancel()
	}
	return l.Next.ExecuteActivity(ctx, in)
}

func newBench(t *testing.T, o semeltemporal.Options) *bench {
	t.Helper()
	store := storetest.Break(memstore.New(nil), storetest.Faults{})
	claimtest.Closes(t, store)
	return &bench{guard: claimtest.Guard(t, store, nil), store: store, o: o}
}

// attempt runs the activity once. fn may return any result that has an encoding.
func attempt[In any](t *testing.T, b *bench, fn func(ctx context.Context, in In) (any, error), in In) (converter.EncodedValue, error) {
	t.Helper()
	activities, err := semeltemporal.New(b.guard, &b.o)
	claimtest.NoError(t, err)
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	env := suite.NewTestActivityEnvironment()
	env.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{&limited{left: b.left}, activities}})
	env.RegisterActivityWithOptions(func(ctx context.Context, in In) (any, error) {
		b.runs++
		return fn(ctx, in)
	}, activity.RegisterOptions{Name: "charge"})
	return env.ExecuteActivity("charge", in)
}

func fixed(v any, err error) func(context.Context, int) (any, error) {
	return func(context.Context, int) (any, error) { return v, err }
}

func (b *bench) wantRuns(t *testing.T, want int) {
	t.Helper()
	if b.runs != want {
		t.Errorf("the activity ran %d times, want %d", b.runs, want)
	}
}

// wantType checks the error that a workflow sees.
func wantType(t *testing.T, err error, want string, retried bool) *temporal.ApplicationError {
	t.Helper()
	e, ok := errors.AsType[*temporal.ApplicationError](err)
	if !ok || e.Type() != want || e.NonRetryable() == retried {
		t.Fatalf("got %v (%+v), want type %s, retried %t", err, e, want, retried)
	}
	return e
}

// TestReplay: another attempt gets the recorded result, whatever it is, and does not run.
func TestReplay(t *testing.T) {
	t.Parallel()
	type receipt struct{ Cents int }
	for name, result := range map[string]any{"a struct": receipt{1250}, "bytes": []byte("abc"), "none": nil, "a pointer": &receipt{7}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, semeltemporal.Options{})
			var got [2]string
			for i := range got {
				v, err := attempt(t, b, fixed(result, nil), 1)
				claimtest.NoError(t, err)
				if v.HasValue() {
					var raw converter.RawValue
					claimtest.NoError(t, v.Get(&raw))
					got[i] = raw.Payload().String()
				}
			}
			if got[0] != got[1] || (got[0] == "") != (result == nil) {
				t.Errorf("got %q, then %q", got[0], got[1])
			}
			b.wantRuns(t, 1)
		})
	}
}

// TestOtherArguments: other arguments under the key are refused for good, and arguments that are the same in another form are not.
func TestOtherArguments(t *testing.T) {
	t.Parallel()
	b := newBench(t, semeltemporal.Options{})
	_, err := attempt(t, b, fixed(1, nil), 10)
	claimtest.NoError(t, err)
	_, err = attempt(t, b, fixed(1, nil), 99)
	if e := wantType(t, err, "SemelMismatch", false); !strings.Contains(e.Error(), "semel records show") {
		t.Errorf("no hint: %v", e)
	}
	b.wantRuns(t, 1)

	spaced := newBench(t, semeltemporal.Options{})
	_, err = attempt(t, spaced, func(context.Context, *structpb.Struct) (any, error) { return 1, nil }, object(t))
	claimtest.NoError(t, err)
	spaced.o.DataConverter = converter.NewCompositeDataConverter(spacious{converter.NewProtoJSONPayloadConverter()})
	_, err = attempt(t, spaced, func(context.Context, *structpb.Struct) (any, error) { return 1, nil }, object(t))
	claimtest.NoError(t, err)
	spaced.wantRuns(t, 1)
}

func object(t *testing.T) *structpb.Struct {
	t.Helper()
	s, err := structpb.NewStruct(map[string]any{"a": 1, "b": "two words"})
	claimtest.NoError(t, err)
	return s
}

// TestTwinRuns: an attempt whose twin runs is repeated when the twin's lease ends, and gets its result if that comes in time.
func TestTwinRuns(t *testing.T) {
	t.Parallel()
	b := newBench(t, semeltemporal.Options{Policy: semel.Policy{Wait: semel.NoWait}})
	began, end, done := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		_, err := attempt(t, b, func(context.Context, int) (any, error) {
			close(began)
			<-end
			return 10, nil
		}, 1)
		done <- err
	}()
	<-began
	_, err := attempt(t, b, fixed(1, nil), 1)
	if e := wantType(t, err, "SemelInFlight", true); e.NextRetryDelay() <= time.Second || e.NextRetryDelay() > semel.DefaultLease {
		t.Errorf("again after %v, want the rest of the lease", e.NextRetryDelay())
	}
	patient := *b
	patient.o.Policy.Wait = time.Minute
	patient.left = 10 * time.Second // less than twice the wait: Temporal would give the attempt up
	_, err = attempt(t, &patient, fixed(1, nil), 1)
	wantType(t, err, "SemelInFlight", true)
	patient.left = 0
	waited := make(chan error)
	go func() {
		v, err := attempt(t, &patient, fixed(1, nil), 1)
		var got int
		if err == nil {
			err = v.Get(&got)
		}
		if err == nil && got != 10 {
			err = errors.New("not the result of the twin")
		}
		waited <- err
	}()
	testserver.Eventually(t, "the twin waits", func() bool { return b.guard.Waiting() > 0 })
	close(end)
	claimtest.NoError(t, <-done)
	claimtest.NoError(t, <-waited)
}

// TestUnknown: what may have happened does not run again: the activity fails, or asks again until it is settled.
func TestUnknown(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{
		"marked": semel.MarkUnknown(io.EOF), "a time-out": context.DeadlineExceeded, "completed elsewhere": activity.ErrResultPending,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, semeltemporal.Options{})
			if _, first := attempt(t, b, fixed(nil, err), 1); first == nil || errors.Is(err, activity.ErrResultPending) && !errors.Is(first, activity.ErrResultPending) {
				t.Errorf("the first attempt: got %v", first)
			}
			_, second := attempt(t, b, fixed(1, nil), 1)
			wantType(t, second, "SemelUnknown", false)
			b.o.AskAgain = time.Minute
			_, second = attempt(t, b, fixed(1, nil), 1)
			if e := wantType(t, second, "SemelUnknown", true); e.NextRetryDelay() != time.Minute {
				t.Errorf("again after %v", e.NextRetryDelay())
			}
			b.wantRuns(t, 1)
			b.o.Policy.OnUnknown, b.o.Policy.Reconcile = semel.Reconcile, func(context.Context, semel.Record) (semel.Reconciliation, error) {
				return semel.Reconciliation{Verdict: semel.NotHappened}, nil
			}
			_, second = attempt(t, b, fixed(1, nil), 1)
			claimtest.NoError(t, second)
			b.wantRuns(t, 2)
		})
	}
}

// TestErrors: an error that says nothing more lets Temporal repeat the activity, with the type that it has; a final one ends it.
func TestErrors(t *testing.T) {
	t.Parallel()
	b := newBench(t, semeltemporal.Options{})
	_, err := attempt(t, b, fixed(nil, temporal.NewApplicationError("no stock", "OutOfStock")), 1)
	wantType(t, err, "OutOfStock", true)
	_, err = attempt(t, b, fixed(nil, semel.MarkReleased(temporal.NewApplicationError("no stock", "OutOfStock"))), 1)
	wantType(t, err, "OutOfStock", true)
	for range 2 {
		_, err = attempt(t, b, fixed(nil, semel.MarkFinal(errors.New("the card was stolen"))), 1)
		if e := wantType(t, err, "SemelFinal", false); !strings.Contains(e.Error(), "stolen") {
			t.Errorf("got %v", e)
		}
	}
	b.wantRuns(t, 3)

	unkept := newBench(t, semeltemporal.Options{})
	for range 2 {
		_, err = attempt(t, unkept, fixed(make(chan int), nil), 1)
		wantType(t, err, "SemelNotKept", false)
	}
	unkept.wantRuns(t, 1)

	large := newBench(t, semeltemporal.Options{Policy: semel.Policy{MaxOutcomeBytes: 8}})
	_, err = attempt(t, large, fixed("longer than eight", nil), 1)
	claimtest.NoError(t, err)
	_, err = attempt(t, large, fixed("longer than eight", nil), 1)
	wantType(t, err, "SemelNotKept", false)
	large.wantRuns(t, 1)
}

// TestPanics: promise 3: a panic is unknown, whether it reaches Temporal or the activity makes an error of it.
func TestPanics(t *testing.T) {
	t.Parallel()
	for name, fn := range map[string]func(context.Context, int) (any, error){
		"reaches Temporal": func(context.Context, int) (any, error) { panic("after the effect") },
		"recovered": func(_ context.Context, n int) (_ any, err error) {
			defer func() { err, _ = recover().(error) }()
			return []int{}[n], nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, semeltemporal.Options{})
			if _, err := attempt(t, b, fn, 1); err == nil {
				t.Error("the first attempt has no error")
			}
			_, err := attempt(t, b, fn, 1)
			wantType(t, err, "SemelUnknown", false)
			b.wantRuns(t, 1)
		})
	}
}

// TestStoreAway: without the store no activity runs, and Temporal repeats it. A result that could not be recorded is a result.
func TestStoreAway(t *testing.T) {
	t.Parallel()
	b := newBench(t, semeltemporal.Options{Logger: slog.New(slog.DiscardHandler), Policy: semel.Policy{Lease: 100 * time.Millisecond}})
	b.store.Partition()
	_, err := attempt(t, b, fixed(1, nil), 1)
	wantType(t, err, "SemelUnavailable", true)
	b.store.Heal()
	_, err = attempt(t, b, func(context.Context, int) (any, error) {
		b.store.Partition()
		return 1, nil
	}, 1)
	b.store.Heal()
	claimtest.NoError(t, err)
	b.wantRuns(t, 1)
}

// TestKeys: an activity without a name runs unprotected, and a digest takes the place of ids that cannot be a key.
func TestKeys(t *testing.T) {
	t.Parallel()
	b := newBench(t, semeltemporal.Options{Key: func(activity.Info) string { return "" }})
	for range 2 {
		_, err := attempt(t, b, fixed(1, nil), 1)
		claimtest.NoError(t, err)
	}
	b.wantRuns(t, 2)
	for _, name := range []string{strings.Repeat("x", 1000), "a\nb"} {
		named := newBench(t, semeltemporal.Options{Key: func(activity.Info) string { return name }})
		for range 2 {
			_, err := attempt(t, named, func(ctx context.Context, _ int) (any, error) {
				return activity.GetInfo(ctx).ActivityID + semel.ClaimFrom(ctx).Digest().String(), nil
			}, 1)
			claimtest.NoError(t, err)
		}
		named.wantRuns(t, 1)
	}
	if _, err := semeltemporal.New(nil, nil); err == nil {
		t.Error("no guard: no error")
	}
	if _, err := semeltemporal.New(b.guard, &semeltemporal.Options{AskAgain: -1}); err == nil {
		t.Error("AskAgain: no error")
	}
}
