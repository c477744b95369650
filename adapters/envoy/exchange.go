package semelenvoy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"

	service "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/outcomelog"
	"github.com/semel-dev/semel/semelhttp"
)

var (
	// errGone is why an exchange ends whose stream Envoy has ended.
	errGone = errors.New("the stream has ended: the caller has gone, or Envoy has given up or answered on its own")
	// errUnbuffered is for a request that Envoy has passed on before it sent the body here.
	errUnbuffered = errors.New("request was passed on before its body came to the processor")
)

// exchange is one request and its answer. The handler runs in a goroutine of its own, which sends the replies until it is done;
// after that the goroutine that receives Envoy's messages does.
type exchange struct {
	stream   service.ExternalProcessor_ProcessServer
	log      *slog.Logger
	ctx      context.Context //nolint:containedctx // it ends with the exchange
	end      context.CancelCauseFunc
	incoming chan *service.ProcessingRequest
	done     chan struct{} // closed when the handler is done

	// asked is Envoy's message that waits for a reply; nil for none.
	asked *service.ProcessingRequest
	// request is the header as Envoy has it, and upstream what Envoy has received from the application.
	request  http.Header
	upstream upstream
	answer   handlerAnswer
	// passed is true for a request without a claim that Envoy was let to pass on; its answer passes as well.
	passed bool
	// unprotected is true for a request that Envoy has passed on before the handler could judge it.
	unprotected bool
}

// upstream is the application's answer.
type upstream struct {
	status int
	header http.Header
	body   []byte
	whole  bool // all of it is here
}

func newExchange(stream service.ExternalProcessor_ProcessServer, log *slog.Logger, first *service.ProcessingRequest) *exchange {
	x := &exchange{stream: stream, log: log, asked: first, incoming: make(chan *service.ProcessingRequest), done: make(chan struct{})}
	x.ctx, x.end = context.WithCancelCause(stream.Context())
	x.answer = handlerAnswer{x: x, header: http.Header{}}
	return x
}

type exchangeKey struct{}

// handleRequest lets the handler judge the request, and replies with its answer.
func (x *exchange) handleRequest(handler http.Handler) {
	defer close(x.done)
	r, err := x.newRequest()
	switch {
	case err != nil:
		http.Error(&x.answer, "The request cannot be read: "+err.Error(), http.StatusBadRequest)
	case r.Method == http.MethodConnect: // a tunnel
		_ = x.proceed(nil, false) // a stream that has ended needs no reply
	default:
		x.serve(handler, r.WithContext(context.WithValue(x.ctx, exchangeKey{}, x)))
	}
	x.finish()
}

// serve runs the handler. A panic of it becomes an answer without content.
func (x *exchange) serve(handler http.Handler, r *http.Request) {
	defer func() {
		if p := recover(); p != nil {
			if p != http.ErrAbortHandler { //nolint:errorlint // the value itself is panicked with, as net/http documents
				x.log.Error("the handler of a request panicked", slog.Any("panic", dialect.DiscreetPanic(p)))
			}
			x.answer.reset(http.StatusBadGateway)
		}
	}()
	handler.ServeHTTP(&x.answer, r)
}

// finish sends the handler's answer, unless Envoy waits for the application: then takeMessage does.
func (x *exchange) finish() {
	if x.passed || x.answer.flushed || x.asked == nil || x.ctx.Err() != nil {
		return
	}
	_ = x.reply() // a stream that has ended needs no reply
}

// reply replies with the answer: the application's own goes on, with what was added to it, and any other replaces it.
func (x *exchange) reply() error {
	a := &x.answer
	switch {
	case x.unprotected:
		x.passed = true
		return x.send(proceeding(x.asked, mutation(nil, http.Header{semelhttp.StatusHeader: {string(outcomelog.Unprotected)}}), passing(false)))
	case x.upstream.whole && a.status == x.upstream.status && bytes.Equal(a.body.Bytes(), x.upstream.body):
		x.passed = true
		return x.send(proceeding(x.asked, mutation(x.upstream.header, a.header), nil))
	}
	return x.send(immediate(a))
}

// send replies to the message that waits.
func (x *exchange) send(m *service.ProcessingResponse) error {
	x.asked = nil
	return x.stream.Send(m)
}

// takeMessage is called with Envoy's messages, in their order.
func (x *exchange) takeMessage(m *service.ProcessingRequest) error {
	select {
	case x.incoming <- m:
		return nil
	case <-x.done:
	}
	switch _, trailers := m.GetRequest().(*service.ProcessingRequest_RequestTrailers); {
	case trailers: // they belong to the request that is on its way
	case !x.passed && !x.answer.flushed:
		x.asked, x.passed = m, true
		return x.stream.Send(immediate(&x.answer))
	case m.GetResponseHeaders() != nil: // of a request without a claim
		return x.stream.Send(proceeding(m, mutation(nil, x.answer.header), passing(false)))
	}
	reply := proceeding(m, nil, nil)
	if reply == nil {
		return status.Error(codes.InvalidArgument, "a message of no known kind")
	}
	return x.stream.Send(reply)
}

// wait returns Envoy's next message. Trailers of a request that was let through already go on.
func (x *exchange) wait(ctx context.Context) (*service.ProcessingRequest, error) {
	for {
		select {
		case m := <-x.incoming:
			if m.GetRequestTrailers() == nil || x.asked != nil {
				x.asked = m
				return m, nil
			}
			if err := x.stream.Send(proceeding(m, nil, nil)); err != nil {
				return nil, err
			}
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-x.ctx.Done():
			return nil, context.Cause(x.ctx) //nolint:contextcheck // the stream's, which ctx outlives
		}
	}
}

// readBody asks Envoy for the request's body, and returns it.
func (x *exchange) readBody() ([]byte, error) {
	if x.asked.GetRequestHeaders() == nil {
		return nil, io.ErrUnexpectedEOF // the request is on its way already
	}
	// The reply to trailers, which may come without a body before them, cannot change the header any more.
	once := x.request.Clone()
	once.Set(retriesHeader, "0")
	if err := x.stream.Send(proceeding(x.asked, mutation(x.request, once), buffering())); err != nil {
		return nil, err
	}
	x.request = once
	m, err := x.wait(x.ctx)
	switch {
	case err != nil:
		x.asked = nil
		return nil, err
	case m.GetRequestBody() != nil:
		return m.GetRequestBody().GetBody(), nil
	case m.GetRequestTrailers() != nil: // and no body before them
		return nil, nil
	case m.GetResponseHeaders() == nil:
		return nil, fmt.Errorf("got %T from Envoy in the place of the request body", m.GetRequest())
	}
	x.unprotected = true
	x.log.Error("a request was not protected, because the filter in Envoy is configured wrongly (set processing_mode as docs/proxies.md says)",
		slog.String("error", errUnbuffered.Error()))
	return nil, errUnbuffered
}

// requestBody is the body of a request, which Envoy sends when it is asked for it.
type requestBody struct {
	x    *exchange
	data *bytes.Reader
	err  error
}

// Read implements io.Reader.
func (b *requestBody) Read(p []byte) (int, error) {
	if b.data == nil && b.err == nil {
		var data []byte
		data, b.err = b.x.readBody()
		b.data = bytes.NewReader(data)
	}
	if b.err != nil {
		return 0, b.err
	}
	return b.data.Read(p)
}

// Close implements io.Closer.
func (b *requestBody) Close() error { return nil }
