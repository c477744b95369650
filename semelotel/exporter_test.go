package semelotel_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/semelotel"
)

// TestCollectorThatHangs: a collector that takes what is sent and never answers holds no request up, and neither does one that is away: more spans
// than the exporter's queue holds are reported while it hangs.
func TestCollectorThatHangs(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"hangs", "is away"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked, end := make(chan string, 2), make(chan struct{})
			collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				select {
				case asked <- r.URL.Path:
				case <-end:
				}
				<-end
			}))
			t.Cleanup(collector.Close)
			if name == "is away" {
				collector.Close()
			}
			address := strings.TrimPrefix(collector.URL, "http://")
			spans, err := otlptracehttp.New(t.Context(), otlptracehttp.WithEndpoint(address), otlptracehttp.WithInsecure())
			noError(t, err)
			points, err := otlpmetrichttp.New(t.Context(), otlpmetrichttp.WithEndpoint(address), otlpmetrichttp.WithInsecure())
			noError(t, err)
			const queue = 64
			tracers := sdktrace.NewTracerProvider(sdktrace.WithBatcher(spans, sdktrace.WithMaxQueueSize(queue), sdktrace.WithMaxExportBatchSize(queue/2), sdktrace.WithBatchTimeout(time.Millisecond)))
			meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewPeriodicReader(points, sdkmetric.WithInterval(time.Millisecond))))
			t.Cleanup(func() {
				close(end)
				over := context.WithoutCancel(t.Context())
				_, _ = tracers.Shutdown(over), meters.Shutdown(over) // what was not sent is lost
			})
			guard := claimtest.Guard(t, newMemory(t), &semel.Options{Trace: semelotel.Trace(tracers, meters, nil)})
			do := func() {
				ctx, span := tracers.Tracer("program").Start(t.Context(), "request")
				defer span.End()
				_, err := semel.Do(ctx, guard, key, semel.Fingerprint{}, one)
				noError(t, err)
			}
			do()
			if name != "is away" {
				for seen := map[string]bool{}; len(seen) < 2; { // traces and metrics
					seen[<-asked] = true
				}
			}
			for range 10 * queue {
				do()
			}
		})
	}
}
