package semelotel_test

import (
	"context"
	"testing"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/semelotel"
)

// BenchmarkReplay compares a replay from memory that is not observed with others: without an exporter, in a request that is not sampled, and in one that is.
func BenchmarkReplay(b *testing.B) {
	tracers := sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.AlwaysSample())))
	never := sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample()))
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))
	for name, c := range map[string]struct {
		trace   *semel.Trace
		sampled bool
	}{
		"bare":                    {nil, false},
		"metrics":                 {semelotel.Trace(nil, meters, nil), false},
		"metrics and not sampled": {semelotel.Trace(never, meters, nil), false},
		"metrics and sampled":     {semelotel.Trace(tracers, meters, nil), true},
	} {
		b.Run(name, func(b *testing.B) {
			guard := claimtest.Guard(b, newMemory(b), &semel.Options{Trace: c.trace})
			provider := never
			if c.sampled {
				provider = tracers
			}
			ctx, span := provider.Tracer("program").Start(b.Context(), "request")
			defer span.End()
			b.ReportAllocs()
			for b.Loop() {
				_, err := semel.Do(ctx, guard, key, semel.Fingerprint{}, func(context.Context) (int, error) { return 1, nil })
				noError(b, err)
			}
		})
	}
}
