package semelenvoy

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	extproc "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"
	service "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	kind "github.com/envoyproxy/go-control-plane/envoy/type/v3"
)

// newRequest returns Envoy's first message as a request of net/http.
func (x *exchange) newRequest() (*http.Request, error) {
	got := x.asked.GetRequestHeaders()
	pseudo, header := headerOf(got.GetHeaders())
	r := &http.Request{
		Method: pseudo[":method"], Host: pseudo[":authority"], RequestURI: pseudo[":path"],
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: header, Body: http.NoBody,
	}
	if cookies := header["Cookie"]; len(cookies) > 1 { // HTTP/2 may send each cookie on its own
		header["Cookie"] = []string{strings.Join(cookies, "; ")}
	}
	x.request = maps.Clone(header)
	delete(header, "Transfer-Encoding") // of the caller's connection
	if !got.GetEndOfStream() {
		r.Body, r.ContentLength = &requestBody{x: x}, -1
		if n, err := strconv.ParseInt(header.Get("Content-Length"), 10, 64); err == nil && n > 0 { // with 0, Envoy may still send an empty body before it passes the request on
			r.ContentLength = n
		}
	}
	if r.Method == http.MethodConnect {
		return r, nil
	}
	var err error
	if r.URL, err = url.ParseRequestURI(r.RequestURI); err != nil {
		return nil, errors.New("the path is malformed")
	}
	return r, nil
}

// responseHeader returns the status and the header of an answer, without what is Envoy's own.
func responseHeader(got *service.HttpHeaders) (int, http.Header, error) {
	pseudo, header := headerOf(got.GetHeaders())
	status, err := strconv.Atoi(pseudo[":status"])
	if err != nil || status < 100 || status > 999 {
		return 0, nil, fmt.Errorf("got the status %q from Envoy", pseudo[":status"])
	}
	for name := range header {
		if strings.HasPrefix(name, "X-Envoy-") || name == "Transfer-Encoding" || name == "Connection" {
			delete(header, name)
		}
	}
	return status, header, nil
}

// headerOf returns the pseudo-headers, and the others under canonical names.
func headerOf(m *core.HeaderMap) (pseudo map[string]string, header http.Header) {
	pseudo, header = map[string]string{}, http.Header{}
	for _, h := range m.GetHeaders() {
		value := h.GetValue()
		if raw := h.GetRawValue(); len(raw) > 0 {
			value = string(raw)
		}
		if strings.HasPrefix(h.GetKey(), ":") {
			pseudo[h.GetKey()] = value
		} else {
			header.Add(h.GetKey(), value)
		}
	}
	return pseudo, header
}

