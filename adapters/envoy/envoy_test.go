package semelenvoy_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	extproc "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"
	service "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/semel-dev/semel"
	semelenvoy "github.com/semel-dev/semel/adapters/envoy"
	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/memstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// envoy plays Envoy's filter and router over a real connection, by the protocol's description: it sends a message, waits for the reply of
// its kind, and goes on without the processor when the stream ends without an error.
type envoy struct {
	t      *testing.T
	client service.ExternalProcessorClient
	store  semel.Store
	// static are the modes of the filter; overrides are ignored with fixed.
	static *extproc.ProcessingMode
	fixed  bool
	// details is the attribute response.code_details; "" is not sent.
	details string
	// application gets what the router forwards.
	application func(w http.ResponseWriter, r *http.Request)
	created     atomic.Int64
	log         *bytes.Buffer
}

// buffered are the modes that docs/proxies.md asks for.
func buffered() *extproc.ProcessingMode {
	return &extproc.ProcessingMode{
		RequestBodyMode: extproc.ProcessingMode_BUFFERED, ResponseBodyMode: extproc.ProcessingMode_BUFFERED, RequestTrailerMode: extproc.ProcessingMode_SEND,
	}
}

func start(t *testing.T, configure func(*gateway.Config)) *envoy {
	t.Helper()
	e := &envoy{t: t, static: buffered(), details: "via_upstream", log: &bytes.Buffer{}, store: memstore.New(nil)}
	e.application = e.create
	config := &gateway.Config{Store: e.store, Logger: slog.New(slog.NewTextHandler(&locked{w: e.log}, nil))}
	if configure != nil {
		configure(config)
	}
	processor, err := semelenvoy.New(config)
	claimtest.NoError(t, err)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	claimtest.NoError(t, err)
	server := grpc.NewServer(grpc.WaitForHandlers(true))
	service.RegisterExternalProcessorServer(server, processor)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	claimtest.NoError(t, err)
	e.client = service.NewExternalProcessorClient(conn)
	t.Cleanup(func() {
		claimtest.NoError(t, conn.Close())
		server.Stop()
		claimtest.NoError(t, <-served)
		claimtest.NoError(t, processor.Close())
		claimtest.NoError(t, e.store.Close())
	})
	return e
}

