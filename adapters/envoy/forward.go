package semelenvoy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"

	service "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/semelhttp"
)

// viaUpstream is the value of Envoy's attribute response.code_details for an answer that the application gave.
const viaUpstream = "via_upstream"

// forward serves as the gateway's Next: Envoy forwards the request, and sends the answer here.
func forward(w http.ResponseWriter, r *http.Request) error {
	x, ok := r.Context().Value(exchangeKey{}).(*exchange)
	if !ok {
		return semel.MarkReleased(errors.New("the request did not come through Envoy"))
	}
	claimed := semel.ClaimFrom(r.Context()) != nil
	if err := x.proceed(r.Header, claimed); err != nil {
		return semel.MarkReleased(err) // Envoy does not pass a request on before it has the reply
	}
	if !claimed {
		return nil
	}
	return x.receive(r.Context(), w)
}

// retriesHeader bounds the router's retries of a request.
const retriesHeader = "X-Envoy-Max-Retries"

// proceed lets Envoy pass the request on, with what has changed in its header. An error means that the reply was not sent.
func (x *exchange) proceed(header http.Header, claimed bool) error {
	if err := x.ctx.Err(); err != nil {
		return context.Cause(x.ctx)
	}
	if claimed {
		header = header.Clone()
		header.Set(retriesHeader, "0")
	}
	change, mode := mutation(x.request, header), buffering()
	if header == nil {
		change = nil
	}
	if !claimed {
		mode = passing(len(x.answer.header) > 0)
		x.passed = true
	}
	return x.send(proceeding(x.asked, change, mode))
}

// receive writes the application's answer to w. An error leaves the outcome unknown.
func (x *exchange) receive(ctx context.Context, w http.ResponseWriter) error {
	m, err := x.wait(ctx)
	if err != nil {
		return err
	}
	got := m.GetResponseHeaders()
	if got == nil {
		return fmt.Errorf("got %T from Envoy in the place of the response headers", m.GetRequest())
	}
	u := &x.upstream
	if u.status, u.header, err = responseHeader(got); err != nil {
		return err
	}
	if details := codeDetails(m); u.status >= http.StatusInternalServerError && details != viaUpstream || details != "" && details != viaUpstream {
		return fmt.Errorf("answer %d may be one of Envoy's own (response.code_details: %q)", u.status, details)
	}
	maps.Copy(w.Header(), u.header)
	switch {
	case u.status == http.StatusSwitchingProtocols, semelhttp.Streams(u.header.Get("Content-Type")):
		w.WriteHeader(u.status)
		return http.NewResponseController(w).Flush()
	case got.GetEndOfStream():
	default:
		if err := x.receiveBody(ctx); err != nil {
			clear(w.Header())
			return err
		}
	}
	u.whole = true
	w.WriteHeader(u.status)
	if len(u.body) == 0 {
		return nil
	}
	_, err = w.Write(u.body) //nolint:gosec // the application's answer, as it is
	return err
}

// receiveBody lets Envoy send the body of the answer.
func (x *exchange) receiveBody(ctx context.Context) error {
	if err := x.send(proceeding(x.asked, nil, nil)); err != nil {
		return err
	}
	m, err := x.wait(ctx)
	if err != nil {
		return err
	}
	switch got := m.GetRequest().(type) {
	case *service.ProcessingRequest_ResponseBody:
		x.upstream.body = got.ResponseBody.GetBody()
	case *service.ProcessingRequest_ResponseTrailers: // and no body before them
	default:
		return fmt.Errorf("got %T from Envoy in the place of the response body", got)
	}
	return nil
}

// codeDetails returns Envoy's attribute response.code_details, or "" where the filter is not configured to send it.
func codeDetails(m *service.ProcessingRequest) string {
	return m.GetAttributes()["envoy.filters.http.ext_proc"].GetFields()["response.code_details"].GetStringValue()
}
