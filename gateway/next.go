package gateway

import (
	"context"
	"io"
	"maps"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"sync/atomic"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/crossorigin"
	"github.com/semel-dev/semel/internal/mark"
	"github.com/semel-dev/semel/semelhttp"
)

// newNext returns the handler that calls [Config.Next]. Under a claim, an error is answered as a failure of the upstream is:
// released only if Next marked it as released and made no connection, else unknown. An error or a panic after the answer
// has begun breaks the answer off, and the outcome is unknown.
func (g *Gateway) newNext() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if semel.ClaimFrom(r.Context()) == nil {
			if err := g.config.Next(w, r); err != nil {
				g.fail(w, r, &failure{class: failureNoAnswer, sent: true, err: err})
				return
			}
			crossorigin.From(r.Context()).Learn(0, w.Header())
			return
		}
		answer := &nextAnswer{ResponseWriter: w, request: r}
		ctx, cancel := context.WithCancelCause(r.Context())
		defer cancel(nil)
		sent := sending{forbid: func() { cancel(errResent) }}
		inner := r.WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
			GotConn: sent.gotConn, WroteHeaders: sent.wroteHeaders, GotFirstResponseByte: sent.answered,
		}))
		inner.Header, inner.Body = maps.Clone(r.Header), &unreadBody{ReadCloser: r.Body}
		disguise(inner)
		returned := false
		defer func() { //nolint:contextcheck // the request brings its context.
			if !returned {
				semelhttp.Dispose(r.Context(), semel.StateUnknown, "the handler broke off")
			}
		}()
		err := g.config.Next(answer, inner)
		if err == nil && !answer.begun { // a proxy whose caller seems to have gone has no answer, and no error either
			err = context.Cause(ctx)
		}
		returned = err == nil || !answer.begun
		switch {
		case err == nil:
			answer.whole() //nolint:contextcheck // what is given back outlives the request
		case answer.begun:
			panic(http.ErrAbortHandler) //nolint:forbidigo // net/http's way to break an answer off: half an answer must not look whole; the outcome is unknown
		default:
			f := newFailure(r.Context(), err, true, false)
			f.sent = sent.sent() || mark.Of[semel.State](err) != semel.StateReleased // the last of several attempts may not have connected
			g.fail(w, r, f)
		}
	})
}

// nextAnswer lets the rule judge the answer of Next before it goes out.
type nextAnswer struct {
	http.ResponseWriter
	request *http.Request
	begun   bool
	answer  *http.Response // its header, once begun
	body    []byte         // where a rule looks into it
}

// WriteHeader implements http.ResponseWriter.
func (a *nextAnswer) WriteHeader(status int) {
	if status >= http.StatusOK && !a.begun {
		a.begun = true
		text := strconv.Itoa(status) + " " + http.StatusText(status)
		crossorigin.From(a.request.Context()).Learn(status, a.Header())
		a.answer = &http.Response{Status: text, StatusCode: status, Header: a.Header(), Request: a.request}
		if !readsBody(a.request.Context()) {
			release(a.answer, nil)
		}
	}
	a.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (a *nextAnswer) Write(p []byte) (int, error) {
	if !a.begun {
		a.WriteHeader(http.StatusOK)
	}
	if len(a.body) <= maxHeldBytes && readsBody(a.request.Context()) {
		a.body = append(a.body, p...)
	}
	return a.ResponseWriter.Write(p)
}

// whole lets a rule that looks into the body judge the complete answer.
func (a *nextAnswer) whole() {
	if a.begun && len(a.body) <= maxHeldBytes && readsBody(a.request.Context()) {
		release(a.answer, a.body)
	}
}

// FlushError is for http.ResponseController.
func (a *nextAnswer) FlushError() error {
	if !a.begun {
		a.WriteHeader(http.StatusOK)
	}
	return http.NewResponseController(a.ResponseWriter).Flush()
}

// Unwrap is for http.ResponseController.
func (a *nextAnswer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// unreadBody stays open while nothing of it has been read: a transport that cannot connect closes the body, and a proxy may
// then try another address.
type unreadBody struct {
	io.ReadCloser
	read atomic.Bool
}

// Read implements io.Reader.
func (b *unreadBody) Read(p []byte) (int, error) {
	b.read.Store(true)
	return b.ReadCloser.Read(p)
}

// Close implements io.Closer. The door closes what was never read.
func (b *unreadBody) Close() error {
	if !b.read.Load() {
		return nil
	}
	return b.ReadCloser.Close()
}
