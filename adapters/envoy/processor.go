package semelenvoy

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"

	extproc "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"
	service "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/semel-dev/semel/gateway"
)

var _ service.ExternalProcessorServer = (*Processor)(nil)

// Processor is an external processor for Envoy. Make one with [New], register it with a gRPC server, and end it with
// [Processor.Close] after that server. It is safe for concurrent use.
type Processor struct {
	service.UnimplementedExternalProcessorServer

	gateway *gateway.Gateway
	handler http.Handler
	log     *slog.Logger
}

// New returns a processor with the store, the rules and the guard of the config. Next is the processor's own; listeners and time
// limits are Envoy's business. Upstream is needed by rules that ask the application (authorize, reconcile). A rule with a form is
// an error: it would need every page of the application.
func New(c *gateway.Config) (*Processor, error) {
	if c == nil {
		return nil, errors.New("semelenvoy: config is nil")
	}
	config := *c
	if config.Next != nil {
		return nil, errors.New("semelenvoy: Next is set (leave it out: Envoy forwards)")
	}
	if config.Rules != nil {
		for i := range config.Rules.Routes {
			if rule := &config.Rules.Routes[i]; rule.Form != nil {
				return nil, fmt.Errorf("semelenvoy: route %q protects a form, which needs the pages of the application (put semel gateway behind Envoy for it)", rule.Name)
			}
		}
	}
	config.Next = forward
	g, err := gateway.New(&config)
	if err != nil {
		return nil, err
	}
	p := &Processor{gateway: g, handler: g.Handler(), log: config.Logger}
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	return p, nil
}

// Close ends the processor: requests that still run under a claim lose it, and their outcome is unknown. It does not close the store.
func (p *Processor) Close() error { return p.gateway.Close() }

// Process implements Envoy's service: it is one request and its answer. It returns nil only after Envoy has ended the stream.
func (p *Processor) Process(stream service.ExternalProcessor_ProcessServer) error {
	first, err := stream.Recv()
	if err != nil {
		return ended(err)
	}
	if why := unfit(first); why != "" {
		p.log.Error("the filter in Envoy is configured so that requests cannot be protected", slog.String("problem", why))
		return status.Error(codes.FailedPrecondition, why)
	}
	x := newExchange(stream, p.log, first)
	go x.handleRequest(p.handler)
	defer func() { <-x.done }()
	defer x.end(errGone)
	for {
		m, err := stream.Recv()
		if err != nil {
			return ended(err)
		}
		if err := x.takeMessage(m); err != nil {
			return err
		}
	}
}

// ended returns nil for the end of a stream that Envoy has ended.
func ended(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// unfit returns what is wrong with the filter's configuration, as far as the first message says it, or "".
func unfit(first *service.ProcessingRequest) string {
	modes := first.GetProtocolConfig() // newer Envoys send it
	switch {
	case first.GetObservabilityMode():
		return "observability_mode is on: Envoy ignores what the processor decides (turn it off)"
	case first.GetRequestHeaders() == nil:
		return "the first message is not that of the request's headers (set request_header_mode: SEND)"
	case modes == nil:
	case modes.GetRequestBodyMode() != extproc.ProcessingMode_BUFFERED, modes.GetResponseBodyMode() != extproc.ProcessingMode_BUFFERED:
		return fmt.Sprintf("the body modes are %v and %v (set request_body_mode and response_body_mode to BUFFERED)", modes.GetRequestBodyMode(), modes.GetResponseBodyMode())
	case modes.GetSendBodyWithoutWaitingForHeaderResponse():
		return "send_body_without_waiting_for_header_response is on (turn it off)"
	}
	return ""
}
