package semelotel_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/memdb"
	"github.com/semel-dev/semel/semelotel"
	"github.com/semel-dev/semel/store/memstore"
	"github.com/semel-dev/semel/store/storetest"
)

func TestMain(m *testing.M) {
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {})) // collectors that are away are meant
	goleak.VerifyTestMain(m)
}

var noError = claimtest.NoError

// secret is a key that must not appear anywhere.
const secret = "alice@example.org-passport-1234"

var key = semel.Key{Scope: "alice create invoice", Name: secret}

// telemetry holds the reports about a guard.
type telemetry struct {
	guard   *semel.Guard
	tracer  trace.Tracer // of the program around it
	spans   *tracetest.SpanRecorder
	metrics *sdkmetric.ManualReader
	next    []string // calls of the hooks after ours
}

func observe(tb testing.TB, store semel.Store, o semel.Options) *telemetry {
	tb.Helper()
	w := &telemetry{spans: tracetest.NewSpanRecorder(), metrics: sdkmetric.NewManualReader()}
	tracers := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(w.spans))
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(w.metrics))
	w.tracer = tracers.Tracer("program")
	o.Trace = semelotel.Trace(tracers, meters, &semel.Trace{
		Began:   func(_ context.Context, i semel.BeginInfo) { w.next = append(w.next, string(i.Outcome)) },
		Settled: func(_ context.Context, i semel.SettleInfo) { w.next = append(w.next, i.State.String()) },
	})
	w.guard = claimtest.Guard(tb, store, &o)
	registration, err := semelotel.Gauges(meters, w.guard)
	noError(tb, err)
	tb.Cleanup(func() { noError(tb, registration.Unregister()) })
	return w
}

func newMemory(tb testing.TB) semel.Store {
	tb.Helper()
	store := memstore.New(nil)
	claimtest.Closes(tb, store)
	return store
}

// do runs an intent within a span of the program.
func (w *telemetry) do(ctx context.Context, fn func(context.Context) (int, error)) error {
	ctx, span := w.tracer.Start(ctx, "request")
	defer span.End()
	_, err := semel.Do(ctx, w.guard, key, semel.Fingerprint{}, fn)
	return err
}

func one(context.Context) (int, error) { return 1, nil }

// named returns the spans of a name, in the order in which they ended.
func (w *telemetry) named(name string) (spans []sdktrace.ReadOnlySpan) {
	for _, span := range w.spans.Ended() {
		if span.Name() == name {
			spans = append(spans, span)
		}
	}
	return spans
}

// value returns an attribute.
func value(span sdktrace.ReadOnlySpan, name string) string {
	for _, a := range span.Attributes() {
		if string(a.Key) == name {
			return a.Value.String()
		}
	}
	return "no " + name
}

// TestSpans: one for each Begin and settlement, below that of the request; a replay is linked to the request that ran.
func TestSpans(t *testing.T) {
	t.Parallel()
	w := observe(t, newMemory(t), semel.Options{})
	for range 3 {
		noError(t, w.do(t.Context(), one))
	}
	requests, begins, settles := w.named("request"), w.named("semel.begin"), w.named("semel.settle")
	if len(requests) != 3 || len(begins) != 3 || len(settles) != 1 {
		t.Fatalf("got %d requests, %d begins and %d settlements", len(requests), len(begins), len(settles))
	}
	digest := w.guard.Digest(key).String()[:16]
	for i, span := range begins {
		if span.Parent().SpanID() != requests[i].SpanContext().SpanID() || span.EndTime().Before(span.StartTime()) {
			t.Errorf("begin %d is not below its request", i)
		}
		result := []string{"claimed", "replayed", "replayed"}[i]
		if value(span, "semel.result") != result || value(span, "semel.key.digest") != digest || value(span, "semel.fence") == "0" || value(span, "semel.attempt") != "1" {
			t.Errorf("begin %d: got %v", i, span.Attributes())
		}
		links := span.Links()
		if i == 0 {
			if len(links) != 0 {
				t.Error("the first has a link")
			}
			continue
		}
		if len(links) != 1 || links[0].SpanContext.TraceID() != requests[0].SpanContext().TraceID() || links[0].SpanContext.SpanID() != requests[0].SpanContext().SpanID() {
			t.Errorf("replay %d: got the links %v, want the first request", i, links)
		}
	}
	if span := settles[0]; value(span, "semel.state") != "completed" || value(span, "semel.kept") != "true" || span.Parent().SpanID() != requests[0].SpanContext().SpanID() {
		t.Errorf("the settlement: got %v", settles[0].Attributes())
	}
	if diff := cmp.Diff([]string{"claimed", "completed", "replayed", "replayed"}, w.next); diff != "" {
		t.Errorf("the hooks after ours (-want +got):\n%s", diff)
	}
	for _, span := range w.spans.Ended() {
		if text := fmt.Sprint(span.Name(), span.Attributes(), span.Events(), span.Status(), span.Links()); strings.Contains(text, "passport") || strings.Contains(text, "alice") {
			t.Errorf("promise 5: the span %s shows the key", text)
		}
	}
}

