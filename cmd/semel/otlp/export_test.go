package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	collectormetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collectortrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/testserver"
)

// commandVariable makes the test binary the command.
const commandVariable = "SEMEL_OTLP_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(commandVariable) != "" {
		main()
	}
	os.Exit(m.Run())
}

// collector keeps what is sent to it.
type collector struct {
	mu      sync.Mutex // guards the fields below
	raw     []byte
	service string
	spans   []*tracepb.Span
	metrics map[string]*metricspb.Metric // the last of each name
}

func (c *collector) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raw = append(c.raw, body...)
	switch r.URL.Path {
	case "/base/v1/traces":
		var m collectortrace.ExportTraceServiceRequest
		_ = proto.Unmarshal(body, &m)
		for _, resource := range m.ResourceSpans {
			c.service = value(resource.Resource.Attributes, "service.name")
			for _, scope := range resource.ScopeSpans {
				c.spans = append(c.spans, scope.Spans...)
			}
		}
	case "/base/v1/metrics":
		var m collectormetrics.ExportMetricsServiceRequest
		_ = proto.Unmarshal(body, &m)
		for _, resource := range m.ResourceMetrics {
			for _, scope := range resource.ScopeMetrics {
				for _, metric := range scope.Metrics {
					c.metrics[metric.Name] = metric
				}
			}
		}
	}
}

func value(attributes []*commonpb.KeyValue, key string) string {
	for _, a := range attributes {
		if a.Key == key {
			return a.Value.GetStringValue()
		}
	}
	return ""
}

// gateway is a running process.
type gateway struct {
	front, admin string
	process      *exec.Cmd
	log          *bytes.Buffer
}

func start(t *testing.T, upstream, otlp string, env ...string) *gateway {
	t.Helper()
	ready := filepath.Join(t.TempDir(), "ready")
	g := &gateway{log: &bytes.Buffer{}}
	g.process = exec.CommandContext(t.Context(), os.Args[0], "gateway", "--upstream", upstream, "--store", "memory:", "--listen", "127.0.0.1:0",
		"--admin", "127.0.0.1:0", "--ready-file", ready, "--otlp", otlp)
	g.process.Env = append(append(os.Environ(), commandVariable+"=1"), env...)
	g.process.Stderr = g.log
	claimtest.NoError(t, g.process.Start())
	t.Cleanup(func() { _ = g.process.Process.Kill() })
	testserver.Eventually(t, "the gateway is ready", func() bool {
		text, _ := os.ReadFile(ready)
		for line := range strings.Lines(string(text)) {
			name, url, _ := strings.Cut(strings.TrimSpace(line), "=")
			switch name {
			case "listen":
				g.front = url
			case "admin":
				g.admin = url
			}
		}
		return bytes.HasSuffix(text, []byte("\n"))
	})
	return g
}

// endLimit is far beyond what a gateway that drains waits for a collector.
const endLimit = 30 * time.Second

// stop ends the gateway as an operator does.
func (g *gateway) stop(t *testing.T) {
	t.Helper()
	claimtest.NoError(t, g.process.Process.Signal(syscall.SIGTERM))
	hard := time.AfterFunc(endLimit, func() { _ = g.process.Process.Kill() })
	defer hard.Stop()
	if err := g.process.Wait(); err != nil {
		t.Fatalf("the gateway did not end on its own within %v: %v: %s", endLimit, err, g.log)
	}
}

func (g *gateway) post(t *testing.T, key, traceparent string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.front+"/orders", strings.NewReader("item=42"))
	claimtest.NoError(t, err)
	r.Header.Set("Idempotency-Key", key)
	if traceparent != "" {
		r.Header.Set("Traceparent", traceparent)
	}
	a, err := new(http.Client).Do(r)
	claimtest.NoError(t, err)
	claimtest.NoError(t, a.Body.Close())
	if a.StatusCode != http.StatusCreated {
		t.Fatalf("got %s", a.Status)
	}
}

