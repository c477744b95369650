package semelgrpc

import (
	"errors"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/semel-dev/semel/outcomelog"
)

// StatusTrailer is the trailer that says what Semel did with a call that has a key, in the words of package outcomelog:
// executed, replayed, released, unknown, not-stored, or the reason why it did not run. It is a trailer, because a client's
// own retries end where a header has come.
const StatusTrailer = "idempotency-status"

// pushbackTrailer holds the milliseconds after which the retries that are built into gRPC clients come again.
const pushbackTrailer = "grpc-retry-pushback-ms"

var errHeaderSent = errors.New("semelgrpc: the header was sent before")

// neverStored reports whether metadata, its name in lower case, belongs to one connection, one moment or one session,
// and so must not be replayed.
func neverStored(name string) bool {
	switch name {
	case "set-cookie", "set-cookie2", "authorization", "www-authenticate", "authentication-info",
		"proxy-authenticate", "proxy-authorization", "connection", "keep-alive", "transfer-encoding", "upgrade", "date", StatusTrailer:
		return true
	}
	return strings.HasPrefix(name, "grpc-")
}

// capture is the transport stream that a handler sees. What the handler sets is held back until its answer is recorded.
type capture struct {
	under grpc.ServerTransportStream // nil for a call without a transport

	mu              sync.Mutex // guards the fields below
	header, trailer metadata.MD
	sent            bool // by the handler's own account
}

var _ grpc.ServerTransportStream = (*capture)(nil)

// Method implements [grpc.ServerTransportStream].
func (c *capture) Method() string {
	if c.under == nil {
		return ""
	}
	return c.under.Method()
}

// SetHeader implements [grpc.ServerTransportStream].
func (c *capture) SetHeader(md metadata.MD) error { return c.setHeader(md, false) }

// SendHeader implements [grpc.ServerTransportStream]. The header goes out with the answer.
func (c *capture) SendHeader(md metadata.MD) error { return c.setHeader(md, true) }

func (c *capture) setHeader(md metadata.MD, sent bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sent {
		return errHeaderSent
	}
	c.header, c.sent = joined(c.header, md), sent
	return nil
}

// SetTrailer implements [grpc.ServerTransportStream].
func (c *capture) SetTrailer(md metadata.MD) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trailer = joined(c.trailer, md)
	return nil
}

// joined returns both, in a map of its own.
func joined(a, b metadata.MD) metadata.MD {
	if len(b) == 0 {
		return a
	}
	return metadata.Join(a, b)
}

// held returns what the handler has set so far.
func (c *capture) held() (header, trailer metadata.MD) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.header, c.trailer
}

// words returns the trailers of what Semel does most often, which transports copy from.
func words() map[outcomelog.Outcome]metadata.MD {
	ready := map[outcomelog.Outcome]metadata.MD{}
	for _, word := range []outcomelog.Outcome{outcomelog.Executed, outcomelog.Replayed, outcomelog.Released} {
		ready[word] = metadata.MD{StatusTrailer: {string(word)}}
	}
	return ready
}

// send hands a header and a trailer on, and the word for what Semel did.
func (i *Interceptor) send(to grpc.ServerTransportStream, header, trailer metadata.MD, word outcomelog.Outcome) {
	if to == nil {
		return
	}
	if len(header) > 0 {
		_ = to.SetHeader(header) // it fails for a connection that has gone
	}
	if len(trailer) > 0 {
		_ = to.SetTrailer(trailer)
	}
	said, ok := i.words[word]
	if !ok {
		said = metadata.MD{StatusTrailer: {string(word)}}
	}
	_ = to.SetTrailer(said)
}
