package semelotel

import (
	"strings"

	"go.opentelemetry.io/otel/trace"
)

// A trace as a record keeps it, in the form of W3C Trace Context: version, trace, span, flags.
const (
	traceVersion = "00-"
	traceSampled = "-01"
	traceBytes   = len(traceVersion) + 32 + 1 + 16 + len(traceSampled)
)

// traceparent writes a sampled span.
func traceparent(span trace.SpanContext) string {
	return traceVersion + span.TraceID().String() + "-" + span.SpanID().String() + traceSampled
}

// parseTraceparent reads what traceparent has written; ok is false for any other note.
func parseTraceparent(note string) (span trace.SpanContext, ok bool) {
	if len(note) != traceBytes || !strings.HasPrefix(note, traceVersion) || !strings.HasSuffix(note, traceSampled) {
		return trace.SpanContext{}, false
	}
	traceText, spanText, _ := strings.Cut(note[len(traceVersion):traceBytes-len(traceSampled)], "-")
	traceID, traceErr := trace.TraceIDFromHex(traceText)
	spanID, spanErr := trace.SpanIDFromHex(spanText)
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: traceID, SpanID: spanID, TraceFlags: trace.FlagsSampled, Remote: true}),
		traceErr == nil && spanErr == nil
}