const (
	firstTrace  = "4bf92f3577b34da6a3ce929d0e0e4736"
	secondTrace = "0af7651916cd43dd8448eb211c80319c"
	callerSpan  = "00f067aa0ba902b7"
	key         = "8e03978e-40d5-43dd-bc93-6894a57f9324"
)

// TestExport: a collector gets the spans of a request and of its repetition, in their callers' traces and linked, and the metrics, under the
// names that /metrics has.
func TestExport(t *testing.T) {
	t.Parallel()
	c := &collector{metrics: map[string]*metricspb.Metric{}}
	receiver := httptest.NewServer(c)
	t.Cleanup(receiver.Close)
	parents := make(chan string, 1)
	application := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		parents <- r.Header.Get("Traceparent")
		w.WriteHeader(http.StatusCreated)
	}))
	t.Cleanup(application.Close)
	g := start(t, application.URL, receiver.URL+"/base/")
	g.post(t, key, "00-"+firstTrace+"-"+callerSpan+"-01")
	g.post(t, key, "00-"+secondTrace+"-"+callerSpan+"-01")
	scraped := scrape(t, g.admin)
	g.stop(t)

	c.mu.Lock()
	defer c.mu.Unlock()
	if c.service != serviceName || bytes.Contains(c.raw, []byte(key)) {
		t.Errorf("service %q; the key was sent: %t", c.service, bytes.Contains(c.raw, []byte(key)))
	}
	first, second := c.span(t, firstTrace, "POST"), c.span(t, secondTrace, "POST")
	for _, s := range []*tracepb.Span{first, second} {
		if s.Kind != tracepb.Span_SPAN_KIND_SERVER || hex.EncodeToString(s.ParentSpanId) != callerSpan {
			t.Errorf("got %v", s)
		}
	}
	if got, want := <-parents, "00-"+firstTrace+"-"+hex.EncodeToString(first.SpanId)+"-01"; got != want {
		t.Errorf("the application's parent: got %q, want %q", got, want)
	}
	if begin := c.span(t, firstTrace, "semel.begin"); value(begin.Attributes, "semel.result") != "claimed" || !bytes.Equal(begin.ParentSpanId, first.SpanId) {
		t.Errorf("got %v", begin)
	}
	c.span(t, firstTrace, "semel.settle")
	replay := c.span(t, secondTrace, "semel.begin")
	if value(replay.Attributes, "semel.result") != "replayed" || len(replay.Links) != 1 || hex.EncodeToString(replay.Links[0].TraceId) != firstTrace {
		t.Errorf("got %v", replay)
	}
	for _, name := range []string{"semel_requests_total", "semel_claim_seconds", "semel_live_claims", "semel_records", "semel_unknown_oldest_seconds"} {
		if c.metrics[name] == nil || !strings.Contains(scraped, "\n"+name) {
			t.Errorf("%s: exported %t, scraped %t", name, c.metrics[name] != nil, strings.Contains(scraped, "\n"+name))
		}
	}
	c.wantDurations(t)
}

// wantDurations checks the metrics that only the collector gets.
func (c *collector) wantDurations(t *testing.T) {
	t.Helper()
	traces := map[string]bool{}
	for _, point := range c.metrics["semel.begin.duration"].GetHistogram().GetDataPoints() {
		for _, e := range point.Exemplars {
			traces[hex.EncodeToString(e.TraceId)] = true
		}
	}
	if !traces[firstTrace] || !traces[secondTrace] {
		t.Errorf("semel.begin.duration has exemplars of %v", traces)
	}
	requests := c.metrics["http.server.request.duration"].GetHistogram().GetDataPoints()
	if len(requests) != 1 || slices.ContainsFunc(requests[0].Attributes, func(a *commonpb.KeyValue) bool { return strings.HasPrefix(a.Key, "server.") }) {
		t.Errorf("http.server.request.duration: got %v", requests)
	}
}

func (c *collector) span(t *testing.T, trace, name string) *tracepb.Span {
	t.Helper()
	for _, s := range c.spans {
		if s.Name == name && hex.EncodeToString(s.TraceId) == trace {
			return s
		}
	}
	t.Fatalf("no span %s in trace %s", name, trace)
	return nil
}

