package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	bridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/semel-dev/semel/cmd/semel/internal/command"
	"github.com/semel-dev/semel/semelotel"
)

// maxErrorBytes bounds what the log gets of an error: it may have the whole answer of what was taken for a collector.
const maxErrorBytes = 1 << 10

// serviceName is the service.name of a gateway, unless OTEL_SERVICE_NAME or OTEL_RESOURCE_ATTRIBUTES has another.
const serviceName = "semel-gateway"

// words hands on what the SDK complains about, without the values: malformed headers are among them, with the credentials that they hold.
type words struct{ log *slog.Logger }

func (words) Init(logr.RuntimeInfo)            {}
func (words) Enabled(int) bool                 { return false }
func (words) Info(int, string, ...any)         {}
func (w words) WithValues(...any) logr.LogSink { return w }
func (w words) WithName(string) logr.LogSink   { return w }
func (w words) Error(_ error, text string, _ ...any) {
	w.log.LogAttrs(context.Background(), slog.LevelWarn, "OpenTelemetry's settings", slog.String("error", text))
}

// export is the telemetry of the command. The SDK reads its other settings, such as headers, time limits and the sampler, from the
// environment variables of its specification. Its processors have bounded queues and drop what these do not hold.
func export(ctx context.Context, endpoint *url.URL, metrics prometheus.Gatherer, log *slog.Logger) (*command.Export, error) {
	otel.SetLogger(logr.New(words{log}))
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		log.LogAttrs(context.WithoutCancel(ctx), slog.LevelWarn, "OpenTelemetry", slog.Any("error", brief{err}))
	}))
	about, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", serviceName)), resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("the resource: %w", err)
	}
	life := context.WithoutCancel(ctx) // ctx ends before the last spans
	spans, err := otlptracehttp.New(life, otlptracehttp.WithEndpointURL(endpoint.JoinPath("v1/traces").String()))
	if err != nil {
		return nil, fmt.Errorf("spans: %w", err)
	}
	points, err := otlpmetrichttp.New(life, otlpmetrichttp.WithEndpointURL(endpoint.JoinPath("v1/metrics").String()))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("metrics: %w", err), spans.Shutdown(life))
	}
	tracers := sdktrace.NewTracerProvider(sdktrace.WithResource(about), sdktrace.WithBatcher(spans))
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithResource(about), sdkmetric.WithReader(
		sdkmetric.NewPeriodicReader(points, sdkmetric.WithProducer(bridge.NewMetricProducer(bridge.WithGatherer(metrics))))),
		// Callers choose the Host header: as labels, its parts would have no bound.
		sdkmetric.WithView(sdkmetric.NewView(sdkmetric.Instrument{Name: "http.server.*"},
			sdkmetric.Stream{AttributeFilter: attribute.NewDenyKeysFilter("server.address", "server.port")})))
	return &command.Export{
		Trace:  semelotel.Trace(tracers, meters, nil),
		Around: around(tracers, meters),
		Close: func(ctx context.Context) error {
			if err := errors.Join(tracers.Shutdown(ctx), meters.Shutdown(ctx)); err != nil {
				return brief{err}
			}
			return nil
		},
	}, nil
}

// brief is an error of which only the beginning is shown.
type brief struct{ error }

// Error implements error.
func (b brief) Error() string {
	text := b.error.Error()
	if len(text) <= maxErrorBytes {
		return text
	}
	return strings.ToValidUTF8(text[:maxErrorBytes], "") + "…"
}

// Unwrap is for errors.Is.
func (b brief) Unwrap() error { return b.error }

// around makes a span of every request, below the caller's, and makes it the parent of what the application traces.
func around(tracers *sdktrace.TracerProvider, meters *sdkmetric.MeterProvider) func(http.Handler) http.Handler {
	propagator := propagation.TraceContext{}
	measure := otelhttp.NewMiddleware(serviceName,
		otelhttp.WithTracerProvider(tracers), otelhttp.WithMeterProvider(meters), otelhttp.WithPropagators(propagator))
	return func(next http.Handler) http.Handler {
		return measure(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			propagator.Inject(r.Context(), propagation.HeaderCarrier(r.Header))
			next.ServeHTTP(w, r)
		}))
	}
}