// mutation returns what turns one header into the other. Names count as HTTP compares them; the length is Envoy's to set.
func mutation(from, to http.Header) *service.HeaderMutation {
	wanted := http.Header{}
	for name, values := range to {
		name = textproto.CanonicalMIMEHeaderKey(name)
		wanted[name] = append(wanted[name], values...)
	}
	delete(wanted, "Content-Length")
	m := &service.HeaderMutation{}
	for _, name := range slices.Sorted(maps.Keys(from)) {
		if _, ok := wanted[name]; !ok && name != "Content-Length" && name != "Transfer-Encoding" {
			m.RemoveHeaders = append(m.RemoveHeaders, strings.ToLower(name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if slices.Equal(from[name], wanted[name]) {
			continue
		}
		for i, value := range wanted[name] {
			option := overwrite(strings.ToLower(name), value)
			if i > 0 {
				option.AppendAction = core.HeaderValueOption_APPEND_IF_EXISTS_OR_ADD
			}
			m.SetHeaders = append(m.SetHeaders, option)
		}
	}
	return m
}

// overwrite sets a header, its name in small letters, in the place of all of that name.
func overwrite(name, value string) *core.HeaderValueOption {
	return &core.HeaderValueOption{
		Header:       &core.HeaderValue{Key: name, RawValue: []byte(value)},
		AppendAction: core.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD,
	}
}

// proceeding returns the reply that lets what the message is about go on, or nil for a message of no known kind. The mode counts in
// replies to headers only.
func proceeding(asked *service.ProcessingRequest, change *service.HeaderMutation, mode *extproc.ProcessingMode) *service.ProcessingResponse {
	common := &service.CommonResponse{HeaderMutation: change}
	headers, body := &service.HeadersResponse{Response: common}, &service.BodyResponse{Response: common}
	m := &service.ProcessingResponse{}
	switch asked.GetRequest().(type) {
	case *service.ProcessingRequest_RequestHeaders:
		m.Response, m.ModeOverride = &service.ProcessingResponse_RequestHeaders{RequestHeaders: headers}, mode
	case *service.ProcessingRequest_RequestBody:
		m.Response = &service.ProcessingResponse_RequestBody{RequestBody: body}
	case *service.ProcessingRequest_RequestTrailers:
		m.Response = &service.ProcessingResponse_RequestTrailers{RequestTrailers: &service.TrailersResponse{}}
	case *service.ProcessingRequest_ResponseHeaders:
		m.Response, m.ModeOverride = &service.ProcessingResponse_ResponseHeaders{ResponseHeaders: headers}, mode
	case *service.ProcessingRequest_ResponseBody:
		m.Response = &service.ProcessingResponse_ResponseBody{ResponseBody: body}
	case *service.ProcessingRequest_ResponseTrailers:
		m.Response = &service.ProcessingResponse_ResponseTrailers{ResponseTrailers: &service.TrailersResponse{}}
	default:
		return nil
	}
	return m
}

// buffering is the mode for a request that may be claimed: everything that Envoy has of it and of its answer comes here.
func buffering() *extproc.ProcessingMode {
	return &extproc.ProcessingMode{
		RequestBodyMode: extproc.ProcessingMode_BUFFERED, RequestTrailerMode: extproc.ProcessingMode_SEND,
		ResponseHeaderMode: extproc.ProcessingMode_SEND, ResponseBodyMode: extproc.ProcessingMode_BUFFERED, ResponseTrailerMode: extproc.ProcessingMode_SKIP,
	}
}

// passing is the mode for what is not claimed: no body comes here, and the answer's header only if something is to be added to it.
func passing(addToAnswer bool) *extproc.ProcessingMode {
	mode := &extproc.ProcessingMode{
		RequestBodyMode: extproc.ProcessingMode_NONE, RequestTrailerMode: extproc.ProcessingMode_SKIP,
		ResponseHeaderMode: extproc.ProcessingMode_SKIP, ResponseBodyMode: extproc.ProcessingMode_NONE, ResponseTrailerMode: extproc.ProcessingMode_SKIP,
	}
	if addToAnswer {
		mode.ResponseHeaderMode = extproc.ProcessingMode_SEND
	}
	return mode
}

// immediate returns the reply with which Envoy answers the caller itself.
func immediate(a *handlerAnswer) *service.ProcessingResponse {
	if a.status == 0 {
		a.WriteHeader(http.StatusOK)
	}
	return &service.ProcessingResponse{Response: &service.ProcessingResponse_ImmediateResponse{ImmediateResponse: &service.ImmediateResponse{
		Status:  &kind.HttpStatus{Code: kind.StatusCode(a.status)}, //nolint:gosec // three digits
		Headers: mutation(nil, a.header), Body: a.body.Bytes(), Details: "semel",
	}}}
}

// handlerAnswer collects what the handler answers. It is used by the handler's goroutine until that is done.
type handlerAnswer struct {
	x      *exchange
	header http.Header
	status int
	body   bytes.Buffer
	// flushed is true when the application's answer was let through before its end.
	flushed bool
}

// Header implements http.ResponseWriter.
func (a *handlerAnswer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter. Other informational answers than 101 are dropped.
func (a *handlerAnswer) WriteHeader(status int) {
	if a.status == 0 && (status >= http.StatusOK || status == http.StatusSwitchingProtocols) {
		a.status = status
	}
}

// Write implements io.Writer.
func (a *handlerAnswer) Write(p []byte) (int, error) {
	if a.status == 0 {
		a.WriteHeader(http.StatusOK)
	}
	if a.flushed { // the body goes through Envoy
		return len(p), nil
	}
	return a.body.Write(p)
}

// FlushError lets the application's answer through, with what was added to its header. It does nothing before there is one.
func (a *handlerAnswer) FlushError() error {
	if a.flushed || a.x.asked.GetResponseHeaders() == nil {
		return nil
	}
	a.flushed = true
	return a.x.send(proceeding(a.x.asked, mutation(a.x.upstream.header, a.header), passing(false)))
}

// reset forgets the answer for one without content, unless it is on its way.
func (a *handlerAnswer) reset(status int) {
	a.status, a.header = status, http.Header{}
	a.body.Reset()
}
