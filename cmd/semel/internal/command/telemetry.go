package command

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/cli"
)

// Telemetry starts to export what a gateway does to the OTLP endpoint at a URL, without waiting for it: spans, and the
// metrics that it gathers. It logs what the endpoint refuses.
//
// The main module does not depend on the SDK and the exporters of OpenTelemetry. Module cmd/semel/otlp builds this command
// with them.
type Telemetry func(ctx context.Context, endpoint *url.URL, metrics prometheus.Gatherer, log *slog.Logger) (*Export, error)

// Export is a running export.
type Export struct {
	// Trace is the trace of the gateway's guard.
	Trace *semel.Trace
	// Around goes around the gateway's handler.
	Around func(http.Handler) http.Handler
	// Close sends what is left until its context ends, and ends the export.
	Close func(context.Context) error
}

// exportPatience bounds how long the end of a gateway waits for a collector.
const exportPatience = 5 * time.Second

// exporting returns what runs a gateway with the export that --otlp asks for.
func (f *gatewayFlags) exporting(telemetry Telemetry) (func(context.Context, func(context.Context) error) error, error) {
	if f.otlp == "" {
		return func(ctx context.Context, work func(context.Context) error) error { return work(ctx) }, nil
	}
	if telemetry == nil {
		return nil, cli.Usagef("--otlp: this program was built without OpenTelemetry (build it with: go build -C cmd/semel/otlp -o ../../../bin/semel .)")
	}
	endpoint, err := url.Parse(f.otlp)
	switch {
	case err != nil || endpoint.Host == "" || endpoint.Scheme != "http" && endpoint.Scheme != "https":
		return nil, cli.Usagef("--otlp is not the URL of a collector (write it like http://127.0.0.1:4318)")
	case endpoint.User != nil || endpoint.RawQuery != "" || endpoint.Fragment != "":
		return nil, cli.Usagef("--otlp is a scheme, a host and a path alone (credentials go into OTEL_EXPORTER_OTLP_HEADERS)")
	}
	return func(ctx context.Context, work func(context.Context) error) error {
		registry := prometheus.NewRegistry()
		export, err := telemetry(ctx, endpoint, registry, f.config.Logger)
		if err != nil {
			return cli.Usage(fmt.Errorf("--otlp: %w", err))
		}
		f.config.Guard.Trace, f.config.Around, f.config.Metrics = export.Trace, export.Around, registry
		err = work(ctx)
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), exportPatience)
		defer cancel()
		if lost := export.Close(ending); lost != nil && !errors.Is(lost, context.Canceled) {
			f.config.Logger.LogAttrs(ending, slog.LevelWarn, "the collector has not got the last spans and metrics", slog.Any("error", lost))
		}
		return err
	}, nil
}