func scrape(t *testing.T, admin string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, admin+"/metrics", nil)
	claimtest.NoError(t, err)
	a, err := new(http.Client).Do(r)
	claimtest.NoError(t, err)
	text, err := io.ReadAll(a.Body)
	claimtest.NoError(t, cmp.Or(err, a.Body.Close()))
	return string(text)
}

// TestCollectorThatHangs: a collector that never answers, and one that is away, hold up neither a request nor the end of the gateway, though more
// spans are made than the exporter's queue takes.
func TestCollectorThatHangs(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"hangs", "is away"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked, end := make(chan struct{}, 1), make(chan struct{})
			receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
				select {
				case asked <- struct{}{}:
				default:
				}
				<-end
			}))
			t.Cleanup(receiver.Close)
			t.Cleanup(func() { close(end) })
			if name == "is away" {
				receiver.Close()
			}
			application := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) }))
			t.Cleanup(application.Close)
			g := start(t, application.URL, receiver.URL, "OTEL_BSP_MAX_QUEUE_SIZE=16", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE=8", "OTEL_BSP_SCHEDULE_DELAY=1",
				"OTEL_METRIC_EXPORT_INTERVAL=10", "OTEL_EXPORTER_OTLP_TIMEOUT=600000")
			g.post(t, "first", "")
			if name == "hangs" {
				<-asked
			}
			for i := range 100 {
				g.post(t, strings.Repeat("k", i+1), "")
			}
			g.stop(t)
			if !strings.Contains(g.log.String(), "the collector has not got the last spans and metrics") {
				t.Errorf("the log says nothing of what was lost: %s", g.log)
			}
		})
	}
}

// TestLongAnswer (promise 8): what takes the collector's place, and answers at length, does not fill the log.
func TestLongAnswer(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 1)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		select {
		case asked <- struct{}{}:
		default:
		}
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, strings.Repeat("long ", 200<<10))
	}))
	t.Cleanup(receiver.Close)
	application := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) }))
	t.Cleanup(application.Close)
	g := start(t, application.URL, receiver.URL, "OTEL_BSP_SCHEDULE_DELAY=1")
	g.post(t, "first", "")
	<-asked
	g.stop(t)
	for _, says := range []string{`"msg":"OpenTelemetry"`, "the collector has not got the last spans and metrics", "body: long"} {
		if !strings.Contains(g.log.String(), says) {
			t.Errorf("the log does not say %s", says)
		}
	}
	if n := g.log.Len(); n > 64<<10 {
		t.Errorf("the log has %d bytes", n)
	}
}

// TestEndpoint: what is not the URL of a collector is refused at the start.
func TestEndpoint(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"127.0.0.1:4318", "ftp://127.0.0.1", "http://", "http://a:secret@127.0.0.1:4318", "http://127.0.0.1:4318?token=secret"} {
		command := exec.CommandContext(t.Context(), os.Args[0], "gateway", "--upstream", "http://127.0.0.1:1", "--store", "memory:", "--otlp", url)
		command.Env = append(os.Environ(), commandVariable+"=1")
		out, err := command.CombinedOutput()
		if err == nil || command.ProcessState.ExitCode() != 2 || !bytes.Contains(out, []byte("--otlp")) || bytes.Contains(out, []byte("secret")) {
			t.Errorf("%s: %v, %s", url, err, out)
		}
	}
}

// TestMalformedHeaders: what the SDK says of headers that it cannot read holds no credentials, and is in the log.
func TestMalformedHeaders(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "Authorization: Bearer s3cret")
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "authorization=Basic s3cret%zz")
	var log bytes.Buffer
	e, err := export(t.Context(), &url.URL{Scheme: "http", Host: "127.0.0.1:1"}, prometheus.NewRegistry(), slog.New(slog.NewTextHandler(&log, nil)))
	claimtest.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // no collector is there
	_ = e.Close(ctx)
	if got := log.String(); strings.Contains(got, "s3cret") || !strings.Contains(got, "settings") {
		t.Errorf("the log says %q, want that headers are malformed, without what they hold", got)
	}
}