// TestLinkInTransaction: a replay of what ran in a transaction is linked as well.
func TestLinkInTransaction(t *testing.T) {
	t.Parallel()
	db := memdb.New(memstore.New(nil), nil)
	claimtest.Closes(t, db)
	w := observe(t, db, semel.Options{})
	for range 2 {
		ctx, span := w.tracer.Start(t.Context(), "request")
		_, err := semel.DoTx(ctx, w.guard, db, key, semel.Fingerprint{}, one)
		noError(t, err)
		span.End()
	}
	if links := w.named("semel.begin")[1].Links(); len(links) != 1 || links[0].SpanContext.TraceID() != w.named("request")[0].SpanContext().TraceID() {
		t.Errorf("got the links %v, want the first request", links)
	}
}

// TestNoLink: old records, and notes of people, are no traces; and what is not sampled leaves none.
func TestNoLink(t *testing.T) {
	t.Parallel()
	store := newMemory(t)
	plain := claimtest.Guard(t, store, nil)
	_, err := semel.Do(t.Context(), plain, key, semel.Fingerprint{}, one)
	noError(t, err)
	w := observe(t, store, semel.Options{})
	noError(t, w.do(t.Context(), one))
	if links := w.named("semel.begin")[0].Links(); len(links) != 0 {
		t.Errorf("an old record: got the links %v", links)
	}
	other := semel.Key{Scope: "s", Name: "k"}
	_, err = semel.Do(t.Context(), w.guard, other, semel.Fingerprint{}, one) // in no span
	noError(t, err)
	if rec, err := w.guard.Lookup(t.Context(), other); err != nil || rec.Note != "" {
		t.Errorf("got the note %q, %v", rec.Note, err)
	}
	traced := "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for note, want := range map[string]int{
		traced: 1, "": 0, "found invoice 77": 0, strings.Replace(traced, "00-", "01-", 1): 0, strings.Replace(traced, "c-b", "cb-", 1): 0,
		strings.Replace(traced, "0af", "xyz", 1): 0, strings.Repeat("0", len(traced)): 0, "00-" + strings.Repeat("0", 32) + "-b7ad6b7169203331-01": 0, traced + " ": 0,
	} {
		hooks := semelotel.Trace(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(w.spans)), nil, nil)
		hooks.Began(t.Context(), semel.BeginInfo{Note: note})
		begins := w.named("semel.begin")
		if got := len(begins[len(begins)-1].Links()); got != want {
			t.Errorf("%q: got %d links, want %d", note, got, want)
		}
	}
}

