package semelenvoy_test

import (
	"fmt"
	"net/http"
	"strconv"
	"testing"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	service "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"pgregory.net/rapid"
)

// A peer that sends messages in any order, of any kind, brings nothing down; and what was let through once does not run again,
// wherever the stream ends (promise 3).
func TestAnyOrder(t *testing.T) {
	t.Parallel()
	e := start(t, nil)
	keys := 0
	rapid.Check(t, func(r *rapid.T) {
		keys++
		key := strconv.Itoa(keys)
		c := e.open(request{method: http.MethodPost, path: "/orders", key: key, body: "a"})
		if now := c.askHeader(); now != nil {
			r.Fatalf("%+v", now)
		}
		through, bypassed := false, false // bypassed: passed on before its body came here, and reported as unprotected
		for range rapid.IntRange(0, 5).Draw(r, "messages") {
			m := anyMessage(r)
			body := m.GetRequestBody()
			reply, now := c.exchange(m)
			if now != nil || c.over {
				break
			}
			bypassed = bypassed || !through && m.GetResponseHeaders() != nil
			if body != nil && string(body.GetBody()) == "a" && reply.GetRequestBody() != nil {
				through = !bypassed
			}
		}
		if rapid.Bool().Draw(r, "reset") {
			c.cut()
		} else {
			_ = c.stream.CloseSend() // the stream may have ended
		}
		if got := e.settled(key); through && got.word() == "executed" {
			r.Errorf("what was let through ran again: %+v", got)
		}
		c.cut()
	})
}

// anyMessage draws a message: also one without content, and one with an invalid status.
func anyMessage(r *rapid.T) *service.ProcessingRequest {
	text := rapid.SampledFrom([]string{"", "a", "b"}).Draw(r, "body")
	end := rapid.Bool().Draw(r, "end")
	m := &service.ProcessingRequest{}
	switch kind := rapid.IntRange(0, 6).Draw(r, "kind"); kind {
	case 0:
		m.Request = &service.ProcessingRequest_RequestHeaders{RequestHeaders: &service.HttpHeaders{EndOfStream: end}}
	case 1:
		m.Request = &service.ProcessingRequest_RequestBody{RequestBody: &service.HttpBody{Body: []byte(text), EndOfStream: end}}
	case 2:
		m.Request = &service.ProcessingRequest_RequestTrailers{RequestTrailers: &service.HttpTrailers{}}
	case 3:
		status := rapid.SampledFrom([]string{"201", "404", "101", "", "-1", "9999"}).Draw(r, "status")
		header := http.Header{"Content-Type": {rapid.SampledFrom([]string{"text/plain", "text/event-stream"}).Draw(r, "type")}, "Content-Length": {fmt.Sprint(len(text))}}
		m.Request = &service.ProcessingRequest_ResponseHeaders{ResponseHeaders: &service.HttpHeaders{
			Headers: proto([]*core.HeaderValue{field(":status", status)}, header), EndOfStream: end,
		}}
	case 4:
		m.Request = &service.ProcessingRequest_ResponseBody{ResponseBody: &service.HttpBody{Body: []byte(text), EndOfStream: end}}
	case 5:
		m.Request = &service.ProcessingRequest_ResponseTrailers{ResponseTrailers: &service.HttpTrailers{}}
	default: // no content
	}
	return m
}