// locked is a writer for several goroutines.
type locked struct {
	mu sync.Mutex // guards the field below
	w  io.Writer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// create is an application that makes an order for each request.
func (e *envoy) create(w http.ResponseWriter, r *http.Request) {
	n := e.created.Add(1)
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("X-Envoy-Upstream-Service-Time", "5") // as the router adds it
	w.Header().Set("Location", "/orders/"+string(rune('0'+n)))
	w.Header().Add("Link", "<a>")
	w.Header().Add("Link", "<b>")
	w.WriteHeader(http.StatusCreated)
	_, _ = io.WriteString(w, "order "+string(rune('0'+n))+" of "+string(body))
}

// request holds what a caller sends; with trailers, it ends with these.
type request struct {
	method, path, key, body string
	header                  http.Header
	trailers                bool
}

// result holds what the caller gets.
type result struct {
	status int
	header http.Header
	body   string
}

func (r *result) word() string { return r.header.Get("Idempotency-Status") }

// do sends a request through Envoy.
func (e *envoy) do(r request) result {
	e.t.Helper()
	c := e.open(r)
	defer c.cut()
	if got := c.ask(); got != nil {
		return *got
	}
	return c.forward()
}

func (e *envoy) post(key, body string) result {
	e.t.Helper()
	return e.do(request{method: http.MethodPost, path: "/orders", key: key, body: body})
}

// settled repeats a request until its claim has ended.
func (e *envoy) settled(key string) (got result) {
	e.t.Helper()
	testserver.Eventually(e.t, "the claim has ended", func() bool {
		got = e.post(key, "a")
		return !strings.Contains(got.body, "in-flight")
	})
	return got
}

// want reports another number of effects.
func (e *envoy) want(n int64) {
	e.t.Helper()
	if got := e.created.Load(); got != n {
		e.t.Errorf("%d effects, want %d", got, n)
	}
}

// conversation is one request and its answer.
type conversation struct {
	e      *envoy
	r      request
	stream service.ExternalProcessor_ProcessClient
	cancel context.CancelFunc
	mode   *extproc.ProcessingMode
	// sent is the request's header as the processor changed it, and over says that Envoy goes on without the processor.
	sent http.Header
	over bool
}

func (e *envoy) open(r request) *conversation {
	e.t.Helper()
	ctx, cancel := context.WithCancel(e.t.Context())
	stream, err := e.client.Process(ctx)
	claimtest.NoError(e.t, err)
	return &conversation{e: e, r: r, stream: stream, cancel: cancel, mode: e.static}
}

// cut resets the stream, as for a caller that has gone.
func (c *conversation) cut() { c.cancel() }

// close ends the stream as Envoy does when it destroys the filter, and waits for the processor to end it.
func (c *conversation) close() {
	c.e.t.Helper()
	claimtest.NoError(c.e.t, c.stream.CloseSend())
	for {
		if _, err := c.stream.Recv(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			c.e.t.Fatalf("the processor ended the stream with %v", err)
		}
	}
}

// exchange sends a message and returns the reply; an error of the stream is an answer of 500, its end lets Envoy go on alone.
func (c *conversation) exchange(m *service.ProcessingRequest) (*service.ProcessingResponse, *result) {
	if c.over {
		return nil, nil
	}
	_ = c.stream.Send(m) // Recv has the error
	reply, err := c.stream.Recv()
	switch {
	case errors.Is(err, io.EOF):
		c.over = true
		return nil, nil
	case err != nil:
		return nil, &result{status: http.StatusInternalServerError, header: http.Header{}, body: err.Error()}
	}
	if now := reply.GetImmediateResponse(); now != nil {
		header := http.Header{"Content-Type": {"text/plain"}}
		apply(header, now.GetHeaders())
		return nil, &result{int(now.GetStatus().GetCode()), header, string(now.GetBody())}
	}
	if o := reply.GetModeOverride(); o != nil && !c.e.fixed && (m.GetRequestHeaders() != nil || m.GetResponseHeaders() != nil) {
		c.mode = o
	}
	return reply, nil
}

// spurious lets Envoy go on without the processor, as it does after a reply that it did not wait for.
func (c *conversation) spurious(reply *service.ProcessingResponse) {
	c.e.t.Errorf("a spurious reply: %v", reply)
	c.over = true
}

// ask sends the request to the processor, and returns an answer that the processor gave itself.
func (c *conversation) ask() *result {
	if now := c.askHeader(); now != nil {
		return now
	}
	if c.r.body != "" && c.mode.GetRequestBodyMode() == extproc.ProcessingMode_BUFFERED {
		body := &service.HttpBody{Body: []byte(c.r.body), EndOfStream: !c.r.trailers}
		reply, now := c.exchange(&service.ProcessingRequest{Request: &service.ProcessingRequest_RequestBody{RequestBody: body}})
		if now != nil || c.over {
			return now
		}
		if reply.GetRequestBody() == nil {
			c.spurious(reply)
		}
		apply(c.sent, reply.GetRequestBody().GetResponse().GetHeaderMutation())
	}
	if !c.r.trailers || c.mode.GetRequestTrailerMode() != extproc.ProcessingMode_SEND {
		return nil
	}
	reply, now := c.exchange(&service.ProcessingRequest{Request: &service.ProcessingRequest_RequestTrailers{RequestTrailers: &service.HttpTrailers{}}})
	if now == nil && !c.over && reply.GetRequestTrailers() == nil {
		c.spurious(reply)
	}
	return now
}

// askHeader sends the request's header alone.
func (c *conversation) askHeader() *result {
	fields := []*core.HeaderValue{field(":method", c.r.method), field(":path", c.r.path), field(":authority", "shop.example"), field(":scheme", "https")}
	c.sent = http.Header{}
	maps.Copy(c.sent, c.r.header)
	if c.r.key != "" {
		c.sent.Set("Idempotency-Key", c.r.key)
	}
	reply, now := c.exchange(&service.ProcessingRequest{
		Request: &service.ProcessingRequest_RequestHeaders{RequestHeaders: &service.HttpHeaders{
			Headers: proto(fields, c.sent), EndOfStream: c.r.body == "" && !c.r.trailers,
		}},
		ProtocolConfig: &service.ProtocolConfiguration{RequestBodyMode: c.e.static.GetRequestBodyMode(), ResponseBodyMode: c.e.static.GetResponseBodyMode()},
	})
	if now != nil || c.over {
		return now
	}
	if reply.GetRequestHeaders() == nil {
		c.spurious(reply)
	}
	apply(c.sent, reply.GetRequestHeaders().GetResponse().GetHeaderMutation())
	return nil
}

// forward lets the application answer, and the processor see that.
func (c *conversation) forward() result {
	w := &recorder{header: http.Header{}}
	r, err := http.NewRequestWithContext(c.e.t.Context(), c.r.method, "http://shop.example"+c.r.path, strings.NewReader(c.r.body))
	claimtest.NoError(c.e.t, err)
	r.Header = c.sent
	c.e.application(w, r)
	return c.answer(result{w.status, w.header, w.body.String()})
}

// answer sends an answer to the processor, and returns what the caller gets.
func (c *conversation) answer(got result) result {
	if c.mode.GetResponseHeaderMode() != extproc.ProcessingMode_SKIP {
		if now := c.answerHeader(&got); now != nil {
			return *now
		}
	}
	if got.body != "" && c.mode.GetResponseBodyMode() == extproc.ProcessingMode_BUFFERED {
		body := &service.HttpBody{Body: []byte(got.body), EndOfStream: true}
		reply, now := c.exchange(&service.ProcessingRequest{Request: &service.ProcessingRequest_ResponseBody{ResponseBody: body}})
		if now != nil {
			return *now
		}
		if !c.over && reply.GetResponseBody() == nil {
			c.spurious(reply)
		}
		apply(got.header, reply.GetResponseBody().GetResponse().GetHeaderMutation())
	}
	return got
}

// answerHeader sends the header of an answer, and lets the processor change it.
func (c *conversation) answerHeader(got *result) *result {
	m := &service.ProcessingRequest{Request: &service.ProcessingRequest_ResponseHeaders{ResponseHeaders: &service.HttpHeaders{
		Headers:     proto([]*core.HeaderValue{field(":status", strconv.Itoa(got.status))}, got.header),
		EndOfStream: got.body == "",
	}}}
	if c.e.details != "" {
		m.Attributes = map[string]*structpb.Struct{"envoy.filters.http.ext_proc": {Fields: map[string]*structpb.Value{"response.code_details": structpb.NewStringValue(c.e.details)}}}
	}
	reply, now := c.exchange(m)
	if now != nil || c.over {
		return now
	}
	if reply.GetResponseHeaders() == nil {
		c.spurious(reply)
	}
	apply(got.header, reply.GetResponseHeaders().GetResponse().GetHeaderMutation())
	return nil
}

// apply changes a header as Envoy does.
func apply(h http.Header, m *service.HeaderMutation) {
	for _, name := range m.GetRemoveHeaders() {
		h.Del(name)
	}
	for _, o := range m.GetSetHeaders() {
		name, value := o.GetHeader().GetKey(), string(o.GetHeader().GetRawValue())
		if o.GetAppendAction() == core.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD {
			h.Del(name)
		}
		h.Add(name, value)
	}
}

func field(name, value string) *core.HeaderValue {
	return &core.HeaderValue{Key: name, RawValue: []byte(value)}
}

func proto(fields []*core.HeaderValue, header http.Header) *core.HeaderMap {
	for name, values := range header {
		for _, value := range values {
			fields = append(fields, field(strings.ToLower(name), value))
		}
	}
	return &core.HeaderMap{Headers: fields}
}

// recorder is the application's writer.
type recorder struct {
	status int
	header http.Header
	body   bytes.Buffer
}

func (w *recorder) Header() http.Header         { return w.header }
func (w *recorder) WriteHeader(status int)      { w.status = status }
func (w *recorder) Write(p []byte) (int, error) { return w.body.Write(p) }