// TestErrors: what an operator has to look at is an error; a lost claim is an event of its request.
func TestErrors(t *testing.T) {
	t.Parallel()
	broken := storetest.Break(memstore.New(nil), storetest.Faults{Before: func(c storetest.Call) error {
		if c.Verb == "settle" || c.Verb == "renew" {
			return errors.New("disk full")
		}
		return nil
	}})
	t.Cleanup(func() { _ = broken.Close() })
	w := observe(t, broken, semel.Options{StoreTimeout: 50 * time.Millisecond, Policy: semel.Policy{Lease: 30 * time.Millisecond, Wait: semel.NoWait}})
	err := w.do(t.Context(), func(ctx context.Context) (int, error) {
		<-ctx.Done() // the lease could not be renewed
		return 1, nil
	})
	if !errors.Is(err, semel.ErrNotStored) {
		t.Errorf("got %v", err)
	}
	if err := w.do(t.Context(), one); !errors.Is(err, semel.ErrUnknown) {
		t.Errorf("got %v", err)
	}
	if span := w.named("semel.settle")[0]; span.Status().Code != codes.Error {
		t.Errorf("the settlement: got %v, want an error", span.Status())
	}
	if span := w.named("semel.begin")[1]; span.Status().Code != codes.Error || value(span, "semel.result") != "unknown" {
		t.Errorf("the refusal: got %v, %v, want an error", span.Status(), span.Attributes())
	}
	if events := w.named("request")[0].Events(); len(events) != 1 || events[0].Name != "semel.claim.lost" {
		t.Errorf("the request: got the events %v, want the lost claim", events)
	}
}

// TestReconcileSpan: a question is a span of its own.
func TestReconcileSpan(t *testing.T) {
	t.Parallel()
	w := observe(t, newMemory(t), semel.Options{Policy: semel.Policy{
		OnUnknown: semel.Reconcile, Reconcile: func(context.Context, semel.Record) (semel.Reconciliation, error) {
			outcome, err := semel.OutcomeOf(1)
			return semel.Reconciliation{Verdict: semel.Happened, Outcome: outcome, Kept: true}, err
		},
	}})
	_ = w.do(t.Context(), func(context.Context) (int, error) { return 0, semel.MarkUnknown(errors.New("no answer")) })
	noError(t, w.do(t.Context(), one))
	if spans := w.named("semel.reconcile"); len(spans) != 1 || value(spans[0], "semel.verdict") != "happened" {
		t.Errorf("got %v", spans)
	}
}

// TestMetrics: the names, and no key in any of them.
func TestMetrics(t *testing.T) {
	t.Parallel()
	w := observe(t, newMemory(t), semel.Options{})
	claim, _, err := w.guard.Begin(t.Context(), semel.Key{Scope: "alice", Name: "held"}, semel.Fingerprint{})
	noError(t, err)
	noError(t, w.do(t.Context(), one))
	noError(t, w.do(t.Context(), one))
	if _, err := semel.Do(t.Context(), w.guard, semel.Key{Scope: "alice", Name: "declined"}, semel.Fingerprint{}, func(context.Context) (int, error) {
		return 0, semel.MarkFinal(errors.New("declined"))
	}); err == nil {
		t.Error("it succeeded")
	}
	var all metricdata.ResourceMetrics
	noError(t, w.metrics.Collect(t.Context(), &all))
	got := map[string]string{}
	for _, m := range all.ScopeMetrics[0].Metrics {
		switch data := m.Data.(type) {
		case metricdata.Histogram[float64]:
			for _, p := range data.DataPoints {
				got[m.Name+" "+p.Attributes.Encoded(attribute.DefaultEncoder())] = fmt.Sprint(p.Count)
			}
		case metricdata.Gauge[int64]:
			got[m.Name] = fmt.Sprint(data.DataPoints[0].Value)
		}
	}
	want := map[string]string{
		"semel.begin.duration semel.result=claimed": "3", "semel.begin.duration semel.result=replayed": "1", "semel.settle.duration semel.state=completed": "1",
		"semel.settle.duration semel.state=failed": "1",
		"semel.claims.live":                        "1", "semel.waiters": "0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
	noError(t, claim.Release(""))
}

// TestParts: each of the three may be missing.
func TestParts(t *testing.T) {
	t.Parallel()
	hooks := semelotel.Trace(nil, nil, nil)
	hooks.Began(t.Context(), semel.BeginInfo{})
	hooks.Settled(t.Context(), semel.SettleInfo{})
	hooks.Lost(t.Context(), semel.LostInfo{})
	hooks.Reconciled(t.Context(), semel.ReconcileInfo{})
	if hooks.Note != nil {
		t.Error("there are notes without traces")
	}
	hooks = semelotel.Trace(sdktrace.NewTracerProvider(), nil, &semel.Trace{Note: func(context.Context) string { return "theirs" }})
	if got := hooks.Note(t.Context()); got != "theirs" {
		t.Errorf("outside of a span: got the note %q, want theirs", got)
	}
}
