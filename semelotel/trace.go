package semelotel

import (
	"context"
	"encoding/hex"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/outcomelog"
)

// scope names the instrumentation.
const scope = "github.com/semel-dev/semel/semelotel"

// Trace returns hooks that report to the providers and then call those of next. Each of the three may be nil.
//
// A Begin, a settlement and a reconciliation are spans below the span in their context; they are made when they have
// ended. A lost claim is an event of the span around it. The metrics are semel.begin.duration by semel.result,
// semel.wait.duration, semel.settle.duration by semel.state, and semel.claims.lost.
func Trace(tracers trace.TracerProvider, meters metric.MeterProvider, next *semel.Trace) *semel.Trace {
	var t semel.Trace
	if next != nil {
		t = *next
	}
	r := &reporter{next: t}
	if tracers != nil {
		r.tracer = tracers.Tracer(scope)
		t.Note = r.traceNote
	}
	if meters != nil {
		r.instruments = newInstruments(meters.Meter(scope))
	}
	t.Began, t.Settled, t.Lost, t.Reconciled = r.began, r.settled, r.lost, r.reconciled
	return &t
}

// reporter holds the hooks.
type reporter struct {
	next        semel.Trace
	tracer      trace.Tracer // nil for no spans
	instruments *instruments // nil for no metrics
}

// span is one that has ended, or nothing without a tracer.
type span struct {
	trace.Span
	ended time.Time
}

// span makes one that has ended now and took so long.
func (r *reporter) span(ctx context.Context, name string, took time.Duration, links ...trace.Link) span {
	if r.tracer == nil {
		return span{}
	}
	now := time.Now()
	options := [2]trace.SpanStartOption{trace.WithTimestamp(now.Add(-took))}
	n := 1
	if len(links) > 0 {
		options[n] = trace.WithLinks(links...)
		n++
	}
	_, made := r.tracer.Start(ctx, name, options[:n]...) //nolint:spancheck // end ends it.
	return span{made, now}                               //nolint:spancheck // as above.
}

// recorded reports whether attributes are of use.
func (s span) recorded() bool { return s.Span != nil && s.IsRecording() }

func (s span) end() {
	if s.Span != nil {
		s.End(trace.WithTimestamp(s.ended))
	}
}

func (r *reporter) began(ctx context.Context, i semel.BeginInfo) {
	if r.instruments != nil {
		r.instruments.begin(ctx, &i)
	}
	var s span
	if first, ok := parseTraceparent(i.Note); ok {
		s = r.span(ctx, "semel.begin", i.Took, trace.Link{SpanContext: first})
	} else {
		s = r.span(ctx, "semel.begin", i.Took)
	}
	if s.recorded() {
		s.SetAttributes(attribute.String("semel.result", string(i.Outcome)), digestOf(i.Digest), fenceOf(i.Fence), attribute.Int("semel.attempt", i.Attempt),
			attribute.Float64("semel.waited", i.Waited.Seconds()))
		if i.Outcome.Level() > slog.LevelInfo {
			s.SetStatus(codes.Error, string(i.Outcome))
		}
	}
	s.end()
	call(r.next.Began, ctx, i)
}

func (r *reporter) settled(ctx context.Context, i semel.SettleInfo) {
	if r.instruments != nil {
		r.instruments.settle(ctx, &i)
	}
	s := r.span(ctx, "semel.settle", i.Took)
	if s.recorded() {
		s.SetAttributes(attribute.String("semel.state", i.State.String()), digestOf(i.Digest), fenceOf(i.Fence), attribute.Bool("semel.kept", i.Kept),
			attribute.Int("semel.bytes", i.Bytes), attribute.Float64("semel.held", i.Held.Seconds()))
		if i.Err != nil {
			s.SetStatus(codes.Error, string(outcomelog.NotStored))
		}
	}
	s.end()
	call(r.next.Settled, ctx, i)
}

func (r *reporter) lost(ctx context.Context, i semel.LostInfo) {
	if r.instruments != nil {
		r.instruments.lost.Add(ctx, 1)
	}
	trace.SpanFromContext(ctx).AddEvent("semel.claim.lost", trace.WithAttributes(digestOf(i.Digest), fenceOf(i.Fence), attribute.Float64("semel.held", i.Held.Seconds())))
	call(r.next.Lost, ctx, i)
}

func (r *reporter) reconciled(ctx context.Context, i semel.ReconcileInfo) {
	s := r.span(ctx, "semel.reconcile", i.Took)
	if s.recorded() {
		s.SetAttributes(attribute.String("semel.verdict", i.Verdict.String()), digestOf(i.Digest), fenceOf(i.Fence))
		if i.Err != nil {
			s.SetStatus(codes.Error, "reconcile")
		}
	}
	s.end()
	call(r.next.Reconciled, ctx, i)
}

// traceNote returns the trace in which the work runs, if it is recorded; else the note of next.
func (r *reporter) traceNote(ctx context.Context) string {
	if span := trace.SpanContextFromContext(ctx); span.IsSampled() {
		return traceparent(span)
	}
	if r.next.Note != nil {
		return r.next.Note(ctx)
	}
	return ""
}

func call[T any](hook func(context.Context, T), ctx context.Context, info T) { //nolint:revive // the hook comes first, as the function that is called.
	if hook != nil {
		hook(ctx, info)
	}
}

// digestOf returns the digits of the key's digest that logs have, or none before the key was known.
func digestOf(d semel.Digest) attribute.KeyValue {
	text := ""
	if d != (semel.Digest{}) {
		text = hex.EncodeToString(d[:outcomelog.KeyDigits/2])
	}
	return attribute.String("semel.key.digest", text)
}

func fenceOf(f semel.Fence) attribute.KeyValue {
	return attribute.Int64("semel.fence", int64(f)) //nolint:gosec // within BIGINT, for every store of this module.
}
