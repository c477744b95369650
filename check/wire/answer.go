package wire

import (
	"errors"
	"net/http"
	"time"
)

// What becomes of a request that gets no answer. Everything but ErrUnreachable
// and ErrTLS leaves open whether the service did something.
var (
	ErrUnreachable = errors.New("the service could not be reached")
	ErrTLS         = errors.New("no TLS connection to the service")
	ErrCut         = errors.New("the connection was closed before there was an answer")
	ErrTimeout     = errors.New("no answer in time")
	ErrNotHTTP     = errors.New("the answer is not HTTP")
	// ErrLost is that of a fault which was asked for. With LoseAnswer the answer
	// is returned beside it: what the client never saw.
	ErrLost = errors.New("the answer was lost on purpose")
)

// Answer is what came back.
type Answer struct {
	Proto  string
	Status int
	Header http.Header
	Body   []byte
	// Cut says that the body was longer than [Client.MaxBody], or ended early.
	Cut  bool
	Took time.Duration
}
